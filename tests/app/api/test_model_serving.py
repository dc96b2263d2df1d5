"""Predictions by name, alias and number: who moves an alias sees it at once, and no request is dropped meanwhile."""

import threading
import time

ROW = [[0, 0, 0, 0]]


def ask(shared, model, **more):
    return shared.http.post("/predict", json={"model": model, "inputs": ROW, **more})


def test_predictions_take_ids_names_aliases_and_numbers(shared, versions, alias, published, created):
    first, second = versions("asked", 2)
    assert ask(shared, "asked").json()["model"] == second  # no default yet: the newest
    created(alias("asked", "default", 1, If_None_Match="*"))
    for said, model, version in (
        ("asked", first, 1),
        ("asked@default", first, 1),
        ("asked@1", first, 1),
        ("asked@2", second, 2),
        (second, second, 2),
    ):
        answer = ask(shared, said).json()
        assert (answer["model"], answer["name"], answer["version"]) == (model, "asked", version), said
    for said in ("asked@3", "asked@nobody", "asked@", "@1", "nobody"):
        assert ask(shared, said).status_code == 404, said
    (later,) = versions("asked")
    assert ask(shared, "asked").json()["model"] == first  # what is published does not go live by itself
    lines = shared.http.post(
        "/predict?model=asked@3", content="[0,0,0,0]\n", headers={"Content-Type": "application/x-ndjson"}
    )
    assert (lines.status_code, lines.headers["X-Model"]) == (200, later)


def test_the_inference_protocol_takes_them_too(shared, versions, alias, created):
    first, second = versions("spoken", 2)
    created(alias("spoken", "champion", 1, If_None_Match="*"))
    tensor = {"name": "vectors", "shape": [1, 4], "datatype": "FP32", "data": [0, 0, 0, 0]}
    for path, model in (
        ("spoken", second),
        ("spoken@champion", first),
        ("spoken@1", first),
        ("spoken/versions/1", first),
        (f"spoken/versions/{first}", first),
        ("spoken/versions/champion", first),
    ):
        answer = shared.http.post(f"/v2/models/{path}/infer", json={"inputs": [tensor]})
        assert answer.status_code == 200, answer.text
        assert answer.json()["model_version"] == model, path
        assert shared.http.get(f"/v2/models/{path}/ready").status_code == 200
    assert shared.http.get("/v2/models/spoken").json()["versions"] == [first, second]
    for path in ("spoken/versions/3", f"other/versions/{first}", "spoken@9"):
        assert shared.http.get(f"/v2/models/{path}").status_code == 404


def test_switching_an_alias_drops_no_request_and_every_answer_names_its_version(
    shared, versions, alias, created
):
    both = versions("switched", 2)
    created(alias("switched", "default", 1, If_None_Match="*"))
    stop, answers = threading.Event(), []

    def predict():
        with shared.client(shared.http.headers["Authorization"].removeprefix("Bearer ")) as http:
            while not stop.is_set():
                answers.append(http.post("/predict", json={"model": "switched", "inputs": ROW}))

    threads = [threading.Thread(target=predict) for _ in range(4)]
    [thread.start() for thread in threads]
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for version in (2, 1):
            assert alias("switched", "default", version, If_Match="*").status_code == 200
            assert ask(shared, "switched").json()["version"] == version  # who moved it sees it at once
    stop.set()
    [thread.join(60) for thread in threads]
    assert len(answers) > 50
    assert {answer.status_code for answer in answers} == {200}
    said = {(answer.json()["model"], answer.json()["version"]) for answer in answers}
    assert said == {(both[0], 1), (both[1], 2)}


def test_a_version_that_is_replaced_and_deleted_under_load_drops_no_request_either(
    shared, versions, alias, created
):
    (old,) = versions("replaced")
    created(alias("replaced", "default", 1, If_None_Match="*"))
    stop, answers = threading.Event(), []

    def predict():
        with shared.client(shared.http.headers["Authorization"].removeprefix("Bearer ")) as http:
            while not stop.is_set():
                answers.append(http.post("/predict", json={"model": "replaced", "inputs": ROW}).status_code)

    threads = [threading.Thread(target=predict) for _ in range(3)]
    [thread.start() for thread in threads]
    for number in (2, 3, 4):
        (new,) = versions("replaced")
        assert alias("replaced", "default", number, If_Match="*").status_code == 200
        assert shared.http.delete(f"/models/{old}").status_code == 204
        old = new
    stop.set()
    [thread.join(60) for thread in threads]
    assert set(answers) == {200}

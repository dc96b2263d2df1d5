"""A20, training as a denial of service: every dial has an end stop, and a tenant's queue is its own."""

import pytest


@pytest.mark.parametrize(
    ("within", "beyond", "pointer"),
    [
        ({"stage1": {"epochs": 10_000}}, {"stage1": {"epochs": 10_001}}, "/stage1/epochs"),
        ({"stage2": {"epochs": 10_000}}, {"stage2": {"epochs": 10_001}}, "/stage2/epochs"),
        ({"stage1": {"batch_size": 65_536}}, {"stage1": {"batch_size": 65_537}}, "/stage1/batch_size"),
        (
            {"net": {"name": "mlp", "hidden": [65_536]}},
            {"net": {"name": "mlp", "hidden": [65_537]}},
            "/net/hidden/0",
        ),
        (
            {"net": {"name": "mlp", "hidden": [1] * 16}},
            {"net": {"name": "mlp", "hidden": [1] * 17}},
            "/net/hidden",
        ),
        (
            {"net": {"name": "mlp", "hidden": [16_384, 16_300]}},
            {"net": {"name": "mlp", "hidden": [16_384, 16_384]}},  # with the first and last layer above 2^28
            "/net",
        ),
        ({"transition": {"folds": 20}}, {"transition": {"folds": 21}}, "/transition/folds"),
        ({"priority": 100}, {"priority": 101}, "/priority"),
    ],
)
def test_one_above_the_cap_is_refused(shared, csv_file, within, beyond, pointer):
    dataset = shared.upload(csv_file)["id"]
    assert shared.http.post("/jobs?dry_run=true", json={"dataset_id": dataset, **within}).status_code == 200
    answer = shared.http.post("/jobs?dry_run=true", json={"dataset_id": dataset, **beyond})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)


def test_a_tenant_that_fills_its_queue_does_not_fill_its_neighbour_s(shared, csv_file):
    greedy, modest = (
        shared.client(shared.key(project_id=shared.project(jobs_queued=3))["secret"]) for _ in range(2)
    )
    with greedy, modest:
        codes = []
        dataset = greedy.post("/datasets", content=csv_file).json()["id"]
        for _ in range(5):
            codes.append(greedy.post("/jobs", json={"dataset_id": dataset}).status_code)
        assert codes == [202] * 3 + [429] * 2
        dataset = modest.post("/datasets", content=csv_file).json()["id"]
        assert modest.post("/jobs", json={"dataset_id": dataset}).status_code == 202


def test_the_queue_of_all_has_an_end_too(tmp_path, run_service, csv_file):
    with run_service(tmp_path, max_queue=2) as service:
        dataset = service.upload(csv_file)["id"]
        codes = [service.http.post("/jobs", json={"dataset_id": dataset}) for _ in range(3)]
    assert [answer.status_code for answer in codes] == [202, 202, 429]
    assert codes[2].json()["code"] == "queue_full"


def test_predictions_have_a_most_at_once(shared):
    model = "mdl_" + "0" * 26
    for rows, status in ((10_000, 404), (10_001, 422)):
        answer = shared.http.post("/predict", json={"model": model, "inputs": [0] * rows})
        assert answer.status_code == status

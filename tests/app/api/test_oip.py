"""The Open Inference Protocol v2, spoken by Triton's own client and by hand."""

import json

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from c2s import predictor

VECTORS = np.array([[0, 0, 0, 0], [3, 3, 3, 3]], dtype=np.float32)


@pytest.fixture
def client(shared):
    with triton.InferenceServerClient(shared.address.removeprefix("http://")) as found:
        yield found


@pytest.fixture
def headers(shared):
    return {"Authorization": shared.http.headers["Authorization"]}


def tensor(name, values, kind, *, binary=True):
    found = triton.InferInput(name, list(values.shape), kind)
    found.set_data_from_numpy(values, binary_data=binary)
    return found


def known(trained, kind, rows):
    own = predictor.Predictor.load(trained(kind)[0])
    return own.probabilities(own.raw(rows)), own.classes


def test_a_client_finds_the_server_and_the_model(shared, published, client, headers):
    model_id, _ = published("vectors")
    assert client.is_server_live()  # probes carry no token
    assert client.is_server_ready()
    assert client.get_server_metadata(headers=headers)["name"] == "c2s"
    assert "binary_tensor_data" in client.get_server_metadata(headers=headers)["extensions"]
    assert client.is_model_ready(model_id, headers=headers)
    assert client.is_model_ready(model_id, model_id, headers=headers)
    assert not client.is_model_ready("nobody", headers=headers)
    assert not client.is_model_ready(model_id, "mdl_" + "0" * 26, headers=headers)
    said = client.get_model_metadata(model_id, headers=headers)
    assert said["inputs"] == [{"name": "vectors", "datatype": "FP32", "shape": [-1, 4]}]
    assert {one["name"] for one in said["outputs"]} == {"probabilities", "label", "noisy_probabilities"}
    assert said["versions"] == [model_id]
    by_name = client.get_model_metadata("vectors model", model_id, headers=headers)
    assert model_id in by_name["versions"]


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("got", [True, False])
def test_vectors_are_answered_in_json_and_in_bytes(published, trained, client, headers, sent, got):
    model_id, _ = published("vectors")
    outputs = [
        triton.InferRequestedOutput(name, binary_data=got)
        for name in ("probabilities", "label", "noisy_probabilities")
    ]
    inputs = [tensor("vectors", VECTORS, "FP32", binary=sent)]
    found = client.infer(model_id, inputs, outputs=outputs, request_id="mine", headers=headers)
    probs, classes = known(trained, "vectors", VECTORS)
    T = np.array(trained("vectors")[1]["transition"]["matrix"])
    np.testing.assert_allclose(found.as_numpy("probabilities"), probs, atol=1e-5)
    np.testing.assert_allclose(found.as_numpy("noisy_probabilities"), probs @ T, atol=1e-5)
    labels = [text.decode() if isinstance(text, bytes) else text for text in found.as_numpy("label")]
    assert labels == [classes[k] for k in probs.argmax(1)]
    assert found.get_response()["model_version"] == model_id
    assert found.get_response()["id"] == "mine"


def test_without_a_word_about_outputs_probabilities_and_labels_come(published, client, headers):
    model_id, _ = published("vectors")
    found = client.infer("vectors model", [tensor("vectors", VECTORS, "FP32")], model_id, headers=headers)
    np.testing.assert_allclose(found.as_numpy("probabilities").sum(1), 1, atol=1e-6)
    assert found.as_numpy("label").shape == (2,)
    assert found.as_numpy("noisy_probabilities") is None


def test_a_classification_names_the_likeliest_classes(published, trained, client, headers):
    model_id, _ = published("vectors")
    asked = [triton.InferRequestedOutput("probabilities", class_count=2)]
    found = client.infer(model_id, [tensor("vectors", VECTORS, "FP32")], outputs=asked, headers=headers)
    probs, classes = known(trained, "vectors", VECTORS)
    value, index, label = found.as_numpy("probabilities").ravel()[0].decode().split(":")
    assert int(index) == probs[0].argmax()
    assert label == classes[int(index)]
    assert float(value) == pytest.approx(probs[0].max(), abs=1e-5)


@pytest.mark.parametrize("binary", [True, False])
def test_texts_tables_and_pictures_have_tensors_of_their_own(
    published, trained, client, headers, pictures, binary
):
    text_id, _ = published("text")
    words = np.array(["a good thing", "bad, worse"], dtype=object)
    found = client.infer(text_id, [tensor("text", words, "BYTES", binary=binary)], headers=headers)
    np.testing.assert_allclose(
        found.as_numpy("probabilities"), known(trained, "text", list(words))[0], atol=1e-5
    )
    table_id, _ = published("tabular")
    names = {
        one["name"]: one["datatype"] for one in client.get_model_metadata(table_id, headers=headers)["inputs"]
    }
    assert names == {"a": "FP64", "b": "FP64", "c": "BYTES"}
    columns = [
        tensor("a", np.array([1.0, np.nan]) if binary else np.array([1.0, 2.0]), "FP64", binary=binary),
        tensor("b", np.array([2, 3], dtype=np.int64), "INT64", binary=binary),
        tensor("c", np.array(["x", "never"], dtype=object), "BYTES", binary=binary),
    ]
    rows = [{"a": 1.0, "b": 2, "c": "x"}, {"a": None if binary else 2.0, "b": 3, "c": "never"}]
    found = client.infer(table_id, columns, headers=headers)
    np.testing.assert_allclose(found.as_numpy("probabilities"), known(trained, "tabular", rows)[0], atol=1e-5)
    image_id, _ = published("image")
    pixels = np.zeros((2, 8, 8, 1), dtype=np.uint8)
    found = client.infer(image_id, [tensor("pixels", pixels, "UINT8", binary=binary)], headers=headers)
    np.testing.assert_allclose(found.as_numpy("probabilities"), known(trained, "image", pixels)[0], atol=1e-5)


def test_a_png_can_be_an_element(published, client, headers, pictures):
    model_id, _ = published("image")
    blobs = np.array([pictures(1, size=20), pictures(2)], dtype=object)
    found = client.infer(model_id, [tensor("image", blobs, "BYTES")], headers=headers)
    assert found.as_numpy("probabilities").shape == (2, 2)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("vectors", np.zeros((2, 3), np.float32), "FP32"),
        ("vectors", np.full((2, 4), np.nan, np.float32), "FP32"),
        ("vectors", np.full((2, 4), 1e300), "FP64"),
        ("pixels", np.zeros((2, 4), np.float32), "FP32"),
        ("vectors", np.array(["a"], dtype=object), "BYTES"),
        ("vectors", np.zeros((0, 4), np.float32), "FP32"),
    ],
)
def test_rows_that_the_model_cannot_read_are_the_protocol_s_error(
    published, client, headers, name, values, kind
):
    model_id, _ = published("vectors")
    with pytest.raises(InferenceServerException) as caught:
        client.infer(model_id, [tensor(name, values, kind)], headers=headers)
    assert caught.value.status() == "422"


def test_a_value_of_a_column_without_an_axis_is_refused(shared, published):
    model_id, _ = published("tabular")
    given = [{"name": name, "datatype": "FP64", "shape": [1], "data": [1.0]} for name in "ab"]
    given += [{"name": "c", "datatype": "BYTES", "shape": [1], "data": ["x"]}]
    path = f"/v2/models/{model_id}/infer"
    assert shared.http.post(path, json={"inputs": given}).status_code == 200
    given[0] |= {"shape": [], "data": 1.0}
    assert shared.http.post(path, json={"inputs": given}).status_code == 422


GOOD = {"name": "vectors", "shape": [1, 4], "datatype": "FP32", "data": [0, 0, 0, 0]}
MALFORMED = (
    [],
    {},
    {"inputs": []},
    {"inputs": [1]},
    {"inputs": [GOOD, GOOD]},
    {"inputs": [{**GOOD, "shape": [2, 4]}]},
    {"inputs": [{**GOOD, "shape": [-1, 4]}]},
    {"inputs": [{**GOOD, "shape": "4"}]},
    {"inputs": [{**GOOD, "datatype": "FP8"}]},
    {"inputs": [{**GOOD, "data": ["a", "b", "c", "d"]}]},
    {"inputs": [{**GOOD, "data": [[0, 0], [0]]}]},
    {"inputs": [{**GOOD, "data": None}]},
    {"inputs": [{**GOOD, "parameters": {"binary_data_size": 16}}]},
    {"inputs": [{**GOOD, "datatype": "BYTES"}]},
    {"inputs": [{**GOOD, "datatype": []}]},
    {"inputs": [{**GOOD, "shape": [], "data": 1.0}]},
    {"inputs": [{**GOOD, "parameters": [1]}]},
    {"inputs": [GOOD], "parameters": "x"},
    {"inputs": [GOOD], "outputs": [{"name": "label", "parameters": [1]}]},
    {"inputs": [GOOD], "outputs": [{"name": "logits"}]},
    {"inputs": [GOOD], "outputs": "label"},
)


def test_errors_are_one_text_as_the_protocol_has_them(shared, published):
    model_id, _ = published("vectors")
    path = f"/v2/models/{model_id}/infer"
    answers = {
        404: [shared.http.get("/v2/models/nobody"), shared.http.get("/v2/nothing")],
        401: [shared.http.get("/v2", headers={"Authorization": ""})],
        405: [shared.http.get(path)],
        415: [
            shared.http.post(path, content=b"x", headers={"Content-Type": "text/plain"}),
            shared.http.post(path, data={"a": "b"}),
        ],
        400: [
            shared.http.post(path, content=b"{", headers={"Content-Type": "application/json"}),
            *(
                shared.http.post(path, json={}, headers={"Inference-Header-Content-Length": length})
                for length in ("999", "0" * 5000, "0" * 25 + "9", "-1", "\u00b2".encode("latin-1"))
            ),
        ],
        413: [shared.http.post(path, content=bytes(9 * 2**20), headers={"Content-Type": "application/json"})],
        422: [shared.http.post(path, json=body) for body in MALFORMED],
    }
    for status, several in answers.items():
        for answer in several:
            assert answer.status_code == status, answer.text
            assert list(answer.json()) == ["error"], answer.text
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-request-id"]


@pytest.mark.parametrize("tail", [b"", bytes(15), bytes(17)])
def test_bytes_that_do_not_match_the_head_are_refused(shared, published, tail):
    model_id, _ = published("vectors")
    one = {"name": "vectors", "shape": [1, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16}}
    head = json.dumps({"inputs": [one]}).encode()
    answer = shared.http.post(
        f"/v2/models/{model_id}/infer",
        content=head + tail,
        headers={
            "Content-Type": "application/octet-stream",
            "Inference-Header-Content-Length": str(len(head)),
        },
    )
    assert answer.status_code == 422
    assert list(answer.json()) == ["error"]

"""A2, A3 and A4, code that hides in data: pickles under every name are refused, and no part of us ever unpickles."""

import io
import os
import pickle
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from watching import watched

from app.intake import child, options, refusal


class Mine:
    """What touches a file when somebody unpickles it."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "executed"


def zipped(**entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name.replace("__", "/"), content)
    return file.getvalue()


def npz(array):
    file = io.BytesIO()
    np.savez(file, x=np.eye(6), y=array)
    return file.getvalue()


def claimed(code):
    """An array whose header says numbers, and whose bytes are a pickle."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": (6,)})
    return zipped(**{"x.npy": file.getvalue() + code, "y.npy": file.getvalue() + code})


def extended(code):
    """Parquet that names the extension type by which old PyArrow unpickled (CVE-2023-47248)."""
    told = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": code}
    fields = [pa.field("a", pa.int64(), metadata=told), pa.field("y", pa.int64())]
    table = pa.table([list(range(8)), [0, 1] * 4], schema=pa.schema(fields))
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def files(path):
    mine = Mine(path)
    code = pickle.dumps(mine)
    objects = np.array([mine] * 6, dtype=object)
    return {
        "model.pkl": code,
        "old.pkl": pickle.dumps(mine, protocol=0),
        "old1.pkl": pickle.dumps(mine, protocol=1),
        "model.joblib": b"\x80\x04" + code[2:] + bytes(64),
        "model.pt": zipped(archive__data_pkl=code, **{"archive__data.pkl": code, "archive__version": b"3\n"}),
        "legacy.pt": pickle.dumps(0x1950A86A20F9469CFC6C) + code,
        "model.keras": zipped(**{"config.json": b'{"class_name": "Lambda"}', "model.weights.h5": b"\x89HDF"}),
        "model.h5": b"\x89HDF\r\n\x1a\n" + bytes(100),
        "model.onnx": b"\x08\x08\x12\x07pytorch" + b":" + struct.pack("<I", 9) + b"../../etc/passwd",
        "model.safetensors": struct.pack("<Q", 8) + b'{"a":{}}',
        "model.gguf": b"GGUF\x03\x00\x00\x00" + bytes(64),
        "objects.npz": npz(objects),
        "claimed.npz": claimed(code),
        "single.npy": b"\x93NUMPY\x01\x00" + bytes(120),
        "pickled.zip": zipped(**{"cat__1.png": code, "dog__2.png": code}),
        "feather.arrow": b"ARROW1\x00\x00" + bytes(100),
    }


NAMES = sorted(files("x"))


@pytest.mark.parametrize("name", NAMES)
def test_models_and_pickles_are_refused_unread(shared, tmp_path, mark, name):
    body = files(mark)[name]
    with watched("pickle.find_class") as found:
        answer = shared.http.post("/datasets", content=body, params={"name": name})
        (tmp_path / "source").write_bytes(body)
        with pytest.raises(refusal.Refused):  # and in this process, where the hook can see it
            child.ingest(tmp_path / "source", tmp_path / "data", options.Options(), options.Limits())
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_dataset")
    assert found == []
    assert not mark.exists()


@pytest.mark.parametrize("wanted", ["csv", "jsonl", "parquet", "npz", "zip"])
def test_saying_another_format_does_not_help(shared, mark, wanted):
    for name in ("model.pkl", "model.pt", "objects.npz"):
        answer = shared.http.post("/datasets", content=files(mark)[name], params={"format": wanted})
        assert answer.status_code == 422
    assert not mark.exists()


@pytest.mark.parametrize("name", ["model.pkl", "model.pt"])
def test_no_route_takes_a_model(shared, mark, name):
    body = files(mark)[name]
    document = shared.http.get("/openapi.json").json()
    takers = [
        (verb, path)
        for path, verbs in document["paths"].items()
        for verb in verbs
        if "requestBody" in verbs[verb] and path != "/datasets"
    ]
    assert ("post", "/predict") in takers
    for verb, path in takers:
        answer = shared.http.request(verb, path.replace("{", "").replace("}", ""), content=body)
        assert answer.status_code in (404, 415, 422), (verb, path)
    for path in ("/models", "/models/mdl_" + "0" * 26, "/checkpoints"):
        for verb in ("post", "put", "patch"):
            assert shared.http.request(verb, path, content=body).status_code in (404, 405)
    assert not mark.exists()


def test_an_extension_type_is_only_a_column(shared, tmp_path, mark):
    body = extended(pickle.dumps(Mine(mark)))
    (tmp_path / "source").write_bytes(body)
    with watched("pickle.find_class") as found:
        child.ingest(tmp_path / "source", tmp_path / "data", options.Options(), options.Limits())
        shared.upload(body)
    assert found == []
    assert not mark.exists()


def test_the_hook_sees_unpickling(mark):
    with watched("pickle.find_class") as found:
        pickle.loads(pickle.dumps(Mine(mark)))  # noqa: S301 - ours, to see that the others would be seen
    assert len(found) == 1
    assert mark.exists()


@pytest.mark.parametrize("kind", ["tabular", "text", "vectors", "image"])
def test_nothing_is_unpickled_between_a_file_and_its_predictions(
    shared, published, sources, tmp_path, pictures, kind
):
    """API, intake, training's folders and inference in this one process."""
    body = sources(kind)
    (tmp_path / "source").write_bytes(body if isinstance(body, bytes) else body.encode())
    rows = {
        "tabular": [{"a": 1, "b": 2, "c": "x"}],
        "text": ["good fine thing"],
        "vectors": [[0.0, 1.0, 2.0, 3.0]],
        "image": [[[0] * 8] * 8],
    }
    chosen = options.Options(**({"kind": "text"} if kind == "text" else {}))
    with watched("pickle.find_class") as found:
        child.ingest(tmp_path / "source", tmp_path / "data", chosen, options.Limits())
        model, job = published(kind)
        for path in (f"/jobs/{job}", f"/jobs/{job}/transition", f"/models/{model}", f"/jobs/{job}/manifest"):
            assert shared.http.get(path).status_code == 200
        answer = shared.http.post("/predict", json={"model": model, "inputs": rows[kind]})
    assert answer.status_code == 200, answer.text
    assert found == []

"""Datasets, jobs, models, predictions and keys as a client has them, against the real service."""

import inspect
import io
import zipfile

import numpy as np
import pyarrow as pa
import pytest

import c2s
from c2s.client import datasets, jobs, keys, models, predictions, problems, workers

SCHEMAS = {
    "DatasetOut": datasets.Dataset,
    "JobOut": jobs.Job,
    "ModelOut": models.Model,
    "PredictionsOut": predictions.Batch,
    "NewKey": keys.Key,
    "WorkerOut": workers.Worker,
}


def fields(kind):
    return {name for one in kind.__mro__ for name in inspect.get_annotations(one) if name[0] != "_"}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_record_has_the_fields_that_the_service_documents(shared, schema):
    document = shared.http.get("/openapi.json").json()
    assert fields(SCHEMAS[schema]) == set(document["components"]["schemas"][schema]["properties"])


def columns(count=60):
    return {
        "a": [i % 7 for i in range(count)],
        "b": ["xyz"[i % 3] for i in range(count)],
        "y": ["pq"[i % 2] for i in range(count)],
    }


@pytest.mark.parametrize(
    "form",
    [
        columns,
        lambda: pa.table(columns()),
        lambda: [dict(zip(columns(), row, strict=True)) for row in zip(*columns().values(), strict=True)],
    ],
    ids=["columns", "arrow", "rows"],
)
def test_tables_of_every_form_are_the_same_dataset(client, form):
    made = client.datasets.create(form(), label="y", drop=["b"])
    assert (made.state, made.kind, made.rows, made.classes) == ("ready", "tabular", 60, ["p", "q"])
    assert made.report()["columns"]["used"] == ["a"]
    made.delete()
    with pytest.raises(problems.NotFound):
        client.datasets.get(made)


def test_arrays_are_a_dataset_with_labels_of_any_type(client):
    x = np.random.default_rng(0).normal(size=(40, 3))
    named = client.datasets.create(x, np.array(["b", "a"] * 20, dtype=object))
    assert named.classes == ["a", "b"]
    assert client.datasets.create((x, [0, 1] * 20)).classes == ["0", "1"]


def test_a_frame_leaves_its_index_at_home(client):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns()).iloc[::-1]
    made = client.datasets.create(frame, label="y")
    assert made.report()["columns"]["used"] == ["a", "b"]


def test_every_option_of_the_service_has_its_place_in_the_client(shared):
    known = shared.http.get("/openapi.json").json()
    upload = {
        one["name"] for one in known["paths"]["/datasets"]["post"]["parameters"] if one["in"] == "query"
    }
    assert upload == {"name", *datasets.Reading.__annotations__}
    order = known["components"]["schemas"]["JobIn"]["properties"]
    assert set(order) == {"dataset_id", *jobs.Settings.__annotations__}


@pytest.mark.parametrize(
    ("source", "labels"),
    [("no/such/file.csv", None), (np.zeros((3, 2)), [1, 2]), (np.array(["a", "b"]), [1, 2]), (3, None)],
)
def test_what_no_dataset_can_be_made_of_is_refused_before_it_is_sent(client, source, labels):
    with pytest.raises(problems.Unusable):
        client.datasets.create(source, labels)


def test_a_large_file_is_waited_for_and_its_refusal_is_an_error(run_service, tmp_path):
    with run_service(tmp_path, inline_bytes=0) as slow, c2s.Client(slow.address, "t" * 32) as found:
        made = found.datasets.create(b"a,y\n1,2\n", wait=False)
        assert made.state == "validating"

        def read(_seconds):
            slow.end(slow.claim(), "internal")

        found._service.wire._sleep = read
        with pytest.raises(problems.DatasetRefused):
            made.wait()


def test_errors_carry_the_service_s_code_and_where(client, shared):
    with pytest.raises(problems.Invalid) as invalid:
        client.datasets.create(b"a,b\n1,2\n", label="nosuch")
    assert invalid.value.code == "invalid_dataset"
    assert invalid.value.request_id
    dataset = client.datasets.create(columns(), label="y")
    with pytest.raises(problems.Invalid) as faulty:
        client.jobs.create(dataset, stage1={"epochs": 0})
    assert faulty.value.faults[0]["pointer"] == "/stage1/epochs"
    assert faulty.value.faults[0]["detail"] in str(faulty.value)
    with pytest.raises(problems.Invalid, match="; /metod: there is no such field"):
        client.jobs.create(dataset, metod="ce")
    with c2s.Client(shared.address, "wrong" * 8) as stranger, pytest.raises(problems.Unauthorized):
        list(stranger.jobs.list())
    job = client.jobs.create(dataset)
    with pytest.raises(problems.NotYet) as early:
        job.transition()
    assert early.value.code == "not_estimated_yet"
    assert early.value.retry_after == 5
    job.cancel()
    assert job.state == "cancelled"
    with pytest.raises(problems.JobCancelled):
        job.wait()
    with pytest.raises(problems.Conflict):
        job.retry().retry()  # the second waits, and there is nothing to try again


def test_a_forecast_makes_nothing(client):
    dataset = client.datasets.create(columns(), label="y")
    told = client.jobs.forecast(dataset, method="forward", transition=np.array([[0.8, 0.2], [0.1, 0.9]]))
    assert told["forecast"]["classes"] == 2
    assert told["config"]["method"]["name"] == "forward"
    assert list(client.jobs.list(dataset=dataset)) == []


def test_rows_columns_and_arrays_are_predicted_and_labels_judged(client, published, pictures):
    tabular, vectors = (published(kind)[0] for kind in ("tabular", "vectors"))
    rows = [{"a": 1, "b": 2, "c": "x"}] * 3
    answer = client.predict(tabular, rows, labels=["a", "b", "c"])
    assert answer.classes == ["a", "b", "c"]
    assert [row["audit"]["label"] for row in answer] == ["a", "b", "c"]
    assert client.predict(tabular, {"a": [1] * 3, "b": [2] * 3, "c": ["x"] * 3}).labels == answer.labels
    x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    probabilities = client.predict(vectors, x).to_numpy()
    np.testing.assert_allclose(probabilities, client.predict(vectors, x.tolist()).to_numpy())
    assert client.predict(vectors, x, top_k=1)[0].keys() >= {"top"}
    with pytest.raises(problems.Invalid) as picture:
        client.predict(vectors, pictures(1))
    assert "not pictures" in picture.value.detail
    with pytest.raises(problems.Unusable):
        client.predict(vectors, b"no picture")
    with pytest.raises(problems.Invalid) as wrong:
        client.predict(vectors, [[1, 2]])
    assert wrong.value.faults[0]["pointer"] == "/inputs/0"


@pytest.mark.parametrize("form", [lambda x: x, lambda x: x.tolist()], ids=["array", "lists"])
def test_many_rows_are_asked_in_lots_of_one_version(client, published, monkeypatch, form):
    model, _ = published("vectors")
    name = client.models.get(model).name
    x = np.random.default_rng(2).normal(size=(25, 4)).astype(np.float32)
    whole = client.predict(model, form(x))
    monkeypatch.setattr(predictions, "MOST_ROWS", 10)
    parts = client.predict(name, form(x))
    assert parts.model == model
    assert [row["class"] for row in parts] == [row["class"] for row in whole]
    np.testing.assert_allclose(parts.to_numpy(), whole.to_numpy())


def test_versions_are_promoted_rolled_back_exported_and_deleted(client, shared, published, tmp_path):
    first, _ = published("vectors")
    second, _ = published("vectors", fresh=True)
    assert {one.id for one in client.models.list(name="vectors model")} >= {first, second}
    assert client.models.promote(first, "champion")["model_id"] == first
    seen = client.models.alias("vectors model", "champion")["etag"]
    assert client.models.promote(second, "champion")["model_id"] == second
    with pytest.raises(problems.Changed):
        client.models.promote(first, "champion", etag=seen)
    assert client.models.get("vectors model@champion").aliases == ["champion"]
    client.models.promote(first)  # the alias default
    assert client.models.get("vectors model").id == client.predict("vectors model", [[0] * 4]).model == first
    assert (
        client.models.promote("vectors model", "champion")["model_id"] == second
    )  # a name is its newest here
    shared.http.delete("/models/vectors model/aliases/default", headers={"If-Match": "*"}).raise_for_status()
    with pytest.raises(problems.Conflict) as used:
        client.models.delete(second)
    assert used.value.code == "model_in_use"
    assert client.models.rollback("vectors model", "champion")["model_id"] == first
    assert client.models.lineage(first)["model"]["id"] == first
    target = client.models.export("vectors model@champion", tmp_path / "model.zip", format="noise-model")
    assert "noise-model.json" in zipfile.ZipFile(io.BytesIO(target.read_bytes())).namelist()
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(problems.NotFound):
        client.models.export("nosuch", tmp_path / "none.zip")
    assert list(tmp_path.iterdir()) == [target]
    client.models.delete(second)


def test_keys_are_made_shown_without_their_secret_and_revoked(client, shared):
    made = client.keys.create("reader", ["read"])
    with c2s.Client(shared.address, made.secret) as reader:
        assert isinstance(list(reader.jobs.list()), list)
        with pytest.raises(problems.Forbidden) as refused:
            reader.keys.create("more")
    assert refused.value.code == "insufficient_scope"
    assert "secret" not in client.keys.get(made).raw
    assert made.secret not in repr(made) + made._repr_html_()
    client.keys.revoke(made)
    assert client.keys.get(made.id).revoked_at


def test_numbers_that_json_cannot_say_are_missing_as_in_a_file(client, published):
    model, _ = published("tabular")
    plain = client.predict(model, [{"a": 1, "b": None, "c": "x"}])
    for number in (np.inf, -np.inf, np.nan):
        assert list(client.predict(model, [{"a": 1, "b": number, "c": "x"}])) == list(plain)
        assert list(client.predict(model, {"a": [1], "b": [number], "c": ["x"]})) == list(plain)


def test_predictions_for_a_file_are_a_job(client, published, tmp_path):
    model, _ = published("vectors")
    batch = client.predictions.create(model, np.zeros((4, 4), np.float32), outputs=["class"])
    assert (batch.state, batch.model_id, batch.outputs) == ("queued", model, ["class"])
    with pytest.raises(problems.NotYet):
        batch.results(tmp_path / "answers.csv")
    assert [one.id for one in client.jobs.list(task="predict")] == [batch.id]
    batch.cancel()
    assert client.predictions.get(batch).state == "cancelled"
    batch.delete()
    with pytest.raises(problems.Unusable):
        client.predictions.create(model)


@pytest.mark.parametrize("rule", ["cut", 503])
def test_a_download_that_is_cut_is_whole_or_not_there(through, broken_line, published, tmp_path, rule):
    model, _ = published("vectors")
    whole = through[0].models.export(model, tmp_path / "whole.zip").read_bytes()
    broken_line.break_(rule, 2, path="/export")
    assert through[0].models.export(model, tmp_path / "again.zip").read_bytes() == whole
    broken_line.break_(rule, path="/export")
    with pytest.raises(problems.ClientError):
        through[0].models.export(model, tmp_path / "never.zip")
    assert {path.name for path in tmp_path.iterdir()} == {"whole.zip", "again.zip"}

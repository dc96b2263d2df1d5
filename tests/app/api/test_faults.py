"""What is wrong with a request, where: one fault a place, a pointer into the body or the parameter's name."""

import pytest

DATASET = "ds_" + "0" * 26


def faults(answer):
    assert answer.status_code == 422, answer.text
    return [
        (fault.get("pointer", fault.get("parameter")), fault["detail"]) for fault in answer.json()["errors"]
    ]


@pytest.mark.parametrize(
    ("asked", "pointer", "said"),
    [
        ({"transition": "foo"}, "/transition", "must be one of 'anchors', 'mean-posterior'"),
        ({"transition": {"estimator": "foo"}}, "/transition/estimator", "'volmin', 'gold', 'auto'"),
        ({"transition": {"estimator": "hoc", "matrix": [[1]]}}, "/transition", "leave `estimator` out"),
        ({"transition": [[1, 0], [0, 1]]}, "/transition", "the name of an estimator, or an object"),
        ({"method": 5}, "/method", "must be a name, or an object with a `name`: one of 'ce'"),
        ({"method": None}, "/method", "must be a name, or an object with a `name`: one of 'ce'"),
        ({"method": []}, "/method", "must be a name, or an object with a `name`: one of 'ce'"),
        ({"method": {"name": "foo"}}, "/method/name", "must be one of 'ce', 'mcl'"),
        ({"method": {}}, "/method/name", "is missing: one of 'ce', 'mcl'"),
        ({"net": 5}, "/net", "must be a name, or an object with a `name`: one of 'auto'"),
        ({"stage1": 5}, "/stage1", "must be an object"),
        ({"stage1": {"epochs": True}}, "/stage1/epochs", "must be a whole number"),
        ({"stage1": {"learning_rate": 1e300}}, "/stage1/learning_rate", "less than or equal to 10"),
        ({"net": {"name": "mlp", "hidden": "x"}}, "/net/hidden", "must be a list"),
        ({"merge": None}, "/merge", "must be a list"),
        ({"transition": {"matrix": "x"}}, "/transition/matrix", "must be a list"),
        ({"merge": [["a", 2]]}, "/merge/0/1", "must be text"),
        ({"method": {"name": "s2e", "curve": ["a", *[0] * 11]}}, "/method/curve/0", "must be a number"),
    ],
)
def test_a_setting_that_is_wrong_is_one_fault_in_our_words(shared, asked, pointer, said):
    [(where, detail)] = faults(shared.http.post("/jobs", json={"dataset_id": DATASET, **asked}))
    assert where == pointer
    assert said in detail


def test_a_body_that_is_no_object_or_lacks_a_field_is_told_so(shared):
    assert faults(shared.http.post("/jobs", json=[])) == [("", "must be an object")]
    assert faults(shared.http.post("/jobs", json={})) == [("/dataset_id", "is missing")]


def test_a_parameter_with_a_wrong_word_names_all_the_right_ones(shared, csv_file):
    job = "job_" + "0" * 26
    wrong = faults(shared.http.get(f"/jobs/{job}/metrics?format=xml"))
    assert wrong == [("format", "must be one of 'json', 'png', 'svg'")]
    wrong = faults(shared.http.post("/datasets?format=xml", content=csv_file))
    assert wrong == [("format", "must be one of 'auto', 'csv', 'jsonl', 'parquet', 'npz', 'zip'")]


@pytest.mark.parametrize("after", ["9" * 23, "", "zzz"])
def test_a_cursor_that_is_none_is_called_so_in_every_list(shared, after):
    job = "job_" + "0" * 26
    for path in ("/jobs", "/datasets", f"/jobs/{job}/issues", f"/jobs/{job}/decisions"):
        answer = shared.http.get(path, params={"after": after})
        assert faults(answer) == [("after", "is not a next_cursor of this list")], path
        assert answer.json()["errors"][0]["parameter"] == "after"


def test_options_of_an_upload_are_parameters(shared, csv_file):
    answer = shared.http.post("/datasets?label=none", content=csv_file)
    assert answer.json()["errors"][0]["parameter"] == "label"
    assert "pointer" not in answer.json()["errors"][0]


def test_predictions_without_a_model_are_told_that_it_is_missing(shared, csv_file):
    answer = shared.http.post("/predictions", content=csv_file, headers={"Content-Type": "text/csv"})
    assert faults(answer) == [("model", "is missing")]
    assert answer.json()["errors"][0]["parameter"] == "model"


def test_what_predict_takes_is_named_where_it_takes_something_else(shared):
    answer = shared.http.post("/predict?model=m", content="a\n1\n", headers={"Content-Type": "text/csv"})
    assert answer.status_code == 415
    for kind in ("application/json", "application/x-ndjson", "application/x-npy", "image/png", "image/jpeg"):
        assert kind in answer.json()["detail"]


def test_a_rule_of_several_fields_is_told_without_the_framework_s_prefix(shared):
    answer = shared.http.put("/models/any/aliases/default", json={}, headers={"If-Match": "*"})
    assert faults(answer) == [("", "name either version or model_id")]


def test_a_column_of_labels_alone_is_nothing_to_learn_from(shared):
    for label, params in (("y", {}), ("mood", {"label": "mood"})):
        answer = shared.http.post("/datasets", content=label + "\na\nb" * 20 + "\n", params=params)
        [fault] = answer.json()["errors"]
        assert (fault["code"], fault["line"]) == ("nothing_to_learn", 1)
        assert f"no column besides the label {label!r}" in fault["detail"]
    plain = shared.http.post("/datasets", content="some words\nand more\n")
    assert plain.json()["errors"][0]["code"] == "unknown_format"

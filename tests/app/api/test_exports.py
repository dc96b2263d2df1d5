"""Versions as archives: the same bytes each time, names of ours alone, and a README whose lines are run here."""

import io
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from c2s import predictor

FILES = {"onnx": "model.onnx", "safetensors": "weights.safetensors", "noise-model": "noise-model.json"}


@pytest.fixture
def export(shared):
    def get(model, form="onnx", **headers):
        return shared.http.get(f"/models/{model}/export", params={"format": form}, headers=headers)

    return get


def unpacked(answer, folder):
    assert answer.status_code == 200, answer.text
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    return folder


def snippets(folder):
    return re.findall(r"```python\n(.*?)\n```", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def run(code, folder):
    """Run what a README says, as its reader would: in the folder, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["vectors", "tabular", "text", "image"])
def test_the_five_lines_of_the_onnx_archive_work(published, trained, export, tmp_path, kind):
    model, _ = published(kind)
    folder = unpacked(export(model), tmp_path)
    code, *raw = snippets(folder)
    assert len(code.splitlines()) == 5
    said = run(code + "\nprint(probabilities.tolist())", folder).splitlines()
    labels = trained(kind)[1]["labels"]
    probabilities = np.array(json.loads(said[1]))
    assert probabilities.shape == (2, len(labels))
    assert said[0] == str([labels[place] for place in probabilities.argmax(axis=1)])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    if kind in ("vectors", "image"):
        own = predictor.Predictor.load(trained(kind)[0])
        shape = (2, 4) if kind == "vectors" else (2, 8, 8)
        zeros = np.zeros(shape, dtype=np.float32 if kind == "vectors" else np.uint8)
        np.testing.assert_allclose(probabilities, own.probabilities(own.raw(zeros)), atol=1e-5)
    assert bool(raw) == (kind in ("tabular", "text"))
    for lines in raw:
        assert len(lines.splitlines()) == 5
        run(lines + f"\nassert model.session.probabilities(rows).shape == (2, {len(labels)})", folder)


def test_the_five_lines_of_the_safetensors_archive_work(published, trained, export, tmp_path):
    model, _ = published("vectors")
    folder = unpacked(export(model, "safetensors"), tmp_path)
    (code,) = snippets(folder)
    assert len(code.splitlines()) == 5
    said = run(code + "\nassert all(array.dtype.kind in 'fi' for array in weights.values())", folder)
    assert "numbers" in said
    own = (trained("vectors")[0] / "weights.safetensors").read_bytes()
    assert (folder / "weights.safetensors").read_bytes() == own


def test_the_five_lines_of_the_noise_model_work_and_it_says_how_to_read_it(
    published, trained, export, tmp_path
):
    model, _ = published("vectors")
    folder = unpacked(export(model, "noise-model"), tmp_path)
    (code,) = snippets(folder)
    assert len(code.splitlines()) == 5
    run(code + "\nassert numpy.allclose(true_given_label.sum(axis=1), 1)", folder)
    noise = json.loads((folder / "noise-model.json").read_text(encoding="utf-8"))
    known = trained("vectors")[1]["transition"]
    assert noise["orientation"] == "rows_clean_cols_noisy"
    assert "rows clean, columns noisy" in noise["reads"]
    assert noise["classes"] == trained("vectors")[1]["labels"]
    assert (noise["T_c"], noise["estimator"]) == (known["matrix"], known["estimator"])
    assert noise["T_s"].keys() == {"t00", "t01", "t10", "t11"}
    assert noise["noise_rate"].keys() == {"class", "similarity"}
    T_c, clean, noisy = (
        np.array(noise["T_c"]),
        *(np.array(noise["priors"][one]) for one in ("clean", "noisy")),
    )
    np.testing.assert_allclose(T_c.sum(axis=1), 1)
    np.testing.assert_allclose(clean @ T_c, noisy)
    assert noise["noise_rate"]["class"] == pytest.approx(1 - clean @ T_c.diagonal())


@pytest.mark.parametrize("form", FILES)
def test_the_same_model_gives_the_same_bytes_and_an_etag(published, export, form):
    model, _ = published("vectors")
    first, second = export(model, form), export("vectors model", form)
    assert first.content == second.content
    assert first.headers["ETag"] == second.headers["ETag"]
    assert first.headers["Content-Type"] == "application/zip"
    assert first.headers["Content-Disposition"] == f'attachment; filename="{model}-{form}.zip"'
    again = export(model, form, **{"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    tags = {export(model, one).headers["ETag"] for one in FILES}
    assert len(tags) == 3


@pytest.mark.parametrize("form", FILES)
def test_no_word_of_the_user_s_is_a_path_in_the_archive(versions, export, form):
    (model,) = versions("../../etc/passwd")
    answer = export(model, form)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["README.md", "card.json", FILES[form]]
        assert b"passwd" not in archive.read("README.md")
    assert "passwd" not in str(answer.headers)


def test_an_unknown_form_is_422_and_an_unknown_model_404(published, export):
    model, _ = published("vectors")
    answer = export(model, "pickle")
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "format")
    assert export("nobody").status_code == 404


def test_a_damaged_file_is_not_handed_out(shared, published, export):
    model, job = published("vectors", fresh=True)
    (folder,) = shared.store.root.glob(f"jobs/{job}/*/run/model")
    (folder / "model.onnx").write_bytes(b"other")
    (folder / "weights.safetensors").unlink()
    for form in ("onnx", "safetensors"):
        answer = export(model, form)
        assert (answer.status_code, answer.json()["code"]) == (503, "model_damaged")
    assert export(model, "noise-model").status_code == 200
    card = json.loads((folder / "card.json").read_text())
    del card["graph"]
    (folder / "card.json").write_text(json.dumps(card))
    assert (export(model).status_code, export(model).json()["code"]) == (409, "model_not_exported")

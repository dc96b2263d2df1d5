"""A1, a training API that anybody may use, or that runs what it is sent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.settings import Settings

ROOT = Path(__file__).parents[3]
EVERYWHERE = "0.0.0.0"  # noqa: S104 - refused, which is the point
STRONG = "4f1c9a7be2d8306b5a4f1c9a7be2d830"
CODE = ["os.system", "builtins.eval", "c2s.nets.lenet.LeNet", "../lenet", "__import__('os')", "{{7*7}}", "%s"]


@pytest.mark.parametrize("token", [None, "", "short", "t" * 64, "abababab" * 8, "changeme-" + STRONG])
def test_a_service_for_the_internet_does_not_start_without_a_strong_key(tmp_path, token):
    env = os.environ | {"C2S_HOME": str(tmp_path), "C2S_HOST": EVERYWHERE, "C2S_PORT": "0"}
    env |= {} if token is None else {"C2S_TOKEN": token}
    done = subprocess.run(
        [sys.executable, "-m", "app", "serve"], env=env, cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "C2S_TOKEN" in done.stderr
    assert token is None or len(token) < 6 or token not in done.stderr
    assert not (tmp_path / "c2s.sqlite3").exists()


def test_a_strong_key_will_do_and_loopback_is_the_default():
    assert Settings(host=EVERYWHERE, token=STRONG).host == EVERYWHERE
    assert Settings.model_fields["host"].default == "127.0.0.1"


def test_every_route_without_credentials_is_401(shared):
    document = shared.http.get("/openapi.json").json()
    with shared.client() as stranger:
        for path, verbs in document["paths"].items():
            for verb, operation in verbs.items():
                answer = stranger.request(verb.upper(), path.replace("{", "").replace("}", ""))
                assert (answer.status_code == 401) == (operation["security"] != []), (verb, path)
        for path in (
            "/openapi.json",
            "/docs",
            "/nowhere",
            "/livez%2f..%2fjobs",
        ):
            assert stranger.get(path).status_code == 401


@pytest.mark.parametrize("text", CODE)
def test_no_name_leads_to_code(shared, text):
    """Methods, nets, estimators and schedules are closed sets; a dotted path is only a wrong word."""
    for body in (
        {"method": text},
        {"method": {"name": text}},
        {"net": {"name": text}},
        {"net": text},
        {"transition": {"estimator": text}},
        {"stage1": {"schedule": {"name": text}}},
        {"callback": text},
    ):
        answer = shared.http.post("/jobs", json={"dataset_id": "ds_" + "0" * 26, **body})
        assert answer.status_code == 422
        assert answer.json()["code"] == "invalid"

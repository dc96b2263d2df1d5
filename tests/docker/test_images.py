"""The Dockerfile and the files around it, by their text; test_stack.py builds and runs them where an engine is."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
METRICS = {
    "c2s_requests_total",
    "c2s_request_seconds",
    "c2s_jobs",
    "c2s_queue_depth",
    "c2s_queue_age_seconds",
    "c2s_predict_batch_size",
    "c2s_epoch_seconds",
    "c2s_lease_losses_total",
    "c2s_device_memory_bytes",
}


def stage(name):
    return re.search(rf"^FROM \S+ AS {name}\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)[1]


def test_the_dockerfile_has_nothing_to_complain_about():
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("hadolint is not installed on this platform")
    done = subprocess.run([linter, DOCKER / "Dockerfile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_base_image_has_a_version():
    bases = re.findall(r"^FROM (\S+:\S+)", DOCKERFILE, re.MULTILINE)
    bases += re.findall(r"^ARG PYTHON_IMAGE=(\S+)", DOCKERFILE, re.MULTILINE)
    assert bases == ["caddy:2.10.2", "python:3.11-slim-bookworm"]


def test_the_last_stages_are_unprivileged_and_install_one_small_thing():
    assert "USER 10001:10001" in stage("runtime")
    assert "USER 10001:10001" in stage("proxy")
    for name in ("api", "worker"):
        assert f"FROM runtime AS {name}\n" in DOCKERFILE
        assert not re.search(r"^(RUN|USER)", stage(name), re.MULTILINE)
        assert "HEALTHCHECK" in stage(name)
    assert re.findall(r"install -y --no-install-recommends (.*?) \\", DOCKERFILE) == ["'tini=0.19.0-1*'"]


def test_torch_may_come_from_an_index_of_its_own():
    for name in ("api-packages", "worker-packages"):
        assert '${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"}' in stage(name)


@pytest.mark.parametrize(("kind", "torch"), [("service", ""), ("service+train", "torch==2.13.0")])
def test_the_images_install_what_the_project_asks_for(tmp_path, kind, torch):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    subprocess.run([sys.executable, DOCKER / "wanted.py"], cwd=tmp_path, check=True)
    assert (tmp_path / kind / "torch.txt").read_text() == torch
    others = (tmp_path / kind / "others.txt").read_text().splitlines()
    assert {"numpy", "fastapi"} <= {line.split("==")[0] for line in others}
    lock = (ROOT / "requirements.lock").read_text().lower().replace("_", "-").splitlines()
    assert all(re.sub(r"\[.*\]", "", line).lower().replace("_", "-") in lock for line in others)


def test_secrets_and_history_stay_out_of_the_images():
    rules = (DOCKER / "Dockerfile.dockerignore").read_text().split("\n")
    assert next(rule for rule in rules if rule and not rule.startswith(("#", "!"))) == "*"
    assert not {"!.env", "!docker", "!.git", "!tests"} & set(rules)


def test_the_wheel_carries_the_migrations(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and "hatchling" in done.stderr:
        pytest.skip("the build backend cannot be fetched here")
    assert done.returncode == 0, done.stderr
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert {"migrations/env.py", "app/main.py", "worker/tasks.py", "c2s/pipeline.py"} <= set(names)


def test_the_dashboard_shows_every_metric_and_names_its_source():
    board = json.loads((DOCKER / "grafana/dashboards/c2s.json").read_text())
    source = yaml.safe_load((DOCKER / "grafana/datasources/prometheus.yaml").read_text())["datasources"][0]
    asked = " ".join(target["expr"] for panel in board["panels"] for target in panel["targets"])
    assert {name.removesuffix("_bucket") for name in re.findall(r"c2s_[a-z_]+", asked)} == METRICS
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {source["uid"]}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_prometheus_looks_for_every_worker():
    scraped = yaml.safe_load((DOCKER / "prometheus.yml").read_text())["scrape_configs"]
    services = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    names = {name for job in scraped for config in job["dns_sd_configs"] for name in config["names"]}
    assert names == {name for name in services if name == "api" or name.startswith("worker")}


@pytest.fixture
def make_env(tmp_path):
    shutil.copy(DOCKER / "make-env", tmp_path)
    return lambda: subprocess.run(["sh", tmp_path / "make-env"], capture_output=True, text=True)


def test_every_deployment_gets_strong_secrets_of_its_own(make_env, tmp_path):
    from app.core import strength

    made = []
    for _ in range(2):
        assert make_env().returncode == 0
        text = (tmp_path / ".env").read_text()
        made.append(dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)))
        assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
        (tmp_path / ".env").unlink()
    secrets = [name for name in made[0] if len(made[0][name]) > 20]
    assert len(secrets) == 5
    assert all(strength.weakness(made[0][name]) is None for name in secrets)
    assert all(made[0][name] != made[1][name] for name in secrets)
    assert len({made[0][name] for name in secrets}) == 5


def test_secrets_in_use_are_never_overwritten(make_env, tmp_path):
    assert make_env().returncode == 0
    before = (tmp_path / ".env").read_text()
    again = make_env()
    assert again.returncode == 1
    assert "exists" in again.stderr
    assert (tmp_path / ".env").read_text() == before


def test_the_scripts_can_be_run():
    for name in ("make-env", "backup", "restore"):
        assert os.access(DOCKER / name, os.X_OK)
        subprocess.run(["sh", "-n", DOCKER / name], check=True)


ENGINE = """#!/bin/sh
case "$*" in
  *pg_dump*) echo rows ;;
  *printenv*) echo "$STORE" ;;
  *tar*) echo bytes ;;
esac
"""


@pytest.mark.parametrize("store", ["s3://c2s/store", "file:///var/lib/c2s/store"])
def test_a_backup_says_when_the_bytes_are_elsewhere(store, tmp_path):
    engine = tmp_path / "bin" / "docker"
    engine.parent.mkdir()
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    env = {"PATH": f"{engine.parent}:{os.defpath}", "STORE": store}
    done = subprocess.run(
        [DOCKER / "backup", tmp_path / "kept"], env=env, capture_output=True, text=True, check=True
    )
    assert (f"only the rows: the bytes are in {store}" in done.stderr) == store.startswith("s3:")
    assert (tmp_path / "kept" / "rows.dump").read_text() == "rows\n"
    assert (tmp_path / "kept" / "bytes.tar").read_text() == "bytes\n"

"""The compose file by its text: the schema of the specification, and what every service must and must not have."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from app.core.settings import Settings

DOCKER = Path(__file__).parents[2] / "docker"
TEXT = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
FILE = yaml.safe_load(TEXT)
SERVICES = FILE["services"]
ONCE = {"preflight", "migrate", "bucket"}
LASTING = sorted(SERVICES.keys() - ONCE)
every = pytest.mark.parametrize("name", sorted(SERVICES))
SECRETS = {"C2S_TOKEN", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "GRAFANA_PASSWORD", "AWS_SECRET_ACCESS_KEY"}


def test_the_compose_file_fits_the_specification():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*command, DOCKER / "compose.yaml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_misspelt_key_is_found(tmp_path):
    (tmp_path / "compose.yaml").write_text(TEXT.replace("read_only:", "readonly:"), encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    assert subprocess.run([*command, tmp_path / "compose.yaml"], capture_output=True).returncode != 0


@every
def test_every_service_is_hardened(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert any(place.startswith("/tmp:size=") for place in service["tmpfs"])  # noqa: S108 - a memory disk
    assert not {"privileged", "pid", "ipc", "devices"} & service.keys()


@every
def test_every_service_has_limits_and_a_bounded_log(name):
    limits = SERVICES[name]["deploy"]["resources"]["limits"]
    assert {"cpus", "memory", "pids"} <= limits.keys()
    assert SERVICES[name]["logging"]["options"].keys() == {"max-size", "max-file"}


@pytest.mark.parametrize("name", LASTING)
def test_what_lasts_is_watched_and_restarted(name):
    assert SERVICES[name]["restart"] == "unless-stopped"
    assert SERVICES[name]["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")


@pytest.mark.parametrize("name", sorted(ONCE))
def test_a_step_runs_once(name):
    assert SERVICES[name]["restart"] == "no"


@every
def test_every_image_has_a_version(name):
    tag = SERVICES[name]["image"].split(":", 1)[1]
    assert tag.startswith("${C2S_VERSION:-") or re.search(r"\d", tag)
    assert "latest" not in tag


@every
def test_no_server_but_the_api_the_proxy_and_grafana_can_be_reached_from_outside(name):
    ports = SERVICES[name].get("ports", [])
    assert bool(ports) == (name in ("api", "caddy", "grafana"))
    assert all(re.match(r"(\$\{\w+:-)?127\.0\.0\.1", port) for port in ports)
    assert "network_mode" not in SERVICES[name] or SERVICES[name]["network_mode"] == "none"


def test_servers_and_workers_have_no_way_out():
    assert FILE["networks"]["backend"]["internal"] is True
    edge = {name for name, service in SERVICES.items() if "edge" in service.get("networks", [])}
    assert edge == {"api", "caddy", "grafana"}


def test_every_secret_is_required_and_none_is_written_down():
    used = re.findall(r"\$\{(\w*(?:TOKEN|PASSWORD|SECRET|KEY)\w*)([^}]*)\}", TEXT)
    assert {name for name, _ in used} == SECRETS | {"AWS_ACCESS_KEY_ID"}
    assert {rest for _, rest in used} == {":?run docker/make-env"}


def test_secrets_are_judged_before_any_server_is_given_one():
    assert set(SERVICES["preflight"]["command"][2:]) == SECRETS
    for name in ("postgres", "redis", "seaweedfs", "grafana"):
        assert SERVICES[name]["depends_on"]["preflight"]["condition"] == "service_completed_successfully"


@pytest.mark.parametrize("name", [name for name in SERVICES if name == "api" or name.startswith("worker")])
def test_the_database_is_migrated_before_anybody_uses_it(name):
    needs = SERVICES[name]["depends_on"]
    assert needs["migrate"]["condition"] == "service_completed_successfully"
    assert needs["postgres"]["condition"] == needs["redis"]["condition"] == "service_healthy"
    assert SERVICES["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"


@pytest.mark.parametrize("name", [name for name in SERVICES if name.startswith("worker")])
def test_a_worker_has_time_to_give_its_job_back(name):
    grace = Settings.model_fields["grace_seconds"].default
    assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) >= grace + 15
    assert "OMP_NUM_THREADS" in SERVICES[name]["environment"]


def test_each_card_has_one_worker():
    cards = []
    for name, service in SERVICES.items():
        if name.startswith("worker-gpu"):
            [device] = service["deploy"]["resources"]["reservations"]["devices"]
            assert "replicas" not in service["deploy"]
            assert device["capabilities"] == ["gpu"]
            cards += device["device_ids"]
    assert cards == ["0", "1", "2", "3"]


def test_every_profile_is_there():
    profiles = {profile for service in SERVICES.values() for profile in service.get("profiles", [])}
    assert profiles == {"gpu", "gpu-1", "gpu-2", "gpu-3", "s3", "monitoring", "tls"}


def test_the_queue_is_kept_and_guarded():
    script = SERVICES["redis"]["command"][-1]
    assert "--appendonly yes" in script
    assert "requirepass" in script
    assert "noeviction" in script


def test_every_setting_of_the_service_can_be_given():
    elsewhere = {"home", "host", "port", "pulse", "ballast_bytes"}  # fixed by the images, or SQLite's
    given = {name for service in ("api", "worker") for name in SERVICES[service]["environment"]}
    assert {f"C2S_{name.upper()}" for name in Settings.model_fields.keys() - elsewhere} <= given


def test_the_default_version_is_the_project_s():
    import tomllib

    project = tomllib.loads((DOCKER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r"C2S_VERSION:-([^}]+)", TEXT)) == {project["version"]}
    dockerfile = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"ARG VERSION=(\S+)", dockerfile)) == {project["version"]}


def test_every_variable_is_documented():
    example = (DOCKER.parent / ".env.example").read_text(encoding="utf-8")
    missing = [name for name in re.findall(r"\$\{(\w+)", TEXT) if f"#{name}=" not in example]
    assert missing == []

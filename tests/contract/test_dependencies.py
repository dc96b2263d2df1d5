"""What is installed: nothing that reads models of others, and nothing below a version with a known hole."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKED = {
    re.sub(r"[-_.]+", "-", name).lower(): version
    for name, version in re.findall(
        r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE
    )
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOREIGN = ("keras", "tensorflow", "h5py", "dill", "picklescan", "pandas", "mlflow")
FORMS = ("python-multipart", "multipart")
FLOORS = {  # RELIABILITY 6.5: below, an attack of the table works
    "torch": (2, 10),  # CVE-2026-24747, though nothing of ours calls torch.load
    "starlette": (1, 3, 1),  # CVE-2025-62727, CVE-2026-54283
    "pillow": (12, 3),  # CVE-2026-40192, CVE-2026-55380
    "pyarrow": (24,),  # CVE-2023-47248, CVE-2026-25087
    "h11": (0, 16),  # CVE-2025-43859
    "celery": (5, 6, 3),
}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))


def runtime() -> list[str]:
    """What a service without its tests is declared to need."""
    extras = PROJECT["optional-dependencies"]
    return [*PROJECT["dependencies"], *extras["service"]]


@pytest.mark.parametrize("package", FOREIGN)
def test_readers_of_foreign_models_are_not_installed(package):
    assert package not in LOCKED


@pytest.mark.parametrize("package", FORMS)
def test_parsers_of_forms_are_not_installed(package):
    assert package not in LOCKED
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version(package)


def test_pickling_packages_come_with_others_alone():
    """scikit-learn pulls joblib; the ban on importing it is what keeps it harmless."""
    named = {re.split(r"[=\[]", each)[0].lower() for each in runtime()}
    assert not named & {"joblib", "cloudpickle", "dill", "pyyaml"}
    wanted = metadata.requires("scikit-learn") or []
    assert any(each.startswith("joblib") for each in wanted)


@pytest.mark.parametrize("package", FLOORS)
def test_no_version_is_below_its_floor(package):
    assert numbers(LOCKED[package]) >= FLOORS[package]
    assert numbers(metadata.version(package)) >= FLOORS[package]


def test_every_declared_version_is_exact_and_locked():
    for each in [*runtime(), *PROJECT["optional-dependencies"]["dev"]]:
        if each.startswith("c2s["):  # other extras of ours
            continue
        name, _, version = each.partition("==")
        assert LOCKED[re.sub(r"[-_.]+", "-", name.partition("[")[0]).lower()] == version


def test_what_is_installed_is_what_is_locked():
    for name, version in LOCKED.items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # a service without its tests
        assert found.partition("+")[0] == version, name

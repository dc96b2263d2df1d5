"""Rules of the house that a machine can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("c2s", "app", "worker") for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_no_file_outgrows_its_noun():
    long = {path.name for path in SOURCES if path.read_text(encoding="utf-8").count("\n") > 250}
    long |= {path.name for path in TESTS if path.read_text(encoding="utf-8").count("\n") > 400}
    assert long == set()


def test_no_function_outgrows_a_screen():
    long = [
        f"{path.name}:{node.name}"
        for path in SOURCES
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno >= 50
    ]
    assert long == []


def test_names_predict_content():
    vague = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
    assert {path.stem for path in SOURCES} & vague == set()


def test_package_files_are_empty_but_the_library_s():
    full = [
        path for path in SOURCES if path.name == "__init__.py" and path.read_text(encoding="utf-8").strip()
    ]
    assert full == [ROOT / "c2s" / "__init__.py"]


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.strip()


HEAVY = "print(*sorted({'torch', 'sklearn', 'pyarrow', 'rich', 'scipy', 'pandas'} & set(sys.modules)))"


@pytest.mark.parametrize(
    "module",
    [
        "c2s",
        "c2s.config",
        "c2s.data",
        "c2s.defaults",
        "c2s.matrix.transition",
        "c2s.matrix.estimation",
        "app.core",
    ],
)
def test_what_the_api_needs_loads_without_torch(module):
    assert fresh(f"import sys, {module}; {HEAVY}") == ""


def test_the_help_of_the_command_loads_nothing_heavy():
    code = "import sys; from c2s.commands import entry; entry.parser().format_help(); " + HEAVY
    assert fresh(code) == ""


def test_the_help_of_the_whole_command_loads_no_schema():
    code = "import sys; from app import cli; from app.commands import demo, keys, service; "
    code += "from c2s.commands import entry; entry.parser((service, keys, demo)).format_help(); "
    slow = "{'pydantic', 'httpx', 'numpy', 'sqlalchemy', 'asyncio', 'importlib.metadata'}"
    assert fresh(f"{code} print(*sorted({slow} & set(sys.modules)))") == ""


def test_the_library_exports_its_classes_lazily():
    assert fresh("import c2s; print(c2s.Class2SimiClassifier.__name__)") == "Class2SimiClassifier"
    assert fresh("import c2s; print(c2s.Client.__name__, c2s.AsyncClient.__name__)") == "Client AsyncClient"


def test_every_setting_read_from_the_environment_is_in_the_example():
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for name in re.findall(r"C2S_[A-Z_]*[A-Z]", node.value):
                    assert name in example, f"{path.name} reads {name}"


def test_every_setting_of_the_service_is_in_the_example():
    from app.core.settings import Settings

    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    missing = [name for name in Settings.model_fields if f"C2S_{name.upper()}=" not in example]
    assert missing == []
    assert len(Settings.model_fields) <= 30

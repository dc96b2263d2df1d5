"""A2, code that hides in data: what would run it is not in the sources, so no mistake can lead there."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for folder in ("c2s", "app", "worker", "migrations") for path in (ROOT / folder).rglob("*.py")
)
MODULES = {
    "pickle",
    "_pickle",
    "cPickle",
    "joblib",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "code",
    "runpy",
}
BUILT_IN = {"eval", "exec", "compile", "__import__"}
CALLS = {
    "torch.load",
    "torch.save",
    "torch.jit.load",
    "torch.package.PackageImporter",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "importlib.import_module",
    "pandas.read_pickle",
}
NUMPY = {"np.load", "numpy.load", "np.lib.format.read_array", "numpy.lib.format.read_array"}


def dotted(node: ast.expr) -> str:
    """`a.b.c` of an expression; what is not a plain name in front is left out."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def banned(text: str) -> list[str]:
    """What of a source could run data as code."""
    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found += [name.name for name in names if name.name.split(".")[0] in MODULES]
            case ast.ImportFrom(module=module, names=names):
                whole = [f"{module}.{name.name}" for name in names]
                found += [name for name in whole if name.split(".")[0] in MODULES or name in CALLS]
            case ast.Call():
                found += called(node)
    return found


def called(node: ast.Call) -> list[str]:
    name = dotted(node.func)
    given = {word.arg: word.value for word in node.keywords}
    found = [name] if name in CALLS | BUILT_IN else []
    for word, safe in (("allow_pickle", False), ("shell", False)):
        value = given.get(word)
        if value is not None and not (isinstance(value, ast.Constant) and value.value is safe):
            found.append(f"{name}({word}=...)")
    if name in NUMPY and "allow_pickle" not in given:
        found.append(f"{name} without allow_pickle=False")
    if None in given and name.split(".")[0] in ("np", "numpy", "subprocess"):
        found.append(f"{name}(**...)")  # could hide either word
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_in_the_sources_runs_data_as_code(path):
    assert banned(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "import pickle as harmless",
        "from pickle import loads",
        "from joblib.numpy_pickle import load",
        "def f():\n    import dill",
        "import marshal, json",
        "import shelve",
        "import torch\ntorch.load(path, weights_only=True)",
        "from torch import save",
        "torch.save(x, path)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=wanted)",
        "np.load(path, **options)",
        "np.lib.format.read_array(file)",
        "yaml.load(text)",
        "eval(text)",
        "exec(text)",
        "__import__(name)",
        "importlib.import_module(name)",
        "os.system(text)",
        "subprocess.run(text, shell=True)",
        "subprocess.run(text, shell=wanted)",
        "subprocess.run(text, **options)",
    ],
)
def test_the_ban_sees_what_it_bans(text):
    assert banned(text)


def test_the_ban_lets_their_harmless_namesakes_pass():
    assert (
        banned("net.eval()\nre.compile(x)\nnp.load(p, allow_pickle=False)\nsafetensors.torch.save(x)") == []
    )

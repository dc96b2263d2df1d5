"""What pyproject.toml asks for, without the project itself: a folder of requirements for each kind of image.

torch stands in a file of its own, because it may come from an index of its own or not be wanted at all.
"""

import tomllib
from pathlib import Path

KINDS = ("service", "service+train")


def wanted(project: dict, kind: str) -> list[str]:
    """The requirements of the project and of the extras that the kind names."""
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(line for extra in kind.split("+") for line in extras[extra])]


def write(folder: Path, lines: list[str]) -> None:
    """Put the requirements where the image's stage finds them."""
    folder.mkdir()
    torch = [line for line in lines if line.startswith("torch==")]
    (folder / "torch.txt").write_text("\n".join(torch), encoding="utf-8")
    (folder / "others.txt").write_text(
        "\n".join(line for line in lines if line not in torch), encoding="utf-8"
    )


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    for kind in KINDS:
        write(Path(kind), wanted(project, kind))

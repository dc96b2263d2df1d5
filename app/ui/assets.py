"""The dashboard's own files: scripts, a style sheet, and a sample to begin with."""

import functools
from typing import Annotated

from fastapi import APIRouter, Path, Response

from app.api import deps, problems, strict
from app.core import errors
from app.ui import rendering

router = APIRouter(
    prefix="/ui/static", route_class=strict.Strict, include_in_schema=False, responses=problems.documented()
)
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".npz": "application/octet-stream",
}


@functools.cache
def _files() -> dict[str, tuple[bytes, str]]:
    """Read once; what a request names is a key, never a path."""
    folder = rendering.FOLDER / "static"
    return {file.name: (file.read_bytes(), TYPES[file.suffix]) for file in folder.iterdir() if file.is_file()}


@router.get("/{file}")
def show(file: Annotated[str, Path(max_length=100)], known: deps.Known = None) -> Response:
    if file not in _files():
        raise errors.NotFound("there is no such file")
    body, kind = _files()[file]
    return deps.unchanging(body, known, media_type=kind)

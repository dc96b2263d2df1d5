"""A version as an archive to carry away: ONNX, safetensors, or the noise model, each with its card and a README."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

import c2s.errors
from app.api import deps, models, problems, strict
from app.core import errors
from app.core import models as records
from app.core.storage import Store
from app.core.tables import Model
from c2s.exporting import archives

router = APIRouter(
    prefix="/models", route_class=strict.Strict, tags=["models"], responses=problems.documented()
)
ZIP = "application/zip"


@router.get(
    "/{model_id}/export",
    summary="A version as files of your own",
    response_class=Response,
    responses={
        200: {
            "description": "A zip of the file, `card.json` and a `README.md` with five lines that use it",
            "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}},
        },
        **models.UNCHANGED,
        **problems.documented(409),
    },
)
def export(
    model_id: models.Said,
    database: deps.Db,
    store: deps.Files,
    form: Annotated[archives.Form, Query(alias="format")] = "onnx",
    known: deps.Known = None,
) -> Response:
    with database.read() as tx:
        model = records.resolve(tx, model_id)
    chosen = _entries(store, model, form)
    tag = f'"{archives.tag(chosen)}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if deps.has(known, tag):
        archives.close(chosen)
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{model.id}-{form}.zip"'  # never the user's words
    return StreamingResponse(archives.chunks(chosen), media_type=ZIP, headers=headers)


def _entries(store: Store, model: Model, form: archives.Form) -> list[archives.Entry]:
    about = f"c2s model {model.id}, version {model.version}"
    try:
        return archives.entries(store.open_model(model.folder), form, about)
    except c2s.errors.NotExported as exc:
        detail = "the model was published before models carried a graph: `c2s export` on its folder adds it"
        raise errors.Conflict(detail, code="model_not_exported") from exc
    except c2s.errors.InvalidModel as exc:
        detail = "the stored model is damaged or incomplete: `c2s doctor --deep` says more"
        raise errors.Unavailable(detail, code="model_damaged", retry_after=300) from exc

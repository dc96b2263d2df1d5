"""The audit log, for admins: who changed what in the project, newest first."""

from typing import Any

from fastapi import APIRouter

from app.api import deps, problems, strict
from app.core import audit

router = APIRouter(
    prefix="/audit", route_class=strict.Strict, tags=["audit"], responses=problems.documented()
)


class AuditOut(deps.Listed):
    """One change; `key_id` is who, `target` is what."""

    at: deps.Time
    project_id: str
    key_id: str
    action: audit.Action
    target: str
    request_id: str | None
    detail: dict[str, Any]


@router.get("", summary="Changes, newest first")
def index(database: deps.Db, cursor: deps.Paging) -> deps.Page[AuditOut]:
    after = cursor.checked("Audit")
    with database.read() as tx:
        found = audit.page(tx, after=after, limit=cursor.limit + 1)
    shown = [AuditOut.model_validate(entry) for entry in found[: cursor.limit]]
    return deps.page(shown, len(found) > cursor.limit)

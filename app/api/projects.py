"""Projects, for admins: tenants that see nothing of each other, and what each may use."""

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, select

from app.api import deps, posts, problems, strict
from app.core import audit, db, projects, quotas, receipts
from app.core.callers import Quotas
from app.core.db import Database
from app.core.ownership import Project
from app.core.settings import Settings

router = APIRouter(
    prefix="/projects", route_class=strict.Strict, tags=["projects"], responses=problems.documented()
)
Name = Annotated[str, Field(min_length=1, max_length=200)]


class ProjectIn(BaseModel):
    """A project; a quota that is not named is the settings', one that is null has no limit."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    quotas: Quotas = Quotas()


class ProjectChange(BaseModel):
    """What is to change."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    quotas: Quotas = Quotas()


class ProjectOut(deps.Listed):
    """A project and its quotas."""

    name: str
    quotas: Quotas
    created_at: deps.Time


class Use(deps.Out):
    """What a project uses, or has used today (UTC)."""

    stored_bytes: int
    jobs_today: int | None  # None: not counted, as there is no limit
    jobs_queued: int
    predictions_today: int  # but those of the last seconds


class ProjectUse(ProjectOut):
    """A project, its quotas and what it uses."""

    usage: Use


def _out(project: Project, settings: Settings) -> dict[str, Any]:
    limits = settings.limits.quotas(project.quotas)
    return {"id": project.id, "name": project.name, "quotas": limits, "created_at": project.created_at}


def _show(database: Database, settings: Settings, project_id: str) -> ProjectUse:
    with database.read() as tx:
        shown = _out(projects.find(tx, project_id), settings)
        counted = any((shown["quotas"].jobs_per_day is not None, shown["quotas"].jobs_queued is not None))
        usage = Use(
            stored_bytes=quotas.stored(tx, project_id),
            jobs_today=quotas.used(tx, project_id, "jobs") if counted else None,
            jobs_queued=quotas.queued(tx, project_id),
            predictions_today=quotas.used(tx, project_id, "predictions"),
        )
    return ProjectUse.model_validate(shown | {"usage": usage})


@router.post(
    "",
    status_code=201,
    summary="Make a project",
    responses={201: {"description": "The project"}, **problems.documented(400)},
)
def create(
    body: ProjectIn,
    response: Response,
    *,
    settings: deps.Config,
    database: deps.Db,
    who: deps.Who,
    key: deps.Key = None,
) -> ProjectOut:
    named = body.quotas.model_dump(exclude_unset=True)

    def make(tx: Connection) -> posts.Made:
        with db.mapped(tx, who) as session:
            project = projects.create(session, body.name, named)
        audit.note(tx, who, "project.create", project.id)
        return posts.Made(project.id, 201)

    request = receipts.digest("POST /projects", body.model_dump_json(exclude_unset=True))
    made = posts.once(database, key, request, make)
    response.headers["Location"] = f"/projects/{made.resource}"
    with database.read() as tx:
        return ProjectOut.model_validate(_out(projects.find(tx, made.resource), settings))


@router.get("", summary="Projects, newest first")
def index(settings: deps.Config, database: deps.Db, cursor: deps.Paging) -> deps.Page[ProjectOut]:
    with database.read() as tx:
        rows, more = cursor.rows(tx, select(Project), Project)
    return deps.page([ProjectOut.model_validate(_out(row, settings)) for row in rows], more)


@router.get("/{project_id}", summary="A project and what it uses")
def show(project_id: deps.ProjectId, settings: deps.Config, database: deps.All) -> ProjectUse:
    return _show(database, settings, project_id)


@router.patch(
    "/{project_id}", summary="Rename a project, or change its quotas", responses=problems.documented(400)
)
def change(
    project_id: deps.ProjectId,
    body: ProjectChange,
    *,
    request: Request,
    settings: deps.Config,
    database: deps.Db,
    who: deps.Who,
) -> ProjectOut:
    named = body.quotas.model_dump(exclude_unset=True)
    with database.begin() as tx:
        project = projects.change(tx, project_id, name=body.name, quotas=named)
        audit.note(tx, who, "project.change", project_id, quotas=named, renamed=body.name is not None)
    request.app.state.keyring.forget()
    return ProjectOut.model_validate(_out(project, settings))

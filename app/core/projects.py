"""Projects: tenants that see nothing of each other."""

from typing import Any

from sqlalchemy.orm import Session

from app.core import errors, ids
from app.core.ownership import Project


def create(tx: Session, name: str, quotas: dict[str, Any]) -> Project:
    """A project with these quotas; the settings decide about the others."""
    project = Project(id=ids.new("prj"), name=name, quotas=quotas)
    tx.add(project)
    tx.flush()
    return project


def find(tx: Session, project_id: str) -> Project:
    """The project of this id."""
    project = tx.get(Project, project_id)
    if project is None:
        raise errors.NotFound(f"there is no project {project_id}")
    return project


def change(tx: Session, project_id: str, *, name: str | None, quotas: dict[str, Any]) -> Project:
    """Rename a project, or change the quotas that are named."""
    project = find(tx, project_id)
    project.name = name or project.name
    project.quotas = project.quotas | quotas
    tx.flush()
    return project

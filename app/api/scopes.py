"""What a key must be allowed to do for each request: one table, to be read whole. What it lacks is for admins."""

from typing import Literal

from fastapi import Request

from app.core import errors
from app.core.callers import Caller, Scope

Need = Scope | Literal["anybody", "any key"] | tuple[Scope, ...]
BY_TASK: tuple[Scope, ...] = ("write", "predict")  # either lets in; the handler knows the job

NEEDS: dict[tuple[str, str], Need] = {
    ("GET", "/livez"): "anybody",
    ("GET", "/readyz"): "anybody",
    ("GET", "/version"): "anybody",
    ("GET", "/"): "any key",
    ("GET", "/reference"): "any key",
    ("GET", "/problems/{code}"): "any key",
    ("GET", "/methods"): "any key",
    ("GET", "/nets"): "any key",
    ("GET", "/session"): "any key",
    ("POST", "/session"): "any key",
    ("DELETE", "/session"): "any key",
    ("GET", "/datasets"): "read",
    ("GET", "/datasets/{dataset_id}"): "read",
    ("GET", "/datasets/{dataset_id}/report"): "read",
    ("POST", "/datasets"): "write",
    ("DELETE", "/datasets/{dataset_id}"): "write",
    ("GET", "/jobs"): "read",
    ("GET", "/jobs/{job_id}"): "read",
    ("GET", "/jobs/{job_id}/events"): "read",
    ("GET", "/jobs/{job_id}/transition"): "read",
    ("GET", "/jobs/{job_id}/issues"): "read",
    ("GET", "/jobs/{job_id}/decisions"): "read",
    ("POST", "/jobs/{job_id}/decisions"): "write",
    ("GET", "/jobs/{job_id}/corrected"): "read",
    ("POST", "/jobs/{job_id}/corrected-dataset"): "write",
    ("GET", "/jobs/{job_id}/report"): "read",
    ("GET", "/jobs/{job_id}/gold"): "read",
    ("POST", "/jobs/{job_id}/gold"): "read",  # computes, keeps nothing
    ("GET", "/transitions/diff"): "read",
    ("GET", "/jobs/{job_id}/metrics"): "read",
    ("GET", "/jobs/{job_id}/checkpoints"): "read",
    ("GET", "/jobs/{job_id}/manifest"): "read",
    ("POST", "/jobs"): "write",
    ("POST", "/jobs/{job_id}/cancel"): BY_TASK,
    ("POST", "/jobs/{job_id}/retry"): BY_TASK,
    ("GET", "/models"): "read",
    ("GET", "/models/{model_id}"): "read",
    ("DELETE", "/models/{model_id}"): "write",
    ("GET", "/models/{model_id}/lineage"): "read",
    ("GET", "/models/{model_id}/export"): "read",
    ("GET", "/models/{name}/aliases/{alias}"): "read",
    ("PUT", "/models/{name}/aliases/{alias}"): "write",
    ("DELETE", "/models/{name}/aliases/{alias}"): "write",
    ("POST", "/models/{name}/aliases/{alias}/rollback"): "write",
    ("POST", "/predict"): "predict",
    ("POST", "/predictions"): "predict",
    ("GET", "/predictions/{job_id}"): "read",
    ("GET", "/predictions/{job_id}/results"): "read",
    ("DELETE", "/predictions/{job_id}"): "predict",
    ("GET", "/v2"): "any key",
    ("GET", "/v2/health/live"): "anybody",
    ("GET", "/v2/health/ready"): "anybody",
    ("GET", "/v2/models/{name}"): "predict",
    ("GET", "/v2/models/{name}/ready"): "predict",
    ("POST", "/v2/models/{name}/infer"): "predict",
    ("GET", "/v2/models/{name}/versions/{version}"): "predict",
    ("GET", "/v2/models/{name}/versions/{version}/ready"): "predict",
    ("POST", "/v2/models/{name}/versions/{version}/infer"): "predict",
    ("GET", "/keys"): "admin",
    ("POST", "/keys"): "admin",
    ("GET", "/keys/{key_id}"): "admin",
    ("DELETE", "/keys/{key_id}"): "admin",
    ("GET", "/projects"): "admin",
    ("POST", "/projects"): "admin",
    ("GET", "/projects/{project_id}"): "admin",
    ("PATCH", "/projects/{project_id}"): "admin",
    ("GET", "/audit"): "admin",
    ("GET", "/workers"): "admin",  # of all projects
    ("GET", "/metrics"): "admin",  # of all projects together
    ("GET", "/ui/static/{file}"): "anybody",
    ("GET", "/ui/datasets"): "read",
    ("GET", "/ui/datasets/{dataset_id}"): "read",
    ("GET", "/ui/new"): "read",
    ("GET", "/ui/jobs"): "read",
    ("GET", "/ui/jobs/{job_id}"): "read",
    ("GET", "/ui/jobs/{job_id}/review"): "read",
    ("GET", "/ui/compare"): "read",
    ("GET", "/ui/models"): "read",
    ("GET", "/ui/models/{name}"): "read",
    ("GET", "/ui/admin"): "admin",
}
OPEN_BELOW = "/ui/static/"  # what the page to log in on is made of
OPEN = frozenset(path for (_, path), need in NEEDS.items() if need == "anybody")


def needed(verb: str, path: str) -> Need:
    """What a route needs."""
    return NEEDS.get((verb, path), "admin")


def check(request: Request, path: str) -> None:
    """Refuse a key that may not do this, before anything of the request is read."""
    need = needed(request.method, path)
    if need == "anybody" or need == "any key":
        return
    _check(request.scope["state"]["caller"], need if isinstance(need, tuple) else (need,))


def check_job(caller: Caller | None, task: str, *more: Scope) -> None:
    """Refuse a key that may not make a job of this kind, unless it has another scope that will do."""
    if caller is not None:
        _check(caller, ("predict" if task == "predict" else "write", *more))


def _check(caller: Caller, any_of: tuple[Scope, ...]) -> None:
    if not any(caller.may(scope) for scope in any_of):
        raise errors.Forbidden(f"the key lacks the scope {' or '.join(dict.fromkeys(any_of))}")

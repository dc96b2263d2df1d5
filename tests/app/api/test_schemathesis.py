"""Requests that nobody wrote: drawn from the contract, right and wrong ones; none may break what it promises."""

import itertools
import re

import hypothesis
import pytest
import schemathesis
from schemathesis import checks

from app import main
from app.core import callers, ids
from app.core.settings import Settings

PROMISES = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
COSTLY = {"/datasets", "/predict", "/predictions"}  # a process for each upload
PREFIXES = {"dataset_id": "ds", "job_id": "job", "model_id": "mdl", "project_id": "prj"}
NAMED = ("model_id", "model", "name", "alias")  # where any words will do
turn = itertools.count()


@pytest.fixture(scope="module")
def known(shared, csv_file, sources, trained):
    """Ids that exist, and of which no request can take away the last."""
    dataset = shared.upload(sources("vectors"))["id"]
    job = shared.job(dataset)["id"]
    model = shared.publish(shared.claim(), *trained("vectors"))
    shared.job(dataset)
    project = callers.DEFAULT_PROJECT
    named = {"model_id": model, "model": model, "name": model, "alias": "champion"}
    pinned = shared.http.put(
        f"/models/{model}/aliases/default", json={"version": 1}, headers={"If-None-Match": "*"}
    )
    assert pinned.status_code == 201  # so that it cannot be deleted
    return {"dataset_id": dataset, "job_id": job, "project_id": project, **named}


schema = schemathesis.openapi.from_dict(main.create_app(Settings(token="t" * 32)).openapi())
bounded = hypothesis.settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


def meet(values, known):
    """Put every second id that could exist in the place of one that does."""
    for name in known:
        given = values.get(name)
        possible = name in NAMED or (isinstance(given, str) and re.match(ids.pattern(PREFIXES[name]), given))
        if isinstance(given, str) and possible and next(turn) % 2:
            values[name] = known[name]


def ask(case, shared, known):
    for values in (case.path_parameters, case.query, case.body):
        if isinstance(values, dict):
            meet(values, known)
    headers = {**(case.headers or {}), "Authorization": shared.http.headers["Authorization"]}
    case.call_and_validate(base_url=shared.address, headers=headers, checks=PROMISES, timeout=60)


@schema.exclude(path=sorted(COSTLY), method="POST").parametrize()
@bounded
def test_the_service_keeps_its_contract(case, shared, known):
    ask(case, shared, known)


@pytest.mark.filterwarnings("ignore:Skipped test cases")  # bodies of which it cannot draw any
@schema.include(path=sorted(COSTLY), method="POST").parametrize()
@hypothesis.settings(bounded, max_examples=5)
def test_the_service_keeps_its_contract_where_it_works_hard(case, shared, known):
    ask(case, shared, known)

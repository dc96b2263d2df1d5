"""Every operation of the contract with no key, a wrong one, an expired one, each scope, and another tenant's."""

import importlib
import pkgutil
import time

import pytest
from sqlalchemy import update

from app import api, main
from app.api import scopes
from app.core.callers import SCOPES
from app.core.ownership import Key
from app.core.settings import Settings
from app.ui import dashboard

NAMES = {"dataset": "ds", "job": "job", "model": "mdl", "key": "key", "project": "prj"}
NONE = {f"{name}_id": f"{prefix}_{'1' * 26}" for name, prefix in NAMES.items()}  # ids of nothing
NONE |= {
    "name": "mdl_" + "1" * 26,
    "version": "mdl_" + "1" * 26,
    "code": "not_found",
    "alias": "default",
    "file": "none",
}
SCHEMA = main.create_app(Settings(token="t" * 32)).openapi()
OPERATIONS = [(verb.upper(), path) for path, verbs in SCHEMA["paths"].items() for verb in verbs]


@pytest.fixture(scope="module")
def clients(shared):
    """Clients by what they hold."""
    expired = shared.key(*SCOPES)
    with shared.database.begin() as tx:
        tx.execute(update(Key).where(Key.id == expired["id"]).values(expires_at=time.time() - 1))
    held = {scope: shared.key(scope)["secret"] for scope in SCOPES}
    held |= {"none": None, "wrong": "c2s_" + "0" * 12 + "_" + "A" * 43, "expired": expired["secret"]}
    found = {name: shared.client(secret) for name, secret in held.items()}
    yield found
    [client.close() for client in found.values()]


def test_the_table_names_every_route_and_nothing_else():
    modules = [
        importlib.import_module(f"app.api.{found.name}") for found in pkgutil.iter_modules(api.__path__)
    ]
    modules += dashboard.PAGES
    routers = [module.router for module in modules if hasattr(module, "router")]
    routes = {(verb, route.path) for router in routers for route in router.routes for verb in route.methods}
    assert routes == set(scopes.NEEDS)
    assert set(OPERATIONS) <= routes


def test_what_the_table_lacks_is_for_admins():
    assert scopes.needed("POST", "/new") == "admin"
    assert scopes.needed("HEAD", "/livez") == "admin"


@pytest.mark.parametrize(("verb", "path"), scopes.NEEDS)
def test_an_operation_is_open_to_its_scope_and_to_no_other(clients, verb, path):
    need, address = scopes.needed(verb, path), path.format(**NONE)
    for holding in ("none", "wrong", "expired"):
        answer = clients[holding].request(verb, address)
        assert (answer.status_code == 401) == (need != "anybody")
        if need != "anybody":
            assert path.startswith("/v2") or answer.json()["code"] == "unauthorized"
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    for scope in SCOPES:
        answer = clients[scope].request(verb, address)
        several = need if isinstance(need, tuple) else (need,)
        if {"anybody", "any key", scope} & {*several} or scope == "admin":
            assert answer.status_code not in (401, 403), answer.text
        else:
            assert answer.status_code == 403
            told = answer.json()  # /v2 has errors of its own
            assert path.startswith("/v2") or told["code"] == "insufficient_scope"
            assert " or ".join(several) in told.get("detail", told.get("error"))


def test_the_contract_tells_the_scope_of_an_operation():
    for verb, path in OPERATIONS:
        ways = SCHEMA["paths"][path][verb.lower()]["security"]
        need = scopes.needed(verb, path)
        several = need if isinstance(need, tuple) else () if need in ("anybody", "any key") else (need,)
        wanted = [[], []] if need == "any key" else [[one] for one in several for _ in ways[:2]]
        assert [next(iter(way.values())) for way in ways] == wanted
        if need != "anybody":
            assert {"401", "403", "429"} <= SCHEMA["paths"][path][verb.lower()]["responses"].keys()


def test_predictions_are_retried_and_cancelled_with_the_scope_that_makes_them(shared, published, clients):
    model, train = published("vectors")
    dataset = shared.http.get(f"/jobs/{train}").json()["dataset_id"]
    body = {"model": model, "dataset_id": dataset}

    def made():
        return clients["predict"].post("/predictions", json=body).json()["id"]

    job, other = made(), made()
    assert clients["predict"].post(f"/jobs/{job}/cancel").status_code == 200
    assert clients["write"].post(f"/jobs/{other}/cancel").status_code == 200
    refused = clients["write"].post(f"/jobs/{job}/retry")  # it would spend predictions
    assert (refused.status_code, refused.json()["code"]) == (403, "insufficient_scope")
    assert clients["predict"].post(f"/jobs/{job}/retry").status_code == 202
    for verb in ("cancel", "retry"):
        refused = clients["predict"].post(f"/jobs/{train}/{verb}")
        assert (refused.status_code, refused.json()["detail"]) == (403, "the key lacks the scope write")


def test_a_key_may_hold_several_scopes(shared, clients):
    with shared.client(shared.key("read", "predict")["secret"]) as http:
        assert http.get("/jobs").status_code == 200
        assert http.post("/predict", json={}).status_code == 422
        assert http.post("/jobs", json={}).status_code == 403

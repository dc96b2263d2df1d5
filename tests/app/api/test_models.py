"""Names, versions and aliases over HTTP: promoted, pinned, rolled back, deleted, and never a request dropped."""

import pytest
from sqlalchemy import update

from app import doctor
from app.core import ids
from app.core.tables import Model

ROW = [[0, 0, 0, 0]]


def ask(shared, model, **more):
    return shared.http.post("/predict", json={"model": model, "inputs": ROW, **more})


def test_versions_of_a_name_are_counted_and_a_number_is_never_given_twice(shared, versions):
    first, second = versions("counted", 2)
    said = shared.http.get("/models/counted").json()
    assert [(row["id"], row["version"]) for row in said["versions"]] == [(second, 2), (first, 1)]
    assert said["aliases"] == []
    assert not said["has_more"]
    assert shared.http.delete(f"/models/{second}").status_code == 204
    (third,) = versions("counted")
    assert shared.http.get(f"/models/{third}").json()["version"] == 3
    assert shared.http.get("/models/counted@2").status_code == 404
    assert shared.http.get("/models/counted@1").json()["id"] == first
    assert shared.http.get("/models?name=counted").json()["data"][0]["version"] == 3
    (other,) = versions("counted too")
    assert shared.http.get(f"/models/{other}").json()["version"] == 1


def test_a_pin_to_a_version_that_is_gone_never_means_a_model_of_that_name(shared, versions):
    first, second = versions("pinned", 2)
    (namesake,) = versions("like a pin")
    with shared.database.begin() as tx:  # of before such names were refused
        tx.execute(update(Model).where(Model.id == namesake).values(name="pinned@2"))
    assert shared.http.get("/models/pinned@2").json()["id"] == second
    assert shared.http.delete(f"/models/{second}").status_code == 204
    assert shared.http.get("/models/pinned@2").status_code == 404
    assert ask(shared, "pinned@2").status_code == 404
    assert shared.http.get(f"/models/{namesake}").json()["name"] == "pinned@2"
    assert ask(shared, first).status_code == 200


def test_one_address_tells_an_id_from_a_name(shared, versions, alias, created):
    (model,) = versions("told apart")
    created(alias("told apart", "champion", 1, If_None_Match="*"))
    for said in (model, "told apart@1", "told apart@champion"):
        answer = shared.http.get(f"/models/{said}")
        assert (answer.json()["id"], answer.json()["aliases"]) == (model, ["champion"]), said
        again = shared.http.get(f"/models/{said}", headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304
    assert shared.http.get("/models/told apart").json()["aliases"][0]["version"] == 1
    for said in (
        "nobody",
        "told apart@2",
        "told apart@nobody",
        "told apart@0",
        "mdl_x",
        "a%01b",
        "a@b@c",
        "n" * 300,
    ):
        assert shared.http.get(f"/models/{said}").status_code == 404, said


def test_an_alias_moves_only_from_where_it_was_seen(versions, alias, created):
    versions("moved", 3)
    without = alias("moved", "champion", 1)
    assert (without.status_code, without.json()["code"]) == (428, "precondition_required")
    first = created(alias("moved", "champion", 1, If_None_Match="*"))
    again = alias("moved", "champion", 2, If_None_Match="*")
    assert (again.status_code, again.json()["code"]) == (412, "precondition_failed")
    moved = alias("moved", "champion", 2, If_Match=first)
    assert (moved.status_code, moved.json()["version"]) == (200, 2)
    assert moved.headers["ETag"] == moved.json()["etag"] != first
    for stale in (first, '"nonsense"', f"W/{moved.headers['ETag']}", ""):
        late = alias("moved", "champion", 3, If_Match=stale)
        assert (late.status_code, late.json()["code"]) == (412, "precondition_failed"), stale
    both = alias("moved", "champion", 3, If_Match=moved.headers["ETag"], If_None_Match="*")
    assert both.status_code == 412
    same = alias("moved", "champion", 2, If_Match=moved.headers["ETag"])
    assert (same.status_code, same.headers["ETag"]) == (200, moved.headers["ETag"])  # nothing to do
    assert alias("moved", "champion", 3, If_Match=f'"x", {same.headers["ETag"]}').status_code == 200
    assert alias("moved", "champion", 1, If_Match="*").json()["version"] == 1
    assert alias("moved", "nobody", 1, If_Match="*").status_code == 404


def test_an_alias_points_at_versions_of_its_own_name_alone(versions, alias, created):
    (own,), (foreign,) = versions("own name"), versions("other name")
    for wrong, where in ((foreign, "/model_id"), (ids.new("mdl"), "/model_id"), (2, "/version")):
        answer = alias("own name", "default", wrong, If_None_Match="*")
        assert (answer.status_code, answer.json()["code"]) == (422, "unknown_version")
        assert answer.json()["errors"][0]["pointer"] == where
    created(alias("own name", "default", own, If_None_Match="*"))


@pytest.mark.parametrize("slug", ["Champion", "1", "3a", "a" * 65, "a.b", "-a", "a b", "ä", "a%0A"])
def test_an_alias_is_a_slug(versions, alias, slug):
    versions("sluggish")
    answer = alias("sluggish", slug, 1, If_None_Match="*")
    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert fault["parameter"] == "alias"
    assert fault["detail"].startswith("an alias is 1 to 64 of a to z")


def test_an_if_match_that_is_no_tag_is_malformed(versions, alias, created):
    versions("malformed")
    first = created(alias("malformed", "default", 1, If_None_Match="*"))
    for wrong in (first.strip('"'), f"{first}, 1", "W/1", '"'):
        for verb, path in (("PUT", ""), ("POST", "/rollback"), ("DELETE", "")):
            answer = alias("malformed", "default", 1, verb=verb, path=path, If_Match=wrong)
            assert (answer.status_code, answer.json()["code"]) == (400, "bad_request"), (verb, wrong)
            assert "double quotes" in answer.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"version": 1, "model_id": "mdl_" + "0" * 26},
        {"version": 0},
        {"version": "1"},
        {"model_id": "x"},
        {"more": 1},
        [],
    ],
)
def test_a_malformed_target_is_422(shared, versions, body):
    versions("malformed")
    answer = shared.http.put("/models/malformed/aliases/default", json=body, headers={"If-None-Match": "*"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


def test_a_rollback_goes_back_step_by_step_and_the_history_tells(shared, versions, alias, created):
    versions("rolled", 3)
    created(alias("rolled", "default", 1, If_None_Match="*"))
    for version in (2, 3):
        assert alias("rolled", "default", version, If_Match="*").status_code == 200
    back = alias("rolled", "default", verb="POST", path="/rollback")
    assert (back.status_code, back.json()["version"]) == (200, 2), back.text
    stale = alias("rolled", "default", verb="POST", path="/rollback", If_Match='"3"')
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
    further = alias("rolled", "default", verb="POST", path="/rollback", If_Match=back.headers["ETag"])
    assert further.json()["version"] == 1
    none = alias("rolled", "default", verb="POST", path="/rollback")
    assert (none.status_code, none.json()["code"]) == (409, "no_earlier_version")
    assert alias("rolled", "default", 3, If_Match="*").status_code == 200
    assert alias("rolled", "default", verb="POST", path="/rollback").json()["version"] == 1
    said = shared.http.get("/models/rolled/aliases/default")
    assert [(move["action"], move["version"]) for move in reversed(said.json()["history"])] == [
        ("set", 1),
        ("set", 2),
        ("set", 3),
        ("rollback", 2),
        ("rollback", 1),
        ("set", 3),
        ("rollback", 1),
    ]
    assert said.headers["ETag"] == '"7"'
    assert said.json()["moved_at"] == said.json()["history"][0]["at"]
    known = {"If-None-Match": said.headers["ETag"]}
    assert shared.http.get("/models/rolled/aliases/default", headers=known).status_code == 304


def test_a_rollback_that_is_sent_twice_with_one_key_is_done_once(versions, alias, created):
    versions("once", 3)
    created(alias("once", "default", 1, If_None_Match="*"))
    for version in (2, 3):
        alias("once", "default", version, If_Match="*")
    both = [alias("once", "default", verb="POST", path="/rollback", Idempotency_Key="undo") for _ in range(2)]
    assert [answer.json()["version"] for answer in both] == [2, 2]
    assert both[0].headers["ETag"] == both[1].headers["ETag"]
    other = alias("once", "other", verb="POST", path="/rollback", Idempotency_Key="undo")
    assert other.json()["code"] == "idempotency_key_reused"


def test_a_rollback_passes_over_versions_that_are_gone(shared, versions, alias, created):
    first, second, _ = versions("gaps", 3)
    created(alias("gaps", "default", 1, If_None_Match="*"))
    for version in (2, 3):
        alias("gaps", "default", version, If_Match="*")
    assert shared.http.delete(f"/models/{second}").status_code == 204
    assert alias("gaps", "default", verb="POST", path="/rollback").json()["model_id"] == first


def test_a_deleted_alias_keeps_its_history_and_never_has_an_old_etag_again(shared, versions, alias, created):
    versions("remade", 2)
    first = created(alias("remade", "default", 1, If_None_Match="*"))
    assert alias("remade", "default", verb="DELETE", If_Match='"9"').status_code == 412
    assert alias("remade", "default", verb="DELETE", If_Match=first).status_code == 204
    assert alias("remade", "default", verb="DELETE").status_code == 404
    assert alias("remade", "default", verb="GET").status_code == 404
    second = created(alias("remade", "default", 2, If_None_Match="*"))
    assert second not in (first, '"2"')
    assert alias("remade", "default", 1, If_Match=first).status_code == 412
    past = alias("remade", "default", verb="GET").json()["history"]
    assert [move["action"] for move in past] == ["set", "delete", "set"]
    assert alias("remade", "default", verb="POST", path="/rollback").json()["code"] == "no_earlier_version"


def test_a_version_that_an_alias_points_at_is_not_deleted_and_another_leaves_no_byte(
    shared, versions, alias, created
):
    first, second = versions("kept", 2)
    created(alias("kept", "champion", 1, If_None_Match="*"))
    used = shared.http.delete(f"/models/{first}")
    assert (used.status_code, used.json()["code"]) == (409, "model_in_use")
    assert ask(shared, first).status_code == 200
    job = shared.http.get(f"/models/{second}").json()["job_id"]
    assert list(shared.store.root.glob(f"jobs/{job}/*/run/model/*"))
    assert ask(shared, second).status_code == 200
    assert shared.http.delete(f"/models/{second}").status_code == 204
    assert not (shared.store.root / "jobs" / job).exists()
    for gone in (
        shared.http.get(f"/models/{second}"),
        shared.http.delete(f"/models/{second}"),
        ask(shared, second),
    ):
        assert gone.status_code == 404
    assert ask(shared, "kept@2").status_code == 404
    assert shared.http.get(f"/jobs/{job}").json()["model_id"] is None
    assert shared.http.get(f"/jobs/{job}/transition").json()["code"] == "not_estimated"
    assert [one for one in doctor.losses(shared.database, shared.store) if job in one.key] == []
    assert shared.http.delete("/models/kept").status_code == 404  # a name is not deleted


def test_bytes_that_a_crash_left_behind_a_deleted_version_are_litter(shared, versions, monkeypatch):
    (model,) = versions("crashed")
    job = shared.http.get(f"/models/{model}").json()["job_id"]
    monkeypatch.setattr(
        shared.app.state.store, "remove_job", lambda job_id: None
    )  # the process died just before
    assert shared.http.delete(f"/models/{model}").status_code == 204
    found = [one.key for one in doctor.litter(shared.database, shared.store, young=0) if job in one.key]
    assert found == [f"jobs/{job}/1"]
    assert [one for one in doctor.losses(shared.database, shared.store) if job in one.key] == []


def test_the_lineage_leads_from_the_dataset_to_the_model(shared, versions, alias):
    (model,) = versions("traced")
    found = shared.http.get("/models/traced/lineage").json()
    assert found == shared.http.get(f"/models/{model}/lineage").json()
    row = shared.http.get(f"/models/{model}").json()
    assert found["model"] == row
    assert found["job"]["id"] == found["transition"]["job_id"] == row["job_id"]
    assert found["job"]["method"] == "f-class2simi"
    dataset = shared.http.get(f"/datasets/{found['dataset']['id']}").json()
    assert found["dataset"] == {
        **{name: dataset[name] for name in ("id", "name", "rows", "sha256", "source_sha256", "parent_id")},
        "deleted": False,
    }
    assert shared.http.delete(f"/datasets/{dataset['id']}").status_code == 204
    later = shared.http.get(f"/models/{model}/lineage").json()["dataset"]
    assert (later["id"], later["sha256"], later["deleted"]) == (dataset["id"], dataset["sha256"], True)


def test_every_change_is_audited(shared, versions, alias, created):
    first, second = versions("audited", 2)
    created(alias("audited", "default", 1, If_None_Match="*"))
    alias("audited", "default", 2, If_Match="*")
    alias("audited", "default", 2, If_Match="*")  # changes nothing
    alias("audited", "default", verb="POST", path="/rollback")
    alias("audited", "default", verb="DELETE")
    shared.http.delete(f"/models/{second}")
    found = [
        row
        for row in shared.http.get("/audit?limit=100").json()["data"]
        if row["detail"].get("name") == "audited"
    ]
    assert [(row["action"], row["target"]) for row in reversed(found)] == [
        ("alias.set", first),
        ("alias.set", second),
        ("alias.rollback", first),
        ("alias.delete", first),
        ("model.delete", second),
    ]


def test_names_aliases_and_numbers_of_tenants_have_nothing_to_do_with_each_other(shared, versions):
    keys = [shared.key(project_id=shared.project(name))["secret"] for name in ("one", "two")]
    with shared.client(keys[0]) as one, shared.client(keys[1]) as two:
        (mine,), theirs = versions("shared name", http=one), versions("shared name", 2, http=two)
        assert one.get(f"/models/{mine}").json()["version"] == 1
        new = {"If-None-Match": "*"}
        assert (
            one.put("/models/shared name/aliases/default", json={"version": 1}, headers=new).status_code
            == 201
        )
        assert two.get("/models/shared name/aliases/default").status_code == 404
        assert (
            two.put("/models/shared name/aliases/default", json={"version": 2}, headers=new).status_code
            == 201
        )
        wrong = one.put("/models/shared name/aliases/b", json={"model_id": theirs[0]}, headers=new)
        assert wrong.json()["code"] == "unknown_version"
        for said, http, model in (("shared name", one, mine), ("shared name@default", two, theirs[1])):
            assert http.post("/predict", json={"model": said, "inputs": ROW}).json()["model"] == model
        assert one.post("/predict", json={"model": "shared name@2", "inputs": ROW}).status_code == 404
        for verb, path in (("GET", ""), ("DELETE", ""), ("POST", "/rollback")):
            answer = one.request(verb, f"/models/{theirs[0]}/aliases/default{path}")
            assert answer.status_code == 404, (verb, path)
        assert one.delete(f"/models/{theirs[0]}").status_code == 404
        for part in ("lineage", "export"):
            assert one.get(f"/models/{theirs[0]}/{part}").status_code == 404
        assert len(two.get("/models/shared name").json()["versions"]) == 2


def test_a_name_with_a_slash_is_reached_by_the_id_of_a_version(shared, versions, alias, created):
    (model,) = versions("team/model")
    created(alias(model, "default", 1, If_None_Match="*"))
    assert alias(model, "default", verb="GET").json()["name"] == "team/model"
    for said in ("team/model", "team/model@default", "team/model@1"):
        assert ask(shared, said).json()["model"] == model, said

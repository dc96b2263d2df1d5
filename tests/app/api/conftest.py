"""Names with several versions, for the tests of models and what is done with them."""

import pytest


@pytest.fixture
def versions(shared, sources, trained):
    """Publish so many models of a name, of a kind that trains in a moment; their ids, oldest first."""

    def publish(name, count=1, kind="vectors", http=None):
        client = http or shared.http
        made = []
        dataset = client.post("/datasets", content=sources(kind), params={"name": "rows"}).json()["id"]
        for _ in range(count):
            job = client.post("/jobs", json={"dataset_id": dataset, "name": name}).json()["id"]
            held = shared.claim()
            assert held.job_id == job
            made.append(shared.publish(held, *trained(kind)))
        return made

    return publish


@pytest.fixture
def alias(shared):
    def send(name, which, version=None, verb="PUT", path="", **headers):
        """Ask for something of an alias; `If_Match` and the like are headers."""
        body = {"json": {"version": version} if isinstance(version, int) else {"model_id": version}}
        given = {key.replace("_", "-"): value for key, value in headers.items()}
        address = f"/models/{name}/aliases/{which}{path}"
        return shared.http.request(verb, address, headers=given, **(body if verb == "PUT" else {}))

    return send


@pytest.fixture
def created():
    """The ETag of an alias that was just made."""

    def check(answer):
        assert answer.status_code == 201, answer.text
        return answer.headers["ETag"]

    return check

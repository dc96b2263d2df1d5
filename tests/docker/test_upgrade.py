"""From the images of the commit before to those of this one, with jobs running and waiting."""

import os
import shutil

import engine
import pytest

pytestmark = [
    pytest.mark.skipif(engine.missing() is not None, reason=f"no container engine: {engine.missing()}"),
    pytest.mark.timeout(3600),
]


@pytest.fixture
def folders(tmp_path):
    """The project as it was and as it is; before the first images it is the same project under another label."""
    wanted = os.environ.get("C2S_TEST_PREVIOUS", "HEAD~1")
    (tmp_path / "new").mkdir()
    new = engine.copy(tmp_path / "new")
    old = engine.revision(tmp_path / "old", wanted)
    if old is None:
        (tmp_path / "same").mkdir()
        old = engine.copy(tmp_path / "same")
    return old, new


def test_an_upgrade_loses_no_job(folders):
    old, new = folders
    before = engine.Stack(old, f"c2s-upgrade-{os.getpid()}", "previous-test")
    after = engine.Stack(new, before.name, "next-test")
    after.port = before.port
    after.env |= {"C2S_PORT": str(before.port)}
    before.script("make-env")
    shutil.copy(old / "docker" / ".env", new / "docker" / ".env")
    before.compose("build")
    after.compose("build")
    try:
        before.up()
        with before.client() as client:
            data = engine.dataset(client)
            jobs = [engine.submit(client, data) for _ in range(4)]
            engine.running(client, jobs[0])
            waiting = [engine.job(client, job_id)["state"] for job_id in jobs]
            assert "running" in waiting or "queued" in waiting, (
                f"nothing was left to upgrade under: {waiting}"
            )
            after.up()
            ended = [engine.ended(client, job_id) for job_id in jobs]
            assert [one["state"] for one in ended] == ["succeeded"] * 4
            models = [model["job_id"] for model in client.get("/models").json()["data"]]
            assert sorted(models) == sorted(jobs)  # one each; their bits may differ, as the code may
        for name in ("api", "worker"):
            assert after.inspect(name)["Config"]["Image"].endswith(":next-test")
    finally:
        before.down()
        before.remove_images()
        after.remove_images()

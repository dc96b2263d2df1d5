"""A worker's figures: counted in its processes, shown by its parent, with the token."""

import time

import httpx
import pytest
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update
from workers import rows, until, wanted

from app.core import access, metrics
from app.core.tables import Job
from worker import runner


def figures(text):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def watched(make_home):
    home = make_home(metrics_port=free_port())
    home.start()
    return home


def scrape(home, token=None):
    token = access.token(home.settings) if token is None else token
    url = f"http://127.0.0.1:{home.settings.metrics_port}/metrics"
    return httpx.get(url, headers={"Authorization": f"Bearer {token}"})


def test_a_worker_tells_its_epochs_its_memory_and_how_jobs_ended(watched):
    small = watched.dataset(rows())
    job_id = watched.job(small, wanted(8))
    doomed = watched.job(small, wanted(1, net={"name": "lenet"}))  # vectors are no pictures
    during = set()

    def over():
        if answers(watched):
            during.update(key for key, value in figures(scrape(watched).text).items() if value > 0)
        return watched.look(job_id).state == "succeeded" and watched.look(doomed).state == "failed"

    until(over, explain=watched.said)
    code = watched.look(doomed).error["code"]
    done = ("c2s_jobs_finished_total", ("code", ""), ("state", "succeeded"))
    until(lambda: figures(scrape(watched).text).get(("c2s_training_seconds_count",)) == 2, 10)
    found = figures(scrape(watched).text)
    assert found[done] == 1
    assert found["c2s_jobs_finished_total", ("code", code), ("state", "failed")] == 1
    for phase in ("stage1", "stage2"):
        assert found["c2s_epoch_seconds_count", ("phase", phase)] == 8
        assert found["c2s_epoch_seconds_sum", ("phase", phase)] > 0.2  # these trainings are slow
    assert ("c2s_device_memory_bytes", ("device", "cpu")) in during
    assert found["c2s_device_memory_bytes", ("device", "cpu")] == 0
    assert found["c2s_lease_losses_total",] == 0
    assert watched.events(job_id, "epoch")[0].keys() == {"phase", "step", "epoch", "epochs", "metrics"}


def test_figures_of_a_worker_need_the_token(watched):
    until(lambda: answers(watched), explain=watched.said)
    assert scrape(watched, token="x" * 32).status_code == 401
    address = f"http://127.0.0.1:{watched.settings.metrics_port}"
    assert httpx.get(f"{address}/metrics").status_code == 401
    assert httpx.get(f"{address}/other").status_code == 404


def answers(home):
    try:
        return scrape(home).status_code == 200
    except httpx.TransportError:
        return False


def test_a_lost_claim_and_a_takeover_are_counted(home):
    before = figures(metrics.exposition().decode())
    home.job(home.dataset(rows()), wanted(50))
    since, first = time.monotonic(), home.claim()
    with home.db.begin() as tx:
        tx.execute(update(Job).values(lease_until=0.0))
    second = home.claim()
    assert second.fence == first.fence + 1
    runner.run(home.site, first, since=since)
    after = figures(metrics.exposition().decode())
    for name in ("c2s_takeovers_total", "c2s_lease_losses_total"):
        assert after[name,] - before[name,] == 1


def test_what_a_dead_process_held_is_forgotten_and_what_it_counted_is_kept(tmp_path):
    for name in ("gauge_livesum_999999999.db", "counter_999999999.db", "gauge_livesum_1.db"):
        (tmp_path / name).touch()
    metrics._forget_the_dead(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"counter_999999999.db", "gauge_livesum_1.db"}

"""How a client asks: again with the same key, when it is told to, page by page, and without a gap in a stream."""

import asyncio
import threading

import pytest

import c2s
from c2s.client import problems, service

TOKEN = "t" * 32


@pytest.fixture(scope="module")
def dataset(client, csv_file):
    return client.datasets.create(csv_file.encode(), name="rows", label="y")


@pytest.mark.parametrize("rule", ["cut", "reset", 503])
def test_a_post_that_is_sent_again_makes_one_job(through, broken_line, client, dataset, rule):
    before = {job.id for job in client.jobs.list()}
    broken_line.break_(rule, 2, method="POST")
    made = through[0].jobs.create(dataset)
    assert {job.id for job in client.jobs.list()} - before == {made.id}
    assert [seen for seen in broken_line.seen if seen[0] == "POST"] == [("POST", "/jobs")] * 3
    assert len(through[1]) == 2


def test_an_upload_that_is_sent_again_makes_one_dataset(through, broken_line, client, csv_file, tmp_path):
    (tmp_path / "rows.csv").write_text(csv_file)
    before = {one.id for one in client.datasets.list()}
    broken_line.break_("cut", 1, method="POST")
    made = through[0].datasets.create(tmp_path / "rows.csv")
    assert {one.id for one in client.datasets.list()} - before == {made.id}
    assert made.name == "rows.csv"


def test_what_is_not_keyed_is_not_sent_again_once_it_may_have_arrived(through, broken_line, client):
    before = len(list(client.keys.list()))
    broken_line.break_("cut", 1, method="POST")
    with pytest.raises(problems.Unreachable):
        through[0].keys.create("once")
    assert len(list(client.keys.list())) == before + 1


def test_a_line_that_stays_broken_is_given_up(through, broken_line):
    broken_line.break_("reset")
    with pytest.raises(problems.Unreachable):
        next(through[0].jobs.list())
    assert len(through[1]) == service.Patience.retries
    broken_line.heal()
    assert through[0].version()["name"] == "c2s"


def test_a_service_that_is_away_is_named():
    with (
        c2s.Client("http://127.0.0.1:9", TOKEN, retries=0) as nobody,
        pytest.raises(problems.Unreachable) as why,
    ):
        nobody.version()
    assert "127.0.0.1:9" in str(why.value)
    assert not why.value.sent


def test_retry_after_is_honoured(run_service, tmp_path, csv_file):
    with run_service(tmp_path, max_queue=1) as full, c2s.Client(full.address, TOKEN) as found:
        first = found.jobs.create(found.datasets.create(csv_file.encode()))
        pauses = []

        def sleep(seconds):
            pauses.append(seconds)
            first.cancel()

        found._service.wire._sleep = sleep
        assert found.jobs.create(first.dataset_id).state == "queued"
        assert pauses == [30.0]


def test_what_would_take_too_long_is_told_at_once(run_service, tmp_path, csv_file):
    with run_service(tmp_path) as strict, c2s.Client(strict.address, TOKEN) as admin:
        project = strict.project(jobs_per_day=0)
        secret = admin.keys.create("tenant", project=project).secret
        with c2s.Client(strict.address, secret) as tenant:
            tenant._service.wire._sleep = lambda seconds: pytest.fail(f"waited {seconds} s")
            dataset = tenant.datasets.create(csv_file.encode())
            with pytest.raises(problems.TooMany) as refused:
                tenant.jobs.create(dataset)
    assert refused.value.code == "quota_exceeded"
    assert refused.value.retry_after > 60


def test_lists_are_read_page_by_page(client, dataset, monkeypatch):
    monkeypatch.setattr(service, "PAGE", 2)
    made = [client.jobs.create(dataset, name=f"job {number}").id for number in range(5)]
    found = [job.id for job in client.jobs.list(dataset=dataset)]
    assert found[:5] == made[::-1]
    assert len(found) == len(set(found))
    assert [job.id for job in client.jobs.list(3)] == made[:1:-1]
    assert list(client.jobs.list(0)) == []
    assert next(client.jobs.list()).id == made[-1]


def claimed(shared, job):
    """The claim of a job, as a worker has it; others that wait are ended."""
    while (held := shared.claim()).job_id != job.id:
        shared.end(held, "internal")
    return held


def epochs(shared, held, count, first=0):
    for number in range(first, first + count):
        shared.beat(held, ("epoch", {"phase": "stage1", "epoch": number, "epochs": count, "metrics": {}}))


def test_a_stream_that_is_cut_goes_on_without_gap_or_duplicate(through, broken_line, client, shared, dataset):
    job = client.jobs.create(dataset)
    held = claimed(shared, job)
    epochs(shared, held, 40)
    shared.end(held, "diverged")
    broken_line.break_("cut", 4, path="/events")
    found = list(through[0].jobs.get(job.id).events())
    assert [event["number"] for event in found] == list(range(1, 44))
    assert found[-1]["type"] == "end"
    assert sum("/events" in path for _, path in broken_line.seen) == 5


def test_a_stream_outlasts_a_restart_but_not_for_ever(through, broken_line, client, shared, dataset):
    job = client.jobs.create(dataset)
    shared.end(claimed(shared, job), "diverged")
    broken_line.break_("reset", 10, path="/events")
    watched = through[0].jobs.get(job.id)
    assert [event["number"] for event in watched.events()] == [1, 2, 3]
    assert sum(through[1]) > 25  # seconds, had they been slept
    broken_line.break_("reset", path="/events")
    with pytest.raises(problems.Unreachable):
        list(watched.events())


def test_a_blocking_client_works_where_a_loop_runs_already(client, dataset):
    async def cell():  # as a notebook runs one
        return client.datasets.get(dataset).rows, [one.id for one in client.datasets.list(1)]

    assert asyncio.run(cell())[0] == dataset.rows


def test_a_job_is_watched_while_it_runs_and_its_failure_is_an_error(client, shared, dataset):
    job = client.jobs.create(dataset)
    held, seen = claimed(shared, job), []
    running = threading.Event()

    def work():
        running.wait(60)
        epochs(shared, held, 3)
        shared.end(held, "diverged")

    def report(event):
        seen.append(event["number"])
        running.set()

    worker = threading.Thread(target=work)
    worker.start()
    with pytest.raises(problems.JobFailed) as failed:
        job.wait(progress=report)
    worker.join(60)
    assert failed.value.code == "diverged"
    assert failed.value.job_id == job.id
    assert seen == list(range(1, 7))
    assert job.wait(check=False).state == "failed"


def test_a_wait_that_takes_too_long_leaves_the_job_alone(client, shared, dataset):
    job = client.jobs.create(dataset)
    claimed(shared, job)
    with pytest.raises(problems.TimedOut):
        job.wait(timeout=0.2)
    assert job.refresh().state == "running"
    job.cancel()
    assert job.state == "cancelling"


def test_an_iterator_that_is_left_early_closes_its_stream(client, shared, dataset):
    job = client.jobs.create(dataset)
    held = claimed(shared, job)
    epochs(shared, held, 3)
    watched = job.events()
    assert next(watched)["number"] == 1
    watched.close()
    shared.end(held, "internal")
    assert [event["number"] for event in job.events(2, follow=False)] == [3, 4, 5, 6]
    assert list(job.events(after=6)) == []

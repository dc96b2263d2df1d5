"""A worker on Redis and PostgreSQL, as in production."""

from workers import rows, trainers, until, wanted


def test_a_job_outlives_its_broker_and_the_next_one_runs_when_it_is_back(
    make_home, redis_server, postgres_server
):
    home = make_home(broker_url=redis_server.url, database_url=postgres_server.database(), lease_seconds=4)
    dataset = home.dataset(rows())
    first = home.job(dataset, wanted(2))
    worker = home.start()
    until(lambda: trainers(worker.pid), explain=home.said)
    redis_server.kill()
    second = home.job(dataset, wanted(1))
    assert home.wait(first, "succeeded", "failed").attempts == 1
    redis_server.start()
    assert home.wait(second, "succeeded", "failed").state == "succeeded"
    assert worker.poll() is None
    worker.terminate()
    assert worker.wait(30) == 0

"""A15, a broker that others can write to: whatever lies in the queue is a doorbell at most."""

import base64
import json
import os
import pickle
import uuid

import pytest
import workers
from celery import Celery

from app.core import relay


class Mine:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def message(body, *, content_type="application/json", task=relay.TASK, encoding="utf-8", **headers):
    """A message as it lies in the list that workers read."""
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-encoding": encoding,
            "content-type": content_type,
            "headers": {"lang": "py", "task": task, "id": str(uuid.uuid4()), "argsrepr": "()", **headers},
            "properties": {
                "body_encoding": "base64",
                "correlation_id": str(uuid.uuid4()),
                "delivery_info": {"exchange": "", "routing_key": "celery"},
                "delivery_mode": 2,
                "delivery_tag": str(uuid.uuid4()),
                "priority": 0,
            },
        }
    )


def forged(mark):
    code = pickle.dumps(Mine(mark))
    fair = b'[[], {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]'
    return [
        message(code, content_type="application/x-python-serialize", encoding="binary"),
        message(code, content_type="application/json"),
        message(code, content_type="application/x-yaml"),
        message(fair.replace(b"[[]", b'[["job_1", {"state": "succeeded"}]')),
        message(fair.replace(b"{}", b'{"job_id": "job_1"}', 1)),
        message(fair, task="os.system"),
        message(fair, task="celery.backend_cleanup"),
        message(fair.replace(b'"chain": null', b'"chain": [{"task": "os.system", "args": ["true"]}]')),
        message(b"[" * 10_000, task=relay.TASK),
        message(b"not json at all"),
    ]


@pytest.mark.timeout(300)
def test_forged_messages_change_nothing(tmp_path, redis_server, postgres_server):
    mark = tmp_path / "executed"
    home = workers.Home(
        tmp_path / "home",
        broker_url=redis_server.url,
        database_url=postgres_server.database(),
        lease_seconds=30,
    )
    try:
        with Celery(broker=redis_server.url, set_as_current=False) as sender:
            with sender.connection_for_write() as line:
                for each in forged(mark):
                    line.default_channel.client.lpush("celery", each)
            worker = home.start()
            job = home.job(home.dataset(workers.rows()), workers.wanted(1))
            for command in ("shutdown", "pool_restart", "add_consumer", "rate_limit"):
                sender.control.broadcast(command, arguments={"queue": "other"} if "add" in command else {})
            ended = home.wait(job, "succeeded", "failed")
            assert (ended.state, ended.attempts, ended.crashes) == ("succeeded", 1, 0), home.said()
            assert len(home.models(job)) == 1
            assert worker.poll() is None
    finally:
        home.close()
    assert not mark.exists()

"""The Celery application: an engine that hears doorbells; rows are the truth. Every option carries its reason."""

from typing import Any

from celery import Celery, signals

from app.core import logs, relay, settings

POLL_SECONDS = 0.05  # of the queue in memory; Celery's own second would delay every job


def options(chosen: settings.Settings) -> dict[str, Any]:
    """The configuration for the broker of these settings; for Celery 5.6 and 5.7."""
    common: dict[str, Any] = {
        "broker_url": chosen.broker_url,
        "imports": ("worker.tasks", "worker.bell", "worker.exposition"),
        "task_acks_late": False,  # late acks start a second copy after an hour, and end 5.7 workers with Redis
        "task_ignore_result": True,  # results are rows
        "task_serializer": "json",
        "accept_content": ["json"],  # pickle is never read
        "worker_concurrency": chosen.slots
        + 1,  # one more than trainings, so that uploads do not wait for them
        "worker_pool": "prefork",
        "worker_consumer": "worker.consumer:Consumer",  # finds a broker again within seconds
        "worker_cancel_long_running_tasks_on_connection_loss": False,  # a job outlives its broker
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # a long outage must not end the worker
        "worker_send_task_events": False,  # nobody listens
        "worker_enable_remote_control": False,  # nobody may command a worker through the broker
        "worker_hijack_root_logger": False,  # logs are set up once, ours
        "worker_redirect_stdouts": False,
        "worker_proc_alive_timeout": 30.0,  # a busy machine starts processes slowly; Celery would give up after 4 s
    }
    return common | (_memory() if chosen.embedded else _redis())


def _memory() -> dict[str, Any]:
    return {
        "broker_transport_options": {"polling_interval": POLL_SECONDS},
        "worker_prefetch_multiplier": 0,  # 5.6 takes one hint in two seconds otherwise; hoarding hints is harmless
    }


def _redis() -> dict[str, Any]:
    return {
        # a frozen server is given up; the visibility timeout is left alone, as nothing depends on it
        "broker_transport_options": relay.BROKER_OPTIONS | {"socket_timeout": 5},
        "worker_prefetch_multiplier": 1,
        "worker_disable_prefetch": True,  # a busy worker hoards a hint that an idle one could take otherwise
    }


app = Celery("c2s", set_as_current=True)
app.conf.update(options(settings.load()))


@signals.setup_logging.connect
def _logs(**_: object) -> None:
    chosen = settings.load()
    logs.configure(chosen.log_level, chosen.log_format, hidden=chosen.secrets)

"""Every figure is documented, every documented figure exists, and the names are those that dashboards know."""

import re
import subprocess
import sys
from pathlib import Path

from app.core import census, metrics

ROOT = Path(__file__).parents[2]
AGREED = {
    "c2s_requests_total",
    "c2s_request_seconds",
    "c2s_predict_batch_size",
    "c2s_predict_seconds",
    "c2s_jobs",
    "c2s_queue_depth",
    "c2s_queue_age_seconds",
    "c2s_uploads_bytes_total",
    "c2s_intake_seconds",
    "c2s_epoch_seconds",
    "c2s_jobs_finished_total",
    "c2s_lease_losses_total",
    "c2s_device_memory_bytes",
    "c2s_training_seconds",
}


def known():
    """Every name with its labels."""
    found = {}
    for metric in vars(metrics.Instruments()).values():
        if hasattr(metric, "_labelnames"):
            name = metric._name + ("_total" if metric._type == "counter" else "")
            found[name] = set(metric._labelnames)
    of_rows = {"c2s_jobs": {"task", "state"}, "c2s_queue_depth": {"task"}, "c2s_queue_age_seconds": {"task"}}
    return found | {name: of_rows.get(name, set()) for name in census.NAMES}


def documented():
    rows = re.findall(r"^\| `(c2s_[a-z_]+)(?:\{([a-z,]+)\})?` \|", (ROOT / "GUIDE.md").read_text(), re.M)
    return {name: set(filter(None, labels.split(","))) for name, labels in rows}


def test_every_figure_is_in_the_guide_and_every_one_there_exists():
    assert documented() == known()


def test_the_names_that_dashboards_use_stay():
    assert known().keys() >= AGREED


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.strip()


def test_traces_that_are_off_load_nothing():
    loads = "{name for name in sys.modules if name.startswith('opentelemetry.') and 'sdk' in name or 'otlp' in name}"
    code = "from app.core import tracing; tracing.configure('x'); assert tracing.tracer is None; "
    assert fresh(f"import sys, app.serve, worker.tasks; {code} print({loads} or 'none')") == "none"

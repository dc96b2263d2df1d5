"""Figures that several processes add to."""

import subprocess
import sys

PROGRAM = """
import os
from pathlib import Path
from app.core import metrics
with metrics.share():
    metrics.request("GET", "/version", 200, 0.1)
    Path(os.environ[metrics.SHARED], "counter_1.db").touch()
    print(metrics.exposition().decode())
"""


def test_a_file_that_a_process_is_just_making_is_no_figure():
    command = [sys.executable, "-c", PROGRAM]  # where figures live is decided once a process
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    assert 'c2s_requests_total{method="GET",route="/version",status="200"} 1.0' in done.stdout

"""Trainings that wait instead of working: a page or a fault meets them in the middle, and the processor stays free."""

# Read by every Python that starts with its folder on the path: each epoch of a trainer takes a tenth of a second more,
# so that a fault can be timed on any machine.
SLOW = """import sys, time
if "worker.trainer" in sys.orig_argv:
    real = time.perf_counter
    time.perf_counter = lambda: (time.sleep(0.05), real())[1]  # training reads it twice an epoch
"""


def slow(folder, code=SLOW):
    """A folder for the front of PYTHONPATH, under which every trainer runs `code` as it starts."""
    made = folder / "slow"
    made.mkdir(parents=True, exist_ok=True)
    (made / "sitecustomize.py").write_text(code)
    return made

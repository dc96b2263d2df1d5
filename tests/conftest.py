"""One thread a test process: small tensors gain nothing from two, and spinning threads starve each other."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

"""CleanLearning of cleanlab around its default classifier, on the rows of an NPZ file; prints its test accuracy.

Runs in an environment of its own (`make bench-auto`), which has cleanlab and nothing of ours.
"""

import sys
import time

import numpy as np
from cleanlab.classification import CleanLearning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

with np.load(sys.argv[1], allow_pickle=False) as arrays:
    x, y, x_test, y_test = (arrays[name] for name in ("x", "y", "x_test", "y_test"))
began = time.perf_counter()
base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
rival = CleanLearning(base, seed=0, find_label_issues_kwargs={"n_jobs": 1}).fit(x, y)
print(float((rival.predict(x_test) == y_test).mean()), time.perf_counter() - began)

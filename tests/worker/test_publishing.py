"""What a finished model is called."""

import pytest

from app.core import claims
from worker import publishing


@pytest.mark.parametrize(
    ("job", "dataset", "called"),
    [
        ("shop", "flowers", "shop"),
        (None, "flowers", "flowers"),
        (None, "flowers@home.csv", "flowers@home.csv"),  # no alias has a dot
        (None, "flowers@2", "job_1"),
        (None, "flowers@champion", "job_1"),
        ("mdl_" + "0" * 26, "flowers", "flowers"),  # of a job of before such names were refused
        (None, None, "job_1"),
    ],
)
def test_a_model_is_published_under_a_name_that_reaches_it(job, dataset, called):
    manifest = {} if dataset is None else {"dataset": {"name": dataset}}
    held = claims.Claim("job_1", 1, "train", None, config={}, manifest=manifest, name=job, shrink=0)
    assert publishing.called(held) == called

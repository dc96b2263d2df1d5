"""What `Accept` means: weights, ranges, and which of them decides."""

import pytest

from app.api import acceptance

FORMS = {"application/json": "json", "text/csv": "csv", "image/svg+xml": "svg"}


@pytest.mark.parametrize(
    ("accept", "best"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("text/csv, application/json", "csv"),
        ("application/json;q=0.5, text/csv", "csv"),
        ("application/json;q=0.1, */*", "csv"),
        ("text/*;q=0, */*", "json"),
        ("application/*;q=0, */*", "csv"),
        ("application/json;q=0, application/*, text/csv;q=0.2", "csv"),
        ("text/csv;q=0, text/*", None),
        ("image/*, application/json;q=0.9", "svg"),
        ("TEXT/CSV ; Q=1.000", "csv"),
        ("text/csv;q=nan, application/json", "csv"),
        ("image/gif", None),
        ("*/*;q=0", None),
    ],
)
def test_the_most_specific_range_decides_and_the_largest_weight_wins(accept, best):
    assert acceptance.best(accept, FORMS) == best

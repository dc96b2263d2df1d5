"""What the report says of its own figures."""

import numpy as np
import pytest

from c2s.judging import diagnosis
from c2s.matrix import intervals, noise

Y = np.arange(90) % 3


def bounds(low, high):
    nothing = intervals.Range(np.zeros((3, 3)), np.ones((3, 3)))
    return intervals.Intervals(
        "rows", nothing, nothing, intervals.Range(np.array([low, 0]), np.array([high, 1]))
    )


@pytest.mark.parametrize(("rate", "end"), [(0.34, "upper"), (0.2, "lower")])
def test_a_noise_rate_at_an_end_of_its_interval_says_why_and_where_the_truth_is_nearer(rate, end):
    refined = {"refined": noise.symmetric(3, 0.3)}
    (note,) = diagnosis.edge_notes(bounds(0.2, 0.34), rate, refined, Y, read_off=True)
    assert f"{rate:.1%}, stands at the {end} end of its interval, 20.0% to 34.0%" in note
    assert "about 30.0%" in note


def test_a_rate_that_was_not_read_off_stage_1_is_not_blamed_on_its_errors():
    refined = {"refined": noise.symmetric(3, 0.3)}
    (note,) = diagnosis.edge_notes(bounds(0.2, 0.34), 0.2, refined, Y, read_off=False)
    assert "not read off stage 1's posteriors" in note
    assert "about 30.0%" in note


def test_nothing_is_said_of_a_rate_inside_its_interval_or_of_none():
    refined = {"refined": noise.symmetric(3, 0.3)}
    assert diagnosis.edge_notes(bounds(0.2, 0.34), 0.3, refined, Y, read_off=True) == []
    assert diagnosis.edge_notes(bounds(0.0, 0.1), 0.0, refined, Y, read_off=True) == []
    assert diagnosis.edge_notes(None, 0.3, refined, Y, read_off=True) == []
    assert diagnosis.edge_notes(bounds(0.2, 0.34), 0.34, {}, Y, read_off=True) == []

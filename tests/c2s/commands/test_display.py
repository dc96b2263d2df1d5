"""Matrices in a terminal: names apart from each other, a title on one line, rates with their intervals."""

import io

import numpy as np
from rich.console import Console

from c2s.commands import display
from c2s.matrix import noise


def printed(*parts):
    console = Console(file=io.StringIO(), width=100)
    for part in parts:
        part(console) if callable(part) else console.print(part)
    return console.file.getvalue().splitlines()


def test_names_of_classes_stand_apart_and_whole_where_there_is_room():
    title, head, *rows = printed(
        display.matrix_table(noise.symmetric(3, 0.3), ["setosa", "versicolor", "virginica"])
    )
    assert title == "T_c: rows are true classes, columns the labels they were given"
    assert head.split() == ["setosa", "versicolor", "virginica"]
    assert rows[1].split() == ["versicolor", "0.15", "0.70", "0.15"]


def test_long_names_are_cut_where_ten_classes_share_a_line():
    classes = [f"a very long name {k}" for k in range(10)]
    lines = printed(display.matrix_table(noise.symmetric(10, 0.3), classes))
    assert max(map(len, lines)) <= 80
    assert lines[1].split("…")[0].strip() == "a ve"


def test_more_classes_are_shown_by_their_largest_confusions():
    T_c = noise.pair_flip(20, 0.3)
    assert len(printed(display.matrix_table(T_c, [f"c{k}" for k in range(20)]))) < 30


def test_rates_carry_their_intervals_where_there_are_any():
    ends = {"class": (0.1, 0.2), "similarity": (0.05, 0.1)}
    (line,) = printed(lambda console: display.show_rates(console, 0.15, 0.08, "anchors", ends=ends))
    assert (
        line
        == "labels wrong: 15.0% (10.0% to 20.0%) of classes -> 8.0% (5.0% to 10.0%) of pairs (T_c by anchors)"
    )
    (line,) = printed(lambda console: display.show_rates(console, 0.15, np.float64(0.08), "anchors"))
    assert line == "labels wrong: 15.0% of classes -> 8.0% of pairs (T_c by anchors)"

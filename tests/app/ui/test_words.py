"""Words of the pages around what users wrote."""

from app.ui import words


def test_names_that_run_from_right_to_left_are_set_apart_in_a_sentence():
    names = ("כלב", "כלב קטן", "a")
    told = words.naming("Classes כלב קטן, כלב and a <b>", names)
    assert str(told) == "Classes <bdi>כלב קטן</bdi>, <bdi>כלב</bdi> and a &lt;b&gt;"
    assert str(words.naming("a & b", ["a"])) == "a &amp; b"

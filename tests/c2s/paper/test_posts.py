from c2s.paper import posts

POST = """From: someone@example.org
Subject: Re: orbits

In article <1@example.org> other@example.org writes:
> The probe is lost.
| So they say.

It answered this morning.
The signal is weak.

--
Someone, somewhere
"""


def test_headers_end_at_the_first_blank_line() -> None:
    assert posts.without_headers("From: a\nSubject: b\n\nfirst\n\nsecond") == "first\n\nsecond"


def test_a_post_without_a_blank_line_is_all_headers() -> None:
    assert posts.without_headers("From: a\nSubject: b") == ""


def test_the_footer_begins_at_the_last_blank_line_or_row_of_dashes() -> None:
    assert posts.without_footer("text\nmore\n\nname") == "text\nmore"
    assert posts.without_footer("text\n-----\nname\n") == "text"


def test_a_single_paragraph_has_no_footer() -> None:
    assert posts.without_footer("text\nmore") == "text\nmore"


def test_quoted_lines_and_their_attributions_go() -> None:
    quoted = "a@b wrote:\n> old\n| older\nIn article 7\nQuoted from c\nd says:\nmine\n  > indented stays"
    assert posts.without_quotes(quoted) == "mine\n  > indented stays"


def test_a_body_is_what_the_author_wrote() -> None:
    assert posts.body(POST).split("\n") == ["", "It answered this morning.", "The signal is weak.", ""]


def test_an_empty_post_stays_empty() -> None:
    assert posts.body("") == ""

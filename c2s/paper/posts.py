"""A Usenet post without what gives its group away: headers, signature and quoted lines."""

import re

_ATTRIBUTION = re.compile(r"writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^[>|]")


def body(post: str) -> str:
    """The author's own words: headers go first, then the signature, then what is quoted."""
    return without_quotes(without_footer(without_headers(post)))


def without_headers(post: str) -> str:
    """What follows the first blank line; a post without one is all headers."""
    _, _, rest = post.partition("\n\n")
    return rest


def without_footer(post: str) -> str:
    """What precedes the last line that is blank or only dashes; one paragraph alone is no signature."""
    lines = post.strip().split("\n")
    breaks = [number for number, line in enumerate(lines) if not line.strip().strip("-")]
    return "\n".join(lines[: breaks[-1]]) if breaks and breaks[-1] > 0 else post


def without_quotes(post: str) -> str:
    """The lines that neither quote somebody (`>` or `|` in front) nor say whom they quote."""
    return "\n".join(line for line in post.split("\n") if not _ATTRIBUTION.search(line))

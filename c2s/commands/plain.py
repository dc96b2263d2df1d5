"""Text of others for a terminal: what would move its cursor or change its colours is shown as a mark."""

MARK = "\N{REPLACEMENT CHARACTER}"


def plain(text: object) -> str:
    """The text on one line, every character of it visible."""
    return "".join(
        letter if letter.isprintable() else " " if letter in "\n\t" else MARK for letter in str(text)
    )

"""What this process does while a test looks: one audit hook, as Python can add them and never takes them away."""

import contextlib
import sys

_lookers = []


def _note(event, arguments):
    for events, seen in _lookers:
        if event in events:
            seen.append((event, *arguments))


@contextlib.contextmanager
def watched(*events):
    """Every audit event of these names, of every thread, in the order of their coming."""
    if not _hooked:
        sys.addaudithook(_note)
        _hooked.append(True)
    looker = (frozenset(events), [])
    _lookers.append(looker)
    try:
        yield looker[1]
    finally:
        _lookers.remove(looker)


_hooked = []

"""L7, L8: more than the service can do, and connections that only sit there."""

import asyncio
import time

import psutil
from load_client import SHED, Tally, generator, percentile
from load_figures import MB, Figure, Watch
from load_jobs import P99, RATE_SQLITE, judged, running, submission, warm

AT_ONCE = 64  # of the closed loop that finds the saturation
FLAT = 16 * MB  # what the last third of an overload, and all after it, may add
RECOVERY = 5.0
IDLE, HALF_OPEN, CLOSED_WITHIN, PATIENCE = 500, 200, 30.0, 45.0


async def l7(asked):
    """Twice the saturation: some requests are refused at once, and afterwards all is as before."""
    seconds = min(30.0, asked.seconds)
    with running() as known:
        posts, api = submission(known), psutil.Process(known.api.pid)
        over, after = Tally(), Tally()
        async with generator(known.port) as sender:
            await warm(sender, posts)
            top = Tally()
            took = await sender.closed(posts, at_once=AT_ONCE, seconds=min(5.0, seconds), tally=top)
            most = top.outcomes[202] / took
            with Watch(lambda: [api]) as watch:
                began = time.monotonic()
                await sender.constant(posts, rate=2 * most, seconds=seconds, tally=over)
                # The clock of the recovery starts here, with all that the overload left unanswered.
                await sender.constant(posts, rate=RATE_SQLITE, seconds=2 * RECOVERY, tally=after)
                await sender.drain()
    run = f"2 x saturation ({most:.0f}/s), SQLite, {seconds:g} s"
    shed = sum(over.outcomes[status] for status in SHED)
    said = f"{shed / len(over.answers):.0%} shed; {over}"
    wrong = over.unexpected(202)
    yield Figure("L7", run, "sheds with 429/503, nothing else", said, 0 < shed == over.errors(202), wrong)
    late = recovered(after)
    said = f"{late:.0f} s; from second {RECOVERY:g}: {Tally([one for one in after.answers if one[0] >= RECOVERY])}"
    yield Figure("L7", run, "back at L1 within 5 s", said, late <= RECOVERY, after.unexpected(202))
    late_part = began + seconds * 2 / 3
    grown = watch.peak(since=late_part) - watch.peak(until=late_part)
    said = f"{grown / MB:+.0f} MB in the last third ({watch.before / MB:.0f} MB before, at most {watch.grown:+.0f} MB)"
    yield Figure("L7", run, "memory flat", said, grown <= FLAT)


def recovered(tally):
    """Whole seconds until every later second holds L1."""
    late = 0.0
    for second in range(int(2 * RECOVERY)):
        of_it = [one for one in tally.answers if second <= one[0] < second + 1]
        if percentile([took for _, took, _ in of_it], 0.99) > P99 or any(what != 202 for *_, what in of_it):
            late = second + 1.0
    return late


class Sitter(asyncio.Protocol):
    """Says nothing, or half of something, and notes when it is sent away."""

    def __init__(self, said):
        self.said, self.gone_at = said, None

    def connection_made(self, transport):
        self.began = time.monotonic()
        transport.write(self.said)

    def eof_received(self):
        self.gone_at = time.monotonic()

    def connection_lost(self, _exc):
        self.gone_at = self.gone_at or time.monotonic()


async def l8(asked):
    """Seven hundred connections that ask nothing, while others work."""
    loop = asyncio.get_running_loop()
    words = [b""] * IDLE + [b"POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthoriz"] * HALF_OPEN
    with running() as known:
        posts = submission(known)
        async with generator(known.port) as sender:
            await warm(sender, posts)
            sitters = [
                (await loop.create_connection(lambda said=said: Sitter(said), "127.0.0.1", known.port))[1]
                for said in words
            ]
            tally, seconds = Tally(), min(10.0, asked.seconds)
            await sender.constant(posts, rate=RATE_SQLITE, seconds=seconds, tally=tally)
            await sender.drain()
        deadline = time.monotonic() + PATIENCE
        while any(one.gone_at is None for one in sitters) and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
    left = sum(one.gone_at is None for one in sitters)
    last = max(one.gone_at - one.began for one in sitters if one.gone_at) if left < len(sitters) else PATIENCE
    run = f"{IDLE} idle + {HALF_OPEN} half-open connections"
    yield judged("L8", f"{run}: L1 for {seconds:g} s", tally)
    said = f"{left} left open, the last closed after {last:.1f} s"
    yield Figure("L8", run, f"all closed <= {CLOSED_WITHIN:g} s", said, not left and last <= CLOSED_WITHIN)

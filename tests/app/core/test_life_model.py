"""Z2: a job table against a model of it, under any order of claims, wishes, crashes, expiries and late writes.

`C2S_TEST_EXAMPLES` runs more of them than `make test` has time for.
"""

import contextlib
import os
import tempfile
from pathlib import Path

import databases
import hypothesis
import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import func, select, update

from app.core import claims, datasets, db, errors, events, ids, jobs
from app.core.tables import ACTIVE, ENDED, Dataset, Intake, Job, Model, State

EXAMPLES = int(os.environ.get("C2S_TEST_EXAMPLES", "15"))
CRASHES, LEASE = 3, 600.0
WRITES = ["beat", "checkpoint", "succeed", "fail", "cancel", "release", "crash", "starve"]


class Life(RuleBasedStateMachine):
    """Two datasets' jobs, any number of workers that hold claims, and what must be true of them."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name) / "c2s.sqlite3"
        databases.prepare(f"sqlite:///{file}")
        self.database = db.Database(f"sqlite:///{file}")
        self.held, self.ended, self.fences = [], {}, {}  # claims; the end of each job; the highest fence seen
        with self.database.begin() as tx:
            self.dataset = Dataset(
                id=ids.new("ds"), name="d", state=Intake.ready, options={}, bytes=1, source_sha256="0" * 64
            )
            tx.add(self.dataset)

    def teardown(self):
        self.database.close()
        self.folder.cleanup()

    @rule(priority=st.integers(-1, 1))
    def submit(self, priority):
        with self.database.begin() as tx:
            job = jobs.create(tx, self.dataset, task="train", config={}, manifest={}, priority=priority)
        self.fences[job.id] = 0

    @rule()
    def claim(self):
        with self.database.begin() as tx:
            now = tx.scalar(select(db.now()))
            rows = {job.id: (job.state, job.lease_until, job.rank) for job in tx.scalars(select(Job))}
            taken = claims.claim(tx, owner="w", tasks=("train",), lease=LEASE, crash_limit=CRASHES)
        free = [one for one in rows.values() if _is_free(one, now)]
        if taken is None:
            assert all(state in ACTIVE for state, _, _ in free), "a queued job was passed over"
            return
        state, until, rank = rows[taken.job_id]
        assert _is_free((state, until, rank), now), "somebody else's job was taken"
        if state == State.queued:
            assert rank == min(one[2] for one in free if one[0] == State.queued)
        assert taken.fence > self.fences[taken.job_id]
        self.fences[taken.job_id] = taken.fence
        self.held.append(taken)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), write=st.sampled_from(WRITES))
    def write(self, data, write):
        """By whoever ever held a claim: one that was taken over must be told so, and change nothing."""
        held = data.draw(st.sampled_from(self.held))
        with self.database.read() as tx:
            row = tx.get(Job, held.job_id)
        ours = row.fence == held.fence and row.state in ACTIVE
        try:
            with self.database.begin() as tx:
                _do(tx, held, write)
            assert ours, f"{write} by a worker that had lost its job"
        except claims.Lost:
            assert not ours, f"{write} was refused to the one who holds the job"

    @precondition(lambda self: self.fences)
    @rule(data=st.data())
    def cancel(self, data):
        job_id = data.draw(st.sampled_from(sorted(self.fences)))
        ended = self.ended.get(job_id)
        try:
            with self.database.begin() as tx:
                job = jobs.request_cancel(tx, job_id)
            assert job.state in (State.cancelled, State.cancelling)
        except errors.Conflict:
            assert ended in (State.succeeded, State.failed)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def expire(self, data):
        """The clock passes a lease: its worker was killed, or is only slow."""
        held = data.draw(st.sampled_from(self.held))
        late = update(Job).where(Job.id == held.job_id, Job.state.in_(ACTIVE))
        with self.database.begin() as tx:
            tx.execute(late.values(lease_until=db.now() - 1))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def bury(self, data):
        held = data.draw(st.sampled_from(self.held))
        with self.database.begin() as tx:
            claims.bury(tx, held.job_id, held.fence)

    @rule()
    def delete_the_dataset(self):
        """Refused while a job needs it; the transaction is undone either way, so that the others go on."""
        with contextlib.suppress(errors.Conflict, ZeroDivisionError), self.database.begin() as tx:
            datasets.remove(tx, self.dataset.id)
            waiting = select(func.count()).select_from(Job).where(Job.state.not_in(ENDED))
            assert tx.scalar(waiting) == 0
            raise ZeroDivisionError

    @invariant()
    def what_ended_stays_as_it_ended_and_is_told_once(self):
        with self.database.read() as tx:
            rows = list(tx.scalars(select(Job)))
            models = dict(tx.execute(select(Model.job_id, func.count()).group_by(Model.job_id)).all())
            for job in rows:
                story = events.page(tx, job.id, limit=10_000)
                assert [event.number for event in story] == list(range(1, len(story) + 1))
                ends = [event.data["state"] for event in story if event.type == "end"]
                assert ends == ([job.state] if job.state in ENDED else [])
                assert self.ended.get(job.id, job.state) == job.state
                assert models.get(job.id, 0) == (job.state == State.succeeded)
                assert (job.lease_until is not None) == (job.state in ACTIVE)
                assert job.crashes <= CRASHES
                assert job.fence <= self.fences[job.id] + job.crashes + 1
                if job.state in ENDED:
                    self.ended[job.id] = job.state
                self.fences[job.id] = max(self.fences[job.id], job.fence)


def _is_free(row, now):
    state, until, _ = row
    return state == State.queued or (state in ACTIVE and until < now)


def _do(tx, held, write):
    why = jobs.error("worker_lost", "it died")
    match write:
        case "beat":
            claims.beat(tx, held, lease=LEASE, news=[("phase", {"phase": "stage1"})])
        case "checkpoint":
            claims.beat(tx, held, lease=LEASE, news=[("checkpoint", {"epoch": 1})])
        case "succeed":
            made = {"name": "m", "folder": "f", "sha256": "0" * 64, "card": {}}
            claims.succeed(tx, held, {}, Model(id=ids.new("mdl"), job_id=held.job_id, **made))
        case "crash":
            claims.crash(tx, held, why, crash_limit=CRASHES)
        case "fail" | "starve":
            getattr(claims, write)(tx, held, why)
        case "cancel" | "release":
            getattr(claims, write)(tx, held)


TestLife = Life.TestCase
TestLife.settings = hypothesis.settings(
    max_examples=EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)

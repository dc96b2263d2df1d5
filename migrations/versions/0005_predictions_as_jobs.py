"""jobs may be predictions"""

from collections.abc import Sequence

from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

BEFORE = "task in ('train', 'ingest')"
AFTER = "task in ('train', 'ingest', 'predict')"


def upgrade() -> None:
    _admit(AFTER)


def downgrade() -> None:
    op.execute("DELETE FROM events WHERE job_id IN (SELECT id FROM jobs WHERE task = 'predict')")
    op.execute("DELETE FROM jobs WHERE task = 'predict'")
    _admit(BEFORE)


def _admit(tasks: str) -> None:
    """Change the constraint; SQLite makes the table anew for it."""
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_constraint(op.f("ck_jobs_task"), type_="check")
        jobs.create_check_constraint(op.f("ck_jobs_task"), tasks)

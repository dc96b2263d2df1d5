"""an index that counts jobs by task and state without reading their rows"""

from collections.abc import Sequence

from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index("ix_jobs_task_state_id", "jobs", ["task", "state", "id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_jobs_task_state_id", table_name="jobs")

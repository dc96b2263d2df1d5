"""decisions on labels, and datasets made of them"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DEFAULT = "prj_" + "0" * 26  # the project of all that was made before there were projects


def upgrade() -> None:
    op.add_column("datasets", sa.Column("parent_id", sa.String(length=32), nullable=True))
    op.add_column("datasets", sa.Column("job_id", sa.String(length=32), nullable=True))
    op.create_table(
        "decisions",
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("row", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=False),
        sa.Column("label", sa.Integer(), nullable=False),
        sa.Column("decided_by", sa.String(length=32), nullable=False),
        sa.Column("decided_at", sa.Float(precision=53), nullable=False),
        sa.Column("project_id", sa.String(length=32), server_default=DEFAULT, nullable=False),
        sa.CheckConstraint("decision in ('accept', 'keep', 'relabel')", name=op.f("ck_decisions_decision")),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_decisions_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "row", name=op.f("pk_decisions")),
    )


def downgrade() -> None:
    op.drop_table("decisions")
    with op.batch_alter_table("datasets") as datasets:
        datasets.drop_column("job_id")
        datasets.drop_column("parent_id")

"""numbers for the versions of a model's name, aliases that point at them, and where these pointed before"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# what there is gets its number by age: ids sort by it
NUMBER = """
UPDATE models SET version = (
    SELECT count(*) FROM models AS older
    WHERE older.project_id = models.project_id AND older.name = models.name AND older.id <= models.id
)
"""
COUNT = """
INSERT INTO model_names (project_id, name, last_version)
SELECT project_id, name, max(version) FROM models GROUP BY project_id, name
"""


def upgrade() -> None:
    op.add_column("models", sa.Column("version", sa.Integer(), nullable=True))
    op.execute(NUMBER)
    with op.batch_alter_table("models") as models:  # SQLite makes the table anew for this
        models.alter_column("version", existing_type=sa.Integer(), nullable=False)
        models.create_unique_constraint(
            op.f("uq_models_project_id_name_version"), ["project_id", "name", "version"]
        )
    op.create_table(
        "model_names",
        *_key(),
        sa.Column("last_version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "name", name=op.f("pk_model_names")),
    )
    op.execute(COUNT)
    op.create_table(
        "aliases",
        *_key(),
        sa.Column("alias", sa.String(length=64), nullable=False),
        sa.Column("model_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("moved_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name=op.f("fk_aliases_model_id")),
        sa.PrimaryKeyConstraint("project_id", "name", "alias", name=op.f("pk_aliases")),
    )
    op.create_index(op.f("ix_aliases_model_id"), "aliases", ["model_id"])
    op.create_table(
        "alias_moves",
        *_key(),
        sa.Column("alias", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("model_id", sa.String(length=32), nullable=True),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("back", sa.Integer(), nullable=True),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "name", "alias", "number", name=op.f("pk_alias_moves")),
    )


def _key() -> tuple[sa.Column[str], sa.Column[str]]:
    return (
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("alias_moves")
    op.drop_table("aliases")
    op.drop_table("model_names")
    with op.batch_alter_table("models") as models:
        models.drop_constraint(op.f("uq_models_project_id_name_version"), type_="unique")
        models.drop_column("version")

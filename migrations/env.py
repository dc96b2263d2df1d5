"""Runs migrations on the address that the caller gives, or on the settings' when called by hand."""

from alembic import context
from sqlalchemy import create_engine, text

from app.core import settings, tables

LOCK = 5_732_001  # any number: PostgreSQL lets one process migrate at a time
url = context.config.attributes.get("url") or settings.load().database
engine = create_engine(url)
with engine.connect() as connection:
    if engine.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": LOCK})
        connection.commit()
    context.configure(
        connection=connection,
        target_metadata=tables.Table.metadata,
        render_as_batch=engine.dialect.name == "sqlite",
        compare_type=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()
engine.dispose()

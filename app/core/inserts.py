"""Rows that are made together, in as few round trips as the database allows."""

import functools
from typing import Any, TypeVar

from sqlalchemy import Column, Select, Table, bindparam, insert, select
from sqlalchemy.sql.dml import ReturningInsert

from app.core import db

T = TypeVar("T")
Row = dict[str, Any]


def both(tx: db.Tx, answer: Column[T], values: Row, then: Table, more: Row) -> T:
    """A row and one that follows it: one statement where the database can, as each costs a round trip."""
    connection, first = db.plain(tx), answer.table
    if connection.dialect.name == "postgresql":
        named = {f"{first.name}_{name}": value for name, value in values.items()}
        named |= {f"{then.name}_{name}": value for name, value in more.items()}
        statement = _chained(answer, tuple(values), then, tuple(more))
        return connection.execute(statement, named).scalar_one()  # type: ignore[no-any-return]
    made = connection.execute(_answering(answer), values).scalar_one()
    connection.execute(insert(then), more)
    return made  # type: ignore[no-any-return]


@functools.cache
def _answering(answer: Column[Any]) -> ReturningInsert[Any]:
    return insert(answer.table).returning(answer)


@functools.cache
def _chained(answer: Column[Any], names: tuple[str, ...], then: Table, more: tuple[str, ...]) -> Select[Any]:
    first = answer.table
    made = insert(first).values({name: bindparam(f"{first.name}_{name}") for name in names}).returning(answer)
    told = insert(then).values({name: bindparam(f"{then.name}_{name}") for name in more})
    return select(made.cte("made").c[answer.name]).add_cte(told.cte("told"))

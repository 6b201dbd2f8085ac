"""What a query says, whatever database it is for."""

from __future__ import annotations

import re

from serigraph.errors import TableError
from serigraph.policy import Reading


def as_select(query: str) -> str:
    """A query; the name of a table asks for all of it.

    >>> as_select("visits"), as_select("public.visits"), as_select("select 1")
    ('select * from visits', 'select * from public.visits', 'select 1')
    """
    return f"select * from {query}" if re.fullmatch(r"[\w.]+", query.strip()) else query


def refuse_query(reading: Reading, what: str, where: str = "") -> None:
    """Refuse a query that an option gives for a source that takes none."""
    if reading.must_query:
        raise TableError(
            f"{what} takes no query: it would be read whole",
            where=where,
            remedy="omit --query (query in Python), or give the database that it is for",
        )


def query_failed(detail: str, where: str) -> TableError:
    """The error for a query that the database refuses; ``detail`` must not quote its data."""
    return TableError(
        f"the query failed: {detail}",
        where=where,
        remedy="correct query in the section [reading] of the policy, or --query",
    )


def not_one_table(
    number: int, where: str, *, what: str = "database", parts: str = "tables"
) -> TableError:
    """The error where nothing says which table of a source is meant."""
    held = parts if number != 1 else parts.removesuffix("s")
    return TableError(
        f"the {what} has {number} {held}, and no query chooses one",
        where=where,
        remedy=f"name one of its {parts} with --query, or as query in the section [reading] of "
        "the policy",
    )

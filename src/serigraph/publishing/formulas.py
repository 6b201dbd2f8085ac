"""Texts of a release that spreadsheets would run as formulas."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from serigraph.errors import PolicyError, TableError
from serigraph.model import Domain
from serigraph.policy import Policy
from serigraph.recoding.public_csv import is_formula
from serigraph.tables.rows import counted
from serigraph.tables.value_list import ValueList


def notes_on_formulas(
    policy: Policy, domains: Sequence[Domain], values: ValueList, where: str
) -> tuple[str, ...]:
    """What becomes of such texts in CSV files, for the publisher to know.

    Raises ``TableError`` if there are some and the policy refuses them, and ``PolicyError`` if a
    column has such a name, which cannot be quoted.
    """
    output = policy.output
    if "csv" not in output.files:
        return ()
    columns = [*policy.quasi_identifiers, policy.sensitive.column]
    if _number_of_formulas(columns) and output.formulas != "keep":
        raise PolicyError(
            "a column has a name that spreadsheets would run as a formula",
            where=where,
            remedy="rename it in the table and in the policy, or set formulas = "
            '"keep" in the section [output]',
        )
    texts = {domain.name: _texts_of(domain) for domain in domains}
    texts[policy.sensitive.column] = sorted({each.name for each in values.all_held})
    found = {name: number for name, each in texts.items() if (number := _number_of_formulas(each))}
    if not found:
        return ()
    some = counted(sum(found.values()), "text begins", "texts begin")
    if output.formulas == "refuse":
        raise TableError(
            f"{some} as formulas do, which spreadsheets would run",
            where="CSV files of the release",
            remedy='correct the table, or set formulas = "quote" in the section [output] of the '
            "policy",
            problems=[f"column {name!r}: {counted(each, 'text')}" for name, each in found.items()],
        )
    if output.formulas == "keep":
        return (f"{some} as formulas do, and spreadsheets may run them from the CSV files",)
    return (f"{some} as formulas do; CSV files have an apostrophe before each",)


def _texts_of(domain: Domain) -> list[str]:
    if domain.kind != "categorical":
        return []
    if domain.taxonomy is not None:
        return sorted({name for path in domain.taxonomy.paths for name in path})
    return [str(each) for each in domain.values.drop_nulls()]


def _number_of_formulas(texts: Sequence[str]) -> int:
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    return int(frame.select(is_formula(pl.col("text")).sum()).item())

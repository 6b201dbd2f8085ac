"""Checks of a table that need the series, or the form of the release.

Are its people those of the series? An id that is written in another way is another person, with a
budget of its own. And which of its texts would spreadsheets run as formulas?
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import polars as pl

from serigraph.engines import Known, PeopleFacts
from serigraph.errors import PolicyError, TableError
from serigraph.ledger import ReleaseRecord
from serigraph.model import Domain
from serigraph.policy import Policy
from serigraph.recoding.output import is_formula
from serigraph.tables.rows import counted

# Panels that share people with earlier tables share far more than this, and after a change of the
# form of ids nobody is known, but for a few by chance. What lies between is rare, and asked about.
FEWEST_KNOWN = Fraction(1, 20)


def notes_on_people(
    releases: tuple[ReleaseRecord, ...], people: PeopleFacts, known: Known
) -> tuple[str, ...]:
    """How many people of a later table are known to the series, for the publisher to compare with
    what they expect."""
    if not releases:
        return ()
    new = people.present - known.present
    return (
        f"of {counted(people.present, 'person', 'people')} in the table {known.present:,} "
        f"{'was' if known.present == 1 else 'were'} in the series before, and "
        f"{new:,} {'is' if new == 1 else 'are'} new to it",
    )


def check_new_people(
    releases: tuple[ReleaseRecord, ...], people: PeopleFacts, known: Known
) -> None:
    """Refuse a later release of which the ledger knows hardly anybody.

    The people of the table count, and apart from them those that only the registry has, if an
    earlier release came with a registry: without one, everybody in the first registry is new.
    """
    if not releases:
        return
    asked = {"the table": (known.present, people.present)}
    if any(release.summary.get("has_registry") for release in releases):
        asked["the registry"] = (known.absent, people.people - people.present)
    problems = [
        f"{source}: {found:,} of {counted(all_of_it, 'person', 'people')} "
        f"{'is' if found == 1 else 'are'} known to the series"
        for source, (found, all_of_it) in asked.items()
        if found < FEWEST_KNOWN * all_of_it
    ]
    if problems:
        raise TableError(
            "hardly anybody is known from earlier releases",
            where="id column",
            remedy=f"write the ids as in release {releases[-1].label}, with the same zeros, "
            "prefixes and pseudonyms; if the people are new, say so: --new-people, or "
            "new_people=True in Python",
            problems=problems,
        )


def notes_on_formulas(policy: Policy, people: PeopleFacts, where: str) -> tuple[str, ...]:
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
    texts = {domain.name: _texts_of(domain) for domain in people.domains}
    texts[policy.sensitive.column] = sorted({each.name for each in people.value_list.all_held})
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
    if domain.is_scale:
        return []
    if domain.taxonomy is not None:
        return sorted({name for path in domain.taxonomy.paths for name in path})
    return [str(each) for each in domain.values.drop_nulls()]


def _number_of_formulas(texts: Sequence[str]) -> int:
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    return int(frame.select(is_formula(pl.col("text")).sum()).item())

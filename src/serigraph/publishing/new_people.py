"""Whether the people of a release are those of the series: an id that is written in another way is
another person, with a budget of its own."""

from __future__ import annotations

from fractions import Fraction

from serigraph.errors import TableError
from serigraph.ledger import ReleaseRecord
from serigraph.tables.rows import counted

# Panels that share people with earlier tables share far more than this, and after a change of the
# form of ids nobody is known, but for a few by chance. What lies between is rare, and asked about.
FEWEST_KNOWN = Fraction(1, 20)


def notes_on_people(
    releases: tuple[ReleaseRecord, ...], *, present: int, known_present: int
) -> tuple[str, ...]:
    """How many people of a later table are known to the series, for the publisher to compare with
    what they expect."""
    if not releases:
        return ()
    return (
        f"of {counted(present, 'person', 'people')} in the table {known_present:,} "
        f"{'was' if known_present == 1 else 'were'} in the series before, and "
        f"{present - known_present:,} {'is' if present - known_present == 1 else 'are'} new to it",
    )


def check_new_people(
    releases: tuple[ReleaseRecord, ...],
    *,
    present: int,
    known_present: int,
    absent: int,
    known_absent: int,
) -> None:
    """Refuse a later release of which the ledger knows hardly anybody.

    The people of the table count, and apart from them those that only the registry has, if an
    earlier release came with a registry: without one, everybody in the first registry is new.
    """
    if not releases:
        return
    asked = {"the table": (known_present, present)}
    if any(release.summary.get("has_registry") for release in releases):
        asked["the registry"] = (known_absent, absent)
    problems = [
        f"{source}: {known:,} of {counted(people, 'person', 'people')} "
        f"{'is' if known == 1 else 'are'} known to the series"
        for source, (known, people) in asked.items()
        if known < FEWEST_KNOWN * people
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

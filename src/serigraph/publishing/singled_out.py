"""Whom a release shows alone: what is said of it in every output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class SingledOut:
    """People who share their group with nobody, and rows whose quasi-identifiers no other has."""

    people_alone: int
    unique_rows: int
    rows: int  # that have quasi-identifiers

    @staticmethod
    def of(summary: Mapping[str, Any]) -> SingledOut | None:
        """What the figures of a release say; None for a release of version 0.1.0, which did not
        count."""
        if "people_alone" not in summary:
            return None
        return SingledOut(summary["people_alone"], summary["unique_rows"], summary["rows"])

    @staticmethod
    def over(summaries: Sequence[Mapping[str, Any]]) -> SingledOut | None:
        """Added up over releases, so that a person counts once in each; None if one of them did not
        count."""
        each = [SingledOut.of(summary) for summary in summaries]
        known = [one for one in each if one is not None]
        if len(known) < len(each):
            return None
        return SingledOut(
            people_alone=sum(one.people_alone for one in known),
            unique_rows=sum(one.unique_rows for one in known),
            rows=sum(one.rows for one in known),
        )

    @property
    def share(self) -> Fraction:
        """The part of the rows that are unique."""
        return Fraction(self.unique_rows, max(self.rows, 1))

    def words(self) -> tuple[str, ...]:
        """What it means; empty where there is nobody and nothing.

        >>> print(SingledOut(0, 2, 8).words()[0].partition(":")[0])
        2 of 8 rows are unique on the quasi-identifiers (25.0 %)
        """
        said = []
        if self.people_alone:
            said.append(
                "1 person is alone in a group: anyone who knows the person's quasi-identifiers "
                "learns what the record says"
                if self.people_alone == 1
                else f"{self.people_alone:,} people are alone in their group: anyone who knows "
                "their quasi-identifiers learns what their records say"
            )
        if self.unique_rows:
            verb = "row is" if self.rows == 1 else "rows are"
            said.append(
                f"{self.unique_rows:,} of {self.rows:,} {verb} unique on the quasi-identifiers "
                f"({100 * float(self.share):.1f} %): anyone who knows that the person is in the "
                "table finds the row"
            )
        return tuple(said)

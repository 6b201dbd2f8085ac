"""What an engine is asked for, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from serigraph.model import Population, Proof, unique_rows
from serigraph.privacy.strategies import Strategy
from serigraph.short_repr import Undisclosed

if TYPE_CHECKING:
    from serigraph.grouping import Method

Form = Literal["generalised", "bucketised"]
Engine = Literal["local", "spark"]


@dataclass(frozen=True)
class Plan:
    """How one release is to be made."""

    label: str
    strategy: Strategy
    form: Form
    method: Method
    minimum_size: int
    is_presence_known: bool
    allows_suppression: bool
    sensitive: str  # the column's name
    has_one_value: bool = False  # a generalised table shows each person's value, not a set
    clearance: Fraction = Fraction(1, 4)  # of its limit, that a value is kept below by suppression


@dataclass(frozen=True, repr=False)
class VerifiedRelease(Undisclosed):
    """A verified release: what the ledger commits, what the public sees, and its figures."""

    population: Population  # after suppression
    raw: Population  # before suppression
    proof: Proof
    tables: dict[str, pl.DataFrame]  # ``as_text`` of recoding gives them for reading
    widths: dict[str, float]  # NCP of each quasi-identifier

    def thresholds_left(self) -> dict[str, Fraction]:
        """What groups may spend from now on of the thresholds that gaps of this release lower."""
        charged = {gap.value for gap in self.proof.gaps if gap.risk}
        left = self.population.protected
        return {value.name: value.threshold for value in left if value.name in charged}

    @property
    def rows(self) -> int:
        """Rows with quasi-identifiers that the public gets."""
        return next(iter(self.tables.values())).height

    @property
    def people_alone(self) -> int:
        """People who are the only member of their group."""
        return int(np.count_nonzero(self.proof.size == 1))

    def unique_rows(self) -> int:
        """Rows whose published quasi-identifiers no other row has."""
        if "quasi_identifiers" not in self.tables:
            # Regions are disjoint: a row shares its own with the rows of its group only.
            return int(np.count_nonzero(self.proof.present_size == 1))
        shown = self.proof.ids
        if self.rows < len(shown):
            shown = shown.filter(pl.Series(self.proof.present))
        codes = self.population.codes
        if len(shown) < self.population.size:
            codes = codes[:, self.population.ids.search_sorted(shown).to_numpy()]
        return unique_rows(codes, [domain.size for domain in self.population.domains])

    def figures(self) -> dict[str, object]:
        """What is said of the release; counts and figures only."""
        proof = self.proof
        linked = np.zeros(len(proof.size), dtype=np.bool_)
        linked[proof.value_group] = True
        with_value = proof.size[linked]
        return {
            "people": len(proof.ids),
            "present": int(proof.present.sum()),
            "rows": self.rows,
            "unique_rows": self.unique_rows(),
            "people_alone": self.people_alone,
            "groups": len(proof.size),
            "mean_size": float(proof.size.mean()) if len(proof.size) else 0.0,
            "groups_with_protected_value": int(linked.sum()),
            "mean_size_with_protected_value": float(with_value.mean()) if len(with_value) else 0.0,
            "largest_size": int(proof.size.max()) if len(proof.size) else 0,
            "protected_values": len(shown_values(proof)),
            "pairs_checked": proof.pairs,
            "pairs_decided_in_fractions": proof.exact_pairs,
            "largest_probability": str(proof.largest),
            "worst_in_release": proof.worst.to_json() if proof.worst else None,
            **suppression_figures(proof, self.population),
            "normalised_widths": self.widths,
            "mean_normalised_width": float(np.mean(list(self.widths.values()))),
        }


def shown_values(proof: Proof) -> set[str]:
    """The protected values and classes that the release shows."""
    return set(proof.value_name.unique().cast(pl.String))


def suppression_figures(proof: Proof, population: Population) -> dict[str, object]:
    """How many holders of which value are missing, of values that the release still shows.

    To name or count a value that it does not show would tell that somebody holds it.
    """
    shown = shown_values(proof)
    is_class = {value.name for value in population.protected if value.stands_for}
    told = {gap.value: gap.missing for gap in proof.gaps if gap.value in shown}
    return {
        "suppressed": told,
        "suppressed_values": sum(told[name] for name in told.keys() - is_class),
    }

"""How a release that is not committed yet differs from the last one that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.encoding import EncodedParts
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import MEMBERS, VALUES, open_part, read_part
from serigraph.texts import composed

_FIGURES = {
    "present": "people with a record",
    "people": "people in groups",
    "groups": "groups",
    "mean_size": "people in a group on average",
    "largest_size": "people in the largest group",
    "groups_with_protected_value": "groups with a protected value",
    "people_alone": "people alone in their group",
    "mean_normalised_width": "precision lost",
}

Change = tuple[float, float]  # before and now


@dataclass(frozen=True)
class Differences:
    """What has changed since a release; for the publisher, as it counts values."""

    since: str  # the label of that release
    again: int  # people with a record in both
    gone: int
    new: int
    figures: Mapping[str, Change]  # by what they count, in words
    values: Mapping[str, Change]  # holders of each protected value or class that either shows

    @staticmethod
    def from_json(known: Mapping[str, Any]) -> Differences:
        """The differences again, as they were kept with a draft."""
        figures, values = known["figures"], known["values"]
        return Differences(
            since=known["since"],
            again=known["again"],
            gone=known["gone"],
            new=known["new"],
            figures={name: _pair(figures[name]) for name in _FIGURES.values() if name in figures},
            values={name: _pair(each) for name, each in sorted(values.items())},
        )


def differences(
    series: Series, last: ReleaseRecord, parts: EncodedParts, figures: Mapping[str, float]
) -> Differences:
    """Between the ``last`` release of a series and one with these parts and figures."""
    layout = Layout(series.path)
    before = _present(read_part(layout, last, MEMBERS))
    now = _present(pl.DataFrame(open_part(parts.contents[MEMBERS]).read()))
    again = len(np.intersect1d(before, now, assume_unique=True))
    counted = [
        read_part(layout, last, VALUES),
        pl.DataFrame(open_part(parts.contents[VALUES]).read()),
    ]
    was, is_now = (_holders(each) for each in counted)
    earlier = last.summary
    return Differences(
        since=last.label,
        again=again,
        gone=len(before) - again,
        new=len(now) - again,
        figures={
            words: (earlier[name], figures[name])
            for name, words in _FIGURES.items()
            if name in earlier
        },
        values={
            name: (was.get(name, 0), is_now.get(name, 0))
            for name in sorted(was.keys() | is_now.keys())
        },
    )


def _pair(known: Sequence[float]) -> Change:
    before, now = known
    return before, now


def _present(members: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return members.filter(pl.col("present"))["person"].to_numpy()


def _holders(values: pl.DataFrame) -> dict[str, int]:
    """How many people are published as holders of each value."""
    named = values.select(
        composed(values["value"].cast(pl.String)).alias("value"), pl.col("count").cast(pl.Int64)
    )
    return dict(named.group_by("value").sum().iter_rows())

"""Looking people up, against a dictionary."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import unhurried
from serigraph.errors import ImpossibleState
from serigraph.ledger.person_numbers import Numbered, numbers_of

FAR = 2**62


@st.composite
def people(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """Ids to ask for, repeated ones among them, and those of each release in any order."""
    ids = st.integers(-9, 30) | st.integers(-FAR, FAR)
    known = draw(st.lists(ids, unique=True, max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(known)), max_size=3)))
    releases = [known[a:b] for a, b in zip([0, *cuts], [*cuts, len(known)], strict=True)]
    is_sorted = draw(st.booleans())
    asked = draw(st.lists(st.sampled_from(known) | ids if known else ids, max_size=40))
    if draw(st.booleans()):
        asked = sorted(set(asked))
    return asked, [sorted(each) if is_sorted else each for each in releases]


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
@unhurried
@given(case=people())
def test_numbers_are_places_among_all_people(
    kind: type[pl.DataType], case: tuple[list[int], list[list[int]]]
) -> None:
    asked, releases = case
    number = {id: place for place, id in enumerate(id for each in releases for id in each)}
    found = numbers_of(
        pl.Series(asked, dtype=pl.Int64).cast(kind),
        [pl.Series(each, dtype=pl.Int64).cast(kind) for each in releases],
    )
    assert found.tolist() == [number.get(id, -1) for id in asked]


def test_numbers_are_handed_on_to_some_of_the_people() -> None:
    ids = pl.Series([2, 3, 5, 8])
    asked = Numbered(ids, numbers_of(ids, [pl.Series([1, 3]), pl.Series([8])]), people=3)
    assert asked.numbers(ids).tolist() == [-1, 1, -1, 2]
    assert asked.numbers(pl.Series([3, 5, 8])).tolist() == [1, -1, 2]
    with pytest.raises(ImpossibleState, match="nobody asked"):
        asked.numbers(pl.Series([3, 4]))

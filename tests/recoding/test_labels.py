"""What a region is called says exactly which cells lie in it."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from model.settings import unhurried
from model.trees import leaves_under, trees
from publishing import oracle
from serigraph.model import Domain, Taxonomy
from serigraph.recoding.labels import region_labels, widened_to_nodes


@st.composite
def intervals(draw: st.DrawFn, size: int) -> tuple[int, int]:
    low = draw(st.integers(0, size - 1))
    return low, draw(st.integers(low, size - 1))


def labels_of(domain: Domain, regions: list[tuple[int, int]]) -> list[str]:
    low, high = np.array(regions, dtype=np.int32).T
    return region_labels(domain, low, high).to_list()


@unhurried
@given(
    st.sets(st.integers(-50, 50), min_size=1, max_size=8),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_ranges_of_numbers(
    numbers: set[int], are_halves: bool, has_missing: bool, data: st.DataObject
) -> None:
    known = [number / 2 if are_halves else number for number in sorted(numbers)]
    values = [None, *known] if has_missing else known
    domain = Domain("age", "numeric", pl.Series(values))
    regions = data.draw(st.lists(intervals(len(values)), min_size=1, max_size=5))
    for (low, high), label in zip(regions, labels_of(domain, regions), strict=True):
        assert [oracle.in_range(label, value) for value in values] == [
            low <= code <= high for code in range(len(values))
        ]


@unhurried
@given(st.sets(st.sampled_from("abcdefgh"), min_size=1), st.booleans(), st.data())
def test_sets_of_categories(names: set[str], has_missing: bool, data: st.DataObject) -> None:
    values = [None, *sorted(names)] if has_missing else sorted(names)
    domain = Domain("sex", "categorical", pl.Series(values, dtype=pl.String))
    regions = data.draw(st.lists(intervals(len(values)), min_size=1, max_size=5))
    for (low, high), label in zip(regions, labels_of(domain, regions), strict=True):
        assert [oracle.in_set(label, value) for value in values] == [
            low <= code <= high for code in range(len(values))
        ]


@unhurried
@given(
    st.sets(
        st.one_of(
            st.sampled_from(["missing", "{a, b}", "a, b", '"a"', "{missing}", "a", "b", "{", "}"]),
            st.text('ab,{}" ', min_size=1).map(str.strip).filter(bool),
        ),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
)
def test_no_two_regions_share_a_label(names: set[str], has_missing: bool) -> None:
    values = [None, *sorted(names)] if has_missing else sorted(names)
    domain = Domain("city", "categorical", pl.Series(values, dtype=pl.String))
    regions = [(a, b) for a in range(len(values)) for b in range(a, len(values))]
    assert len(set(labels_of(domain, regions))) == len(regions)


@unhurried
@given(trees(), st.booleans(), st.data())
def test_nodes_of_a_taxonomy(rows: list[list[str]], has_missing: bool, data: st.DataObject) -> None:
    taxonomy = Taxonomy.from_rows(rows)
    values = [None, *taxonomy.leaves] if has_missing else list(taxonomy.leaves)
    domain = Domain("zip", "categorical", pl.Series(values, dtype=pl.String), taxonomy)
    holds = oracle.in_node("\n".join(";".join(row) for row in rows))
    regions = data.draw(st.lists(intervals(len(values)), min_size=1, max_size=5))
    for (low, high), label in zip(regions, labels_of(domain, regions), strict=True):
        assert [holds(label, value) for value in values] == [
            low <= code <= high for code in range(len(values))
        ]


@unhurried
@given(trees(), st.booleans(), st.data())
def test_widening_stays_in_a_box_that_was_cut_between_siblings(
    rows: list[list[str]], has_missing: bool, data: st.DataObject
) -> None:
    taxonomy = Taxonomy.from_rows(rows)
    values = [None, *taxonomy.leaves] if has_missing else list(taxonomy.leaves)
    domain = Domain("zip", "categorical", pl.Series(values, dtype=pl.String), taxonomy)
    box_low, box_high = 0, len(values) - 1
    divergence = domain.divergences()
    for _ in range(data.draw(st.integers(0, 6))):
        inside = divergence[box_low:box_high]
        if len(inside) == 0:
            break
        shallowest = box_low + np.flatnonzero(inside == inside.min())
        cut = int(data.draw(st.sampled_from(shallowest.tolist())))
        if data.draw(st.booleans()):
            box_high = cut
        else:
            box_low = cut + 1
    low = data.draw(st.integers(box_low, box_high))
    high = data.draw(st.integers(low, box_high))
    as_arrays = [np.array([each], dtype=np.int32) for each in (low, high, box_low, box_high)]
    (begin,), (end,) = widened_to_nodes(domain, *as_arrays)
    assert box_low <= begin <= low
    assert high <= end <= box_high
    known = [value for value in values[begin : end + 1] if value is not None]
    if known:
        # What is shown is a node, or children of one node beside each other.
        nodes = {node: set(leaves_under(rows, node)) for row in rows for node in row}
        children: dict[str, set[str]] = {}
        for row in rows:
            for child, parent in zip(row, [*row[1:], "nothing above"], strict=True):
                children.setdefault(parent, set()).add(child)
        made_of = [
            {node for node in siblings if nodes[node] <= set(known)}
            for siblings in children.values()
        ]
        assert any(set().union(*(nodes[node] for node in each)) == set(known) for each in made_of)


def test_a_domain_without_a_taxonomy_is_not_widened() -> None:
    domain = Domain("sex", "categorical", pl.Series(["a", "b", "c"]))
    low, high = np.array([1], dtype=np.int32), np.array([1], dtype=np.int32)
    wide = np.array([0], dtype=np.int32), np.array([2], dtype=np.int32)
    assert widened_to_nodes(domain, low, high, *wide) == (low, high)

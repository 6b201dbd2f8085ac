"""Taxonomies as intervals of leaves: regions are named by nodes that hold exactly their leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import unhurried
from model.trees import leaves_under, trees
from serigraph.errors import TaxonomyError
from serigraph.model import Taxonomy


@unhurried
@given(trees())
def test_leaves_are_in_depth_first_order(rows: list[list[str]]) -> None:
    taxonomy = Taxonomy.from_rows(rows)
    assert sorted(taxonomy.leaves) == sorted(row[0] for row in rows)
    place = {leaf: number for number, leaf in enumerate(taxonomy.leaves)}
    for level in range(1, len(rows[0])):
        for node in {row[level] for row in rows}:
            numbers = sorted(place[row[0]] for row in rows if row[level] == node)
            assert numbers == list(range(numbers[0], numbers[-1] + 1))


@unhurried
@given(trees())
def test_divergence_counts_shared_labels(rows: list[list[str]]) -> None:
    taxonomy = Taxonomy.from_rows(rows)
    path = {row[0]: row[::-1] for row in rows}
    for boundary, depth in enumerate(taxonomy.divergence.tolist()):
        left, right = path[taxonomy.leaves[boundary]], path[taxonomy.leaves[boundary + 1]]
        assert left[:depth] == right[:depth]
        assert left[depth] != right[depth]


@unhurried
@given(trees(), st.data())
def test_a_cover_holds_exactly_the_leaves(rows: list[list[str]], data: st.DataObject) -> None:
    taxonomy = Taxonomy.from_rows(rows)
    low = data.draw(st.integers(0, len(rows) - 1))
    high = data.draw(st.integers(low, len(rows) - 1))
    covered = [leaf for node in taxonomy.cover(low, high) for leaf in leaves_under(rows, node)]
    assert covered == list(taxonomy.leaves[low : high + 1])


@unhurried
@given(trees(), st.data())
def test_a_cover_takes_as_few_nodes_as_there_are(
    rows: list[list[str]], data: st.DataObject
) -> None:
    taxonomy = Taxonomy.from_rows(rows)
    low = data.draw(st.integers(0, len(rows) - 1))
    high = data.draw(st.integers(low, len(rows) - 1))
    inside = set(taxonomy.leaves[low : high + 1])
    fitting = {frozenset(leaves_under(rows, node)) for row in rows for node in row}
    largest = [
        each
        for each in fitting
        if each <= inside and not any(each < other <= inside for other in fitting)
    ]
    assert len(taxonomy.cover(low, high)) == len(largest)


@unhurried
@given(trees(), st.data())
def test_the_smallest_node_and_its_siblings(rows: list[list[str]], data: st.DataObject) -> None:
    taxonomy = Taxonomy.from_rows(rows)
    low = data.draw(st.integers(0, len(rows) - 1))
    high = data.draw(st.integers(low, len(rows) - 1))
    inside = set(taxonomy.leaves[low : high + 1])
    holding = [set(leaves_under(rows, node)) for row in rows for node in row]
    holding = [each for each in holding if inside <= each] or [set(taxonomy.leaves)]
    begin, end = taxonomy.smallest_node(low, high)
    assert set(taxonomy.leaves[begin : end + 1]) == min(holding, key=len)
    if low < high:
        first, last = taxonomy.siblings(low, high)
        assert begin <= first <= low
        assert high <= last <= end
        # What is beside them belongs to other children of the node.
        shared = {taxonomy.paths[n][: len(_shared(taxonomy, low, high)) + 1] for n in (low, high)}
        beside = [n for n in (first - 1, last + 1) if 0 <= n < len(rows)]
        assert all(
            taxonomy.paths[n][: len(_shared(taxonomy, low, high)) + 1] not in shared for n in beside
        )


def _shared(taxonomy: Taxonomy, low: int, high: int) -> list[str]:
    shared = []
    for a, b in zip(taxonomy.paths[low], taxonomy.paths[high], strict=True):
        if a != b:
            break
        shared.append(a)
    return shared


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "it has no lines"),
        ([["a", "x"], ["b"]], "line 2 has a different number of levels from line 1 (2)"),
        ([["a", "x"], ["a", "x"]], "line 2 repeats the leaf of line 1"),
        ([["a", "x", "*"], ["b", "x", "+"]], "line 2 puts 'x' under '+', line 1 under '*'"),
    ],
)
def test_what_is_no_tree_is_refused(rows: list[list[str]], problem: str) -> None:
    with pytest.raises(TaxonomyError) as refused:
        Taxonomy.from_rows(rows, where="zip.csv")
    assert problem in refused.value.problems
    assert "zip.csv" in str(refused.value)

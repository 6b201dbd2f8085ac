"""Taxonomy files, and values that they lack."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from serigraph.errors import TableError, TaxonomyError
from serigraph.model import Taxonomy
from serigraph.policy import Policy
from serigraph.tables import prepare, read_taxonomy
from serigraph.tables.taxonomies import covering
from tables.examples import ZIP_TAXONOMY, clinic_policy, clinic_table, registry_of

WITH_TAXONOMY = ('kind = "categorical"', 'kind = "categorical"\ntaxonomy = "zip.csv"')
WITH_BRANCH = (
    'kind = "categorical"',
    'kind = "categorical"\ntaxonomy = "zip.csv"\nnew_values = "branch"',
)


def policy_with(folder: Path, text: str, change: tuple[str, str]) -> Policy:
    (folder / "zip.csv").write_text(text)
    return clinic_policy(change, folder=folder)


@pytest.mark.parametrize(
    "data",
    [
        b"a;x;*\nb;x;*\nc;y;*\n",
        b"a,x,*\nb,x,*\nc,y,*\n",
        b"\xef\xbb\xbfa;x;*\r\nb;x;*\r\n\r\nc; y ;*\r\n",
        b'"a";"x";"*"\n"b";"x";"*"\n"c";"y";"*"\n',
    ],
)
def test_taxonomies_are_read_as_arx_writes_them(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    taxonomy = read_taxonomy(tmp_path / "t.csv")
    assert taxonomy.paths == (("*", "x", "a"), ("*", "x", "b"), ("*", "y", "c"))


def test_a_comma_inside_a_leaf_is_no_separator(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Paris, France;Europe\n")
    assert read_taxonomy(tmp_path / "t.csv").leaves == ("Paris, France",)


@pytest.mark.parametrize("data", [b"", b"a;x;*\nb;*\n", b"a;x;*\na;x;*\n", b"a;x;r\nb;x;s\n"])
def test_what_is_no_tree_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(TaxonomyError, match=r"t\.csv"):
        read_taxonomy(tmp_path / "t.csv")


def test_all_leaves_are_in_the_domain_in_depth_first_order(tmp_path: Path) -> None:
    shuffled = "".join(f"{line}\n" for line in ZIP_TAXONOMY.split()[::-1])
    policy = policy_with(tmp_path, shuffled, WITH_TAXONOMY)
    population = prepare(clinic_table(), policy).population
    domain = population.domains[2]
    assert domain.values.to_list() == [None, "65002", "65001", "02140", "02139"]
    assert domain.taxonomy is not None
    assert population.codes[2].tolist() == [0, 3, 2, 2, 4]


def test_unknown_values_are_counted_and_not_named(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, "02139;*\n02140;*\n", WITH_TAXONOMY)
    with pytest.raises(TaxonomyError) as caught:
        prepare(clinic_table(), policy, registry_of([9], zip=["99999"]))
    assert len(caught.value.problems) == 2
    assert "1 value of column 'zip'" in caught.value.problems[0]
    assert "rows 2, 3" in caught.value.problems[0]
    assert "65001" not in str(caught.value)
    assert "99999" not in str(caught.value)


def test_taxonomy_problems_come_together_with_all_others(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, "02139;*\n", WITH_TAXONOMY)
    table = clinic_table().with_columns(age=pl.lit("old"))
    with pytest.raises(TableError) as caught:
        prepare(table, policy)
    assert len(caught.value.problems) == 2


def test_a_broken_taxonomy_is_reported_by_prepare(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, "02139;*\n02139;*\n", WITH_TAXONOMY)
    with pytest.raises(TaxonomyError, match=r"zip\.csv: line 2 repeats"):
        prepare(clinic_table(), policy)


def test_new_values_get_a_branch(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, "02139;021**;*\n02140;021**;*\n", WITH_BRANCH)
    population = prepare(clinic_table(), policy, registry_of([9], zip=["99999"])).population
    taxonomy = population.domains[2].taxonomy
    assert taxonomy is not None
    assert taxonomy.paths == (
        ("*", "021**", "02139"),
        ("*", "021**", "02140"),
        ("*", "(new)", "65001"),
        ("*", "(new)", "99999"),
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["a", "*"]], ("*", "z")),
        ([["a", "x", "w", "*"]], ("*", "(new)", "(new)", "z")),
        ([["a", "x"], ["b", "y"]], ("(new)", "z")),
        ([["a"], ["b"]], ("z",)),
    ],
)
def test_the_branch_fits_taxonomies_of_any_depth(
    rows: list[list[str]], expected: tuple[str, ...]
) -> None:
    grown, unknown = covering(Taxonomy.from_rows(rows), pl.Series(["z", "a", None]), "branch")
    assert grown.paths[-1] == expected
    assert unknown == frozenset()


def test_names_are_read_in_one_unicode_form(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Mu\u0308nchen;Bayern\nKo\u0308ln;Rheinland\n", encoding="utf-8")
    assert read_taxonomy(path).leaves == ("München", "Köln")

"""Releases of other tools: every dialect gives the same figures, what does not fit is refused."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from audit.foreign_examples import DIALECTS, HELD, MEMBERS, RAW, write
from serigraph.auditing import Tolerated, audit_releases
from serigraph.auditing.matching import match, read_regions
from serigraph.errors import InputRefused, TableError
from serigraph.model import Domain


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect(dialect: str, tmp_path: Path) -> None:
    files = write(tmp_path, release=DIALECTS[dialect])
    if dialect == "sdcMicro":
        text = files["policy"].read_text() + '[reading]\nnull_values = ["NA"]\n'
        files["policy"].write_text(text)
    found = audit_releases([files["release"]], files["policy"], raw=[files["raw"]]).audit
    assert found.people == 12
    assert found.releases[0].localised.largest == found.over_all.largest == Fraction(1, 2)
    assert found.over_all.pairs == 36
    assert found.over_all.mean == pytest.approx((4 * (2 + 1 + 1) / 4) * 3 / 36)
    assert (found.over_all.pairs_above, found.over_all.people_above) == (12, 12)


@pytest.mark.parametrize("dialect", ["anonypy", "Serigraph", "ARX, intervals"])
def test_a_registry_instead_of_the_raw_table(dialect: str, tmp_path: Path) -> None:
    files = write(tmp_path, release=DIALECTS[dialect], registry=RAW + "13,30,F,single,z\n")
    found = audit_releases([files["release"]], files["policy"], registry=files["registry"]).audit
    # The thirteenth person lies in the first region: five to choose from.
    assert found.people == 13
    assert found.over_all.pairs == 39
    assert found.over_all.largest == Fraction(1, 2)
    others = {each.name: each.figures for each in found.assumptions}
    assert others["presence known"].mean > found.over_all.mean


def test_a_registry_and_raw_tables_tell_who_is_absent(tmp_path: Path) -> None:
    files = write(tmp_path, release=DIALECTS["Serigraph"], registry=RAW + "13,30,F,single,z\n")
    found = audit_releases(
        [files["release"]], files["policy"], raw=[files["raw"]], registry=files["registry"]
    ).audit
    others = {each.name: each.figures for each in found.assumptions}
    assert found.over_all.pairs == 39
    assert others["presence known"].pairs == 36, "the absent person is linked to nothing"


@pytest.mark.parametrize("shape", ["pair", "plus", "folder", "frames"])
def test_bucketised_pairs(shape: str, tmp_path: Path) -> None:
    files = write(tmp_path, quasi_identifiers=MEMBERS, sensitive=HELD)
    members, held = files["quasi_identifiers"], files["sensitive"]
    sources = {
        "pair": (members, held),
        "plus": f"{members}+{held}",
        "folder": tmp_path,
        "frames": (pl.read_csv(members), pl.read_csv(held)),
    }
    found = audit_releases([sources[shape]], files["policy"], raw=[files["raw"]]).audit
    assert found.over_all.largest == Fraction(1, 2)
    assert found.over_all.pairs == 36


def test_two_releases_multiply(tmp_path: Path) -> None:
    files = write(tmp_path, one=DIALECTS["anonypy"], two=DIALECTS["Serigraph"])
    found = serigraph.audit(
        releases=[files["one"], files["two"]],
        policy=files["policy"],
        raw=[files["raw"], files["raw"]],
    )
    assert [each.label for each in found.releases] == ["one.csv", "two.csv"]
    assert found.over_all.largest == Fraction(3, 4)


def test_people_who_moved_are_found_in_the_region_of_their_time(tmp_path: Path) -> None:
    moved = RAW.replace("\n1,21,F,single,a", "\n1,62,M,single,a")
    second = DIALECTS["Serigraph"].replace('"[21, 36]",F,alone,a', '"[61, 79]",M,alone,a', 1)
    files = write(tmp_path, one=DIALECTS["Serigraph"], two=second, moved=moved)
    found = audit_releases(
        [files["one"], files["two"]], files["policy"], raw=[files["raw"], files["moved"]]
    ).audit
    # Person 1: 2 of 4 in the first group, then 3 of 5 in the third.
    assert found.over_all.largest == 1 - Fraction(1, 2) * Fraction(2, 5)


def test_a_class_of_values_and_few_protected_ones(tmp_path: Path) -> None:
    files = write(tmp_path, release=DIALECTS["anonypyx"])
    text = (
        files["policy"].read_text()
        + '[protected]\nvalues = []\n[protected.classes]\nab = ["a", "b"]\n'
    )
    files["policy"].write_text(text)
    found = audit_releases([files["release"]], files["policy"], raw=[files["raw"]]).audit
    assert found.over_all.largest == Fraction(3, 4)
    assert {case.value for case in found.worst} == {"ab"}


ROWS = DIALECTS["Serigraph"] + '"[21, 36]",F,alone,b\n' * 18  # of whom, the release does not say


@pytest.mark.parametrize("adversary", ["presence unknown", "presence known"])
def test_more_records_than_people(adversary: str, tmp_path: Path) -> None:
    """Where people have several rows, a region may show a value more often than it has people."""
    absent = "".join(f"{number},30,F,single,z\n" for number in range(13, 40))
    files = write(tmp_path, release=ROWS, registry=RAW + absent)
    text = files["policy"].read_text().replace('column = "job"', 'column = "job"\nform = "rows"')
    files["policy"].write_text(text.replace("l = 3", f'l = 3\nadversary = "{adversary}"'))
    found = audit_releases(
        [files["release"]], files["policy"], raw=[files["raw"]], registry=files["registry"]
    ).audit
    worst = {(case.exposures[0].count, case.exposures[0].size) for case in found.worst}
    if adversary == "presence known":
        assert found.people == 12, "nobody else is known to be there"
        assert (4, 4) in worst, "each of the four may hold it"
    else:
        assert found.people == 39
        assert found.over_all.largest == Fraction(1, 2)


def test_another_table_than_that_of_the_release(tmp_path: Path) -> None:
    """Everybody is in the registry, but hardly anybody in the table that was given."""
    few = "".join(RAW.splitlines(keepends=True)[:3])
    files = write(tmp_path, release=DIALECTS["Serigraph"], registry=RAW, few=few)
    text = files["policy"].read_text().replace("l = 3", 'l = 3\nadversary = "presence known"')
    for policy in (text, files["policy"].read_text()):
        files["policy"].write_text(policy)
        with pytest.raises(TableError) as caught:
            audit_releases(
                [files["release"]],
                files["policy"],
                raw=[files["few"]],
                registry=files["registry"],
                tolerate=["empty-regions"],
            )
        assert any("more records than people" in each for each in caught.value.problems)


def test_a_semicolon_in_a_value_of_another_tool(tmp_path: Path) -> None:
    """A table with a column of its own is not one of ours: its cells are not taken apart."""
    raw = RAW.replace(",c\n", ",c; severe\n")
    release = DIALECTS["anjana"].replace(",c\n", ",c; severe\n")
    files = write(tmp_path, release=release, raw_rows=raw)
    text = files["policy"].read_text().replace('column = "job"', 'column = "job"\nform = "rows"')
    files["policy"].write_text(text + '[protected]\nvalues = ["c; severe"]\n')
    found = audit_releases([files["release"]], files["policy"], raw=[files["raw_rows"]]).audit
    assert found.over_all.largest == Fraction(1, 4)
    assert {case.value for case in found.worst} == {"c; severe"}
    assert not found.notes


BAD: dict[str, tuple[str, str, str]] = {
    "a region that matches nobody": (
        DIALECTS["Serigraph"].replace("[21, 36]", "[1, 9]"),
        "1 region matches no person",
        "--tolerate missing-people --tolerate empty-regions",
    ),
    "regions that overlap": (
        DIALECTS["Serigraph"].replace("[40, 59]", "[30, 59]"),
        "regions overlap: 1 person is",
        "--tolerate overlaps",
    ),
    "people that are missed": (
        DIALECTS["Serigraph"].replace('"[21, 36]",F,alone,a\n', "", 1).replace("[21", "[22"),
        "1 person is in no region",
        "--tolerate missing-people",
    ),
    "records that were dropped": (
        DIALECTS["Serigraph"].replace('"[21, 36]",F,alone,b\n', ""),
        "1 region has fewer records",
        "--tolerate missing-people",
    ),
    "records of nobody": (
        DIALECTS["Serigraph"] + '"[61, 79]",M,alone,b\n',
        "1 region has more records than people",
        "raw tables",
    ),
    "an unreadable interval": (
        DIALECTS["Serigraph"].replace('"[40, 59]"', '"[40, fifty-nine]"'),
        "column 'age': 4 cells that is no value",
        "kind of the column",
    ),
    "a name that no taxonomy has": (
        DIALECTS["Serigraph"].replace("M,alone", "M,lonely"),
        "column 'marital'",
        "taxonomy",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_releases(case: str, tmp_path: Path) -> None:
    text, problem, remedy = BAD[case]
    files = write(tmp_path, release=text)
    with pytest.raises(TableError) as caught:
        audit_releases([files["release"]], files["policy"], raw=[files["raw"]])
    error = caught.value
    assert any(problem in each for each in error.problems), error.problems
    assert error.where == "release.csv"
    assert remedy in error.remedy
    assert "fifty" not in str(error)
    assert "lonely" not in str(error)


@pytest.mark.parametrize(
    ("case", "tolerated", "largest"),
    [
        ("regions that overlap", "overlaps", Fraction(1, 2)),
        ("people that are missed", "missing-people", Fraction(1, 2)),
        ("records that were dropped", "missing-people", Fraction(1, 2)),
    ],
)
def test_tolerated_misfits_are_noted(
    case: str, tolerated: Tolerated, largest: Fraction, tmp_path: Path
) -> None:
    files = write(tmp_path, release=BAD[case][0])
    found = audit_releases(
        [files["release"]], files["policy"], raw=[files["raw"]], tolerate=[tolerated]
    ).audit
    assert found.notes
    assert "release.csv" in found.notes[0]
    assert found.over_all.largest == largest


def test_overlaps_are_charged_by_the_worst_region(tmp_path: Path) -> None:
    """Local suppression: a row of stars in age hides among everybody of its sex and state."""
    release = (
        "age,sex,marital,job\n"
        "*,F,alone,a\n*,F,alone,b\n"  # two records, both open to five women
        "20-39,F,alone,a\n20-39,F,alone,c\n"
        "40-59,*,*,a\n40-59,*,*,b\n40-59,*,*,b\n40-59,*,*,c\n"
        "60-79,M,alone,a\n60-79,M,alone,a\n60-79,M,alone,b\n60-79,M,alone,c\n"
    )
    files = write(tmp_path, release=release)
    with pytest.raises(TableError, match="--tolerate overlaps"):
        audit_releases([files["release"]], files["policy"], raw=[files["raw"]])
    found = audit_releases(
        [files["release"]], files["policy"], raw=[files["raw"]], tolerate=["overlaps"]
    )
    by_person = {
        (found.pseudonyms[case.pseudonym], case.value): case.probability
        for case in found.audit.worst
    }
    # A woman of 59 lies in "40-59" (b: 2 of 4) and in "* F alone" (a, b: 1 of 2).
    assert found.audit.over_all.largest == Fraction(1, 2)
    assert len(by_person) == 10
    # a, b, c for the four in two of the regions; a and b again cost nothing more.
    assert found.audit.over_all.pairs == 36


def test_nobody_to_match(tmp_path: Path) -> None:
    files = write(tmp_path, release=DIALECTS["Serigraph"])
    with pytest.raises(InputRefused, match="the people of the releases are not known"):
        audit_releases([files["release"]], files["policy"])
    with pytest.raises(InputRefused, match="2 raw tables given for 1 release"):
        audit_releases([files["release"]], files["policy"], raw=[files["raw"]] * 2)
    with pytest.raises(InputRefused, match="nothing to audit"):
        audit_releases([], files["policy"])
    with pytest.raises(InputRefused, match="either a series, or releases"):
        serigraph.audit()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("age,sex,job\n20-39,F,a\n", "no column 'marital'"),
        ("age,sex,marital,job\n", "no rows"),
        ("age,sex,marital,job,count\n20-39,F,alone,a,many\n", "'count' holds something other"),
    ],
)
def test_releases_that_cannot_be_read(text: str, problem: str, tmp_path: Path) -> None:
    files = write(tmp_path, release=text)
    with pytest.raises(TableError) as caught:
        audit_releases([files["release"]], files["policy"], raw=[files["raw"]])
    assert any(problem in each for each in caught.value.problems)


def test_a_pair_whose_groups_do_not_meet(tmp_path: Path) -> None:
    files = write(tmp_path, members=MEMBERS, held=HELD + "w,a,1\n")
    with pytest.raises(TableError) as caught:
        audit_releases([(files["members"], files["held"])], files["policy"], raw=[files["raw"]])
    assert "name a group that has no members, row 10" in caught.value.problems[0]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="does not contain a release"):
        audit_releases([tmp_path / "empty"], files["policy"], raw=[files["raw"]])


def test_raw_tables_that_contradict_themselves(tmp_path: Path) -> None:
    files = write(tmp_path, release=DIALECTS["Serigraph"], twice=RAW + "1,22,F,single,a\n")
    with pytest.raises(TableError) as caught:
        audit_releases([files["release"]], files["policy"], raw=[files["twice"]])
    assert "column 'age' differs between the rows of 1 person" in caught.value.problems[0]


def test_matching_against_all_pairs() -> None:
    """The compiled matching keeps what columns before it left over; here everything is tried."""
    draw = random.Random(3)
    domains = tuple(Domain(name, "numeric", pl.Series(list(range(8)))) for name in ("x", "y", "z"))
    people = np.array([[draw.randrange(8) for _ in range(60)] for _ in domains], dtype=np.int32)
    boxes = [[sorted(draw.choices(range(8), k=2)) for _ in domains] for _ in range(25)]
    cells = pl.DataFrame(
        {
            domain.name: [f"{box[column][0]}-{box[column][1]}" for box in boxes]
            for column, domain in enumerate(domains)
        }
    )
    regions, problems = read_regions(cells, domains)
    person, region = match(people, regions)
    rows = {
        (int(p), row)
        for p, r in zip(person, region, strict=True)
        for row in range(25)
        if regions.of_row[row] == r
    }
    expected = {
        (p, row)
        for p in range(60)
        for row, box in enumerate(boxes)
        if all(low <= people[c, p] <= high for c, (low, high) in enumerate(box))
    }
    assert not problems
    assert rows == expected


def test_a_taxonomy_whose_names_look_like_other_ranges(tmp_path: Path) -> None:
    """A tool put the people of 40 below "20-39". Read as a range, their records are those of too
    few people, and the refusal says what is missing; read by that taxonomy, everything fits."""
    ages = {20: "20-39", 30: "20-39", 40: "20-39", 50: "40-59", 60: "40-59", 55: "40-59"}
    raw = pl.DataFrame({"id": range(6), "age": list(ages), "held": ["a", "b", "c"] * 2})
    release = pl.DataFrame({"age": list(ages.values()), "held": ["a", "b", "c"] * 2})
    (tmp_path / "age.csv").write_text("".join(f"{age};{up};*\n" for age, up in ages.items()))

    def policy(described: str) -> Path:
        path = tmp_path / "policy.toml"
        path.write_text(
            f'version = 1\n[person]\nid = "id"\n[quasi_identifiers.age]\n{described}\n'
            '[sensitive]\ncolumn = "held"\n[guarantee]\nl = 2\n'
        )
        return path

    with pytest.raises(TableError, match="do not match") as refusal:
        audit_releases([release], policy('kind = "numeric"'), raw=[raw])
    assert "1 region has more records than people" in refusal.value.problems
    assert "taxonomy" in refusal.value.remedy
    described = policy('kind = "categorical"\ntaxonomy = "age.csv"')
    found = audit_releases([release], described, raw=[raw])
    assert found.audit.over_all.largest == Fraction(1, 3)

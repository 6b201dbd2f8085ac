"""Our own public files, audited as if another tool had made them: the ledger's figures, exactly."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from audit import oracle
from model.settings import about
from serigraph.auditing import Audit, Figures, audit_releases, audit_series
from serigraph.auditing.evidence import Evidence
from serigraph.auditing.from_releases import first_choice, gather_evidence, match_release
from serigraph.auditing.known_people import know_people
from serigraph.auditing.reading import read_release
from serigraph.errors import Infeasible, TableError
from serigraph.ledger import Series
from serigraph.policy import read_policy
from serigraph.publishing import publish
from serigraph.runtime.randomness import SeededRandomness

# Texts that a careless writer or reader of CSV files would take for something else.
COMMON = ("flu", "gout; chronic", "missing")
RARE = (
    "HIV; stage 2",
    ";",
    "\\",
    "ends in \\",
    "\\;",
    'so "called"',
    "'quoted'",
    "two\nlines",
    "carriage\rreturn",
    "with, comma",
    "tab\tbed",
    "Übelkeit",
    "{a, b}",
    "*",
    "NA",
    "[1, 2]",
    "x\x1fy",
)
TOWNS = (
    "Aa",
    "missing",
    "{Aa, Bb}",
    "a, b",
    'Q"uote',
    "*",
    "**",
    "20-30",
    "[1, 2]",
    "'Ee'",
    "a;b",
    "Zoë\nNord",
    "NA",
    "\x1fUnit",
)
TAXONOMY = """651;unknown;*
652;unknown;*
653;65*;*
"6,4";"{6}";*
missing;missing;*
"""
ZIPS = ("651", "652", "653", "6,4", "missing")
SHAPES = ("single", "rows", "list", "delimited")


@dataclass(frozen=True)
class Case:
    """One way to publish, and what is published."""

    shape: str
    form: str
    adversary: str
    files: str
    has_registry: bool
    has_class: bool
    delimiter: str
    people: int
    seed: int

    @property
    def is_bucketised(self) -> bool:
        return self.form == "bucketised"


CASES = st.builds(
    Case,
    shape=st.sampled_from(SHAPES),
    form=st.sampled_from(["generalised", "bucketised"]),
    adversary=st.sampled_from(["presence unknown", "presence known"]),
    files=st.sampled_from(["csv", "parquet"]),
    has_registry=st.booleans(),
    has_class=st.booleans(),
    delimiter=st.sampled_from(["|", ";", "\\"]),
    people=st.integers(24, 70),
    seed=st.integers(0, 2**32),
)


def policy_of(case: Case) -> str:
    delimiter = f"delimiter = {json.dumps(case.delimiter)}" if case.shape == "delimited" else ""
    classes = f'[protected.classes]\n"a class" = {json.dumps(values_of(case)[-2:])}\n'
    # The sections on reading are about the raw tables, and must not be taken for ours.
    return f"""version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.town]
kind = "categorical"
[quasi_identifiers.zip]
kind = "categorical"
taxonomy = "zip.csv"
[quasi_identifiers.admitted]
kind = "date"
[sensitive]
column = "diagnosis"
form = "{case.shape}"
{delimiter}
[protected]
except = {json.dumps(COMMON)}
unheld = "allow"
{classes if case.has_class else ""}
[guarantee]
threshold = "1/2"
adversary = "{case.adversary}"
[strategy]
name = "constant"
releases = 2
[output]
form = "{case.form}"
files = ["{case.files}"]
[reading]
null_values = ["unknown", "-"]
delimiter = ";"
quote = "'"
encoding = "cp1252"
"""


def values_of(case: Case) -> list[str]:
    """The rare values that a table of this shape can hold."""
    if case.shape != "delimited":
        return list(RARE)
    return [value for value in RARE if case.delimiter not in value]


def population(case: Case, draw: random.Random) -> pl.DataFrame:
    """Everybody; no two are alike in all, so that the groups of two tables can be told apart."""
    ages = [draw.choice([float(age), age + 0.5, age * 1e-7]) for age in range(case.people)]
    admitted = [f"20{draw.randint(10, 24)}-0{draw.randint(1, 9)}-11" for _ in ages]

    def some(cells: Sequence[Any]) -> list[Any]:
        return [None if draw.random() < 0.1 else cell for cell in cells]

    return pl.DataFrame(
        {
            "patient": [f"p{number}" for number in range(case.people)],
            "age": draw.sample(ages, len(ages)),
            "town": some([draw.choice(TOWNS) for _ in ages]),
            "zip": some([draw.choice(ZIPS) for _ in ages]),
            "admitted": some(admitted),
        },
        schema_overrides={"town": pl.String, "zip": pl.String, "admitted": pl.String},
    )


def table_of(case: Case, known: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    """A table in the shape of the case, with blanks and empty cells as real tables have them."""
    present = known[sorted(draw.sample(range(case.people), case.people * 4 // 5))]
    rare = draw.sample(values_of(case), 3)
    holders = set(draw.sample(range(present.height), 4))
    common = [value for value in COMMON if case.delimiter not in value or case.shape != "delimited"]
    sets = []
    for place in range(present.height):
        held = draw.sample(common, draw.randint(0, 2))
        sets.append([*held, *draw.sample(rare, draw.randint(1, 2))] if place in holders else held)
    if case.shape == "single":
        cells = [held[-1] if held else draw.choice([None, "", "  ", "-"]) for held in sets]
        return present.with_columns(pl.Series("diagnosis", cells, dtype=pl.String))
    if case.shape == "delimited":
        cells = [f" {case.delimiter} ".join([*held, ""]) for held in sets]
        return present.with_columns(pl.Series("diagnosis", cells, dtype=pl.String))
    padded = [[f" {value}\t" for value in held] + [""] for held in sets]
    column = pl.Series("diagnosis", padded, dtype=pl.List(pl.String))
    table = present.with_columns(column)
    return table.explode("diagnosis") if case.shape == "rows" else table


@dataclass(frozen=True)
class Published:
    series: Series
    releases: list[Path]
    raw: list[pl.DataFrame]
    registry: pl.DataFrame | None

    @property
    def policy(self) -> Path:
        return self.series.path / "policy.toml"


def publish_two(case: Case, folder: Path) -> Published:
    """A series of two releases, and their files taken to another place."""
    draw = random.Random(case.seed)
    files = {"policy.toml": policy_of(case).encode(), "zip.csv": TAXONOMY.encode()}
    series = Series.create(folder / "clinic", files)
    known = population(case, draw)
    registry = known if case.has_registry else None
    tables, releases = [], []
    for number in range(2):
        table = table_of(case, known, draw)
        chance = SeededRandomness(draw.randrange(2**32))
        label = f"r{number}"
        publish(table, series, registry=registry, label=label, randomness=chance)
        tables.append(table)
        public = series.path / "releases" / label
        elsewhere = folder / label
        elsewhere.mkdir()
        for path in public.iterdir():
            (elsewhere / path.name).write_bytes(path.read_bytes())
        releases.append(elsewhere)
    return Published(series, releases, tables, registry)


Links = dict[tuple[int, str, str], tuple[int, int]]  # of release, person and value: n_s and n


def links_in(evidence: Evidence) -> Links:
    """n_s and n of every person and value in every release."""
    found: Links = {}
    known = evidence.memberships
    for person, (begin, end) in enumerate(pairwise(known.first.tolist())):
        for release, group in zip(known.release[begin:end], known.group[begin:end], strict=True):
            for entry in range(*evidence.start[group : group + 2].tolist()):
                name = evidence.values[int(evidence.value[entry])]
                pair = (int(release), str(evidence.ids[person]), name)
                found[pair] = (int(evidence.count[entry]), int(evidence.size[entry]))
    return found


def links_in_ledger(series: Series, folder: Path) -> Links:
    """The same in plain Python from the exported ledger."""
    series.export(folder)
    is_presence_known = series.releases()[0].is_presence_known
    found: Links = {}
    for number, release in enumerate(oracle.releases_of(folder)):
        size = release.present_size if is_presence_known else release.size
        for person, group in release.group.items():
            for value, count in release.held.get(group, {}).items():
                found[number, person, value] = (count, size[group])
    return found


def evidence_from_files(published: Published) -> Evidence:
    policy = read_policy(published.policy)
    read = [read_release(path, policy, number) for number, path in enumerate(published.releases)]
    people = know_people(read, policy, published.raw, published.registry).of_release
    choice = first_choice(read[0], policy)
    matched = [
        match_release(release, known, policy, choice, frozenset())
        for release, known in zip(read, people, strict=True)
    ]
    return gather_evidence(matched, policy)


def audit_files(published: Published) -> Audit:
    return audit_releases(
        published.releases, published.policy, raw=published.raw, registry=published.registry
    ).audit


def exactly(figures: Figures) -> Figures:
    """Figures to compare: the mean depends on the order in which floats are added, and of equally
    bad pairs any one may be named."""
    worst = figures.worst and replace(figures.worst, value="")
    return replace(figures, mean=round(figures.mean, 12), worst=worst)


@settings(about(12), suppress_health_check=list(HealthCheck))
@given(CASES)
def test_every_group_and_every_figure_is_the_ledgers(case: Case) -> None:
    # Two tables do not tell how many people hold a class; another test is about that.
    assume(not (case.is_bucketised and case.has_class and case.shape != "single"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            published = publish_two(case, folder)
        except Infeasible:
            assume(False)
        expected = links_in_ledger(published.series, folder / "export")
        assert links_in(evidence_from_files(published)) == expected
        mine = audit_series(published.series).audit
        theirs = audit_files(published)
    assert mine.files_agree
    assert exactly(theirs.over_all) == exactly(mine.over_all)
    for alone, of_ledger in zip(theirs.releases, mine.releases, strict=True):
        assert exactly(alone.localised) == exactly(of_ledger.localised)
        assert exactly(alone.so_far) == exactly(of_ledger.so_far)
        assert alone.people == of_ledger.people
    assert theirs.people == mine.people
    for other, of_ledger in zip(theirs.assumptions, mine.assumptions, strict=True):
        assert exactly(other.figures) == exactly(of_ledger.figures)


def case_of(**choices: Any) -> Case:
    """A case that can be published, with some of its choices made."""
    plain = Case("single", "generalised", "presence unknown", "csv", True, False, "|", 60, 3)
    return replace(plain, **choices)


def test_a_class_in_two_tables_is_an_upper_bound_and_noted(tmp_path: Path) -> None:
    published = publish_two(case_of(shape="list", form="bucketised", has_class=True), tmp_path)
    found = audit_files(published)
    assert any("upper bounds" in note for note in found.notes)
    expected = links_in_ledger(published.series, tmp_path / "export")
    shown = links_in(evidence_from_files(published))
    assert shown.keys() == expected.keys()
    for (release, person, value), (count, size) in expected.items():
        of_files = shown[release, person, value]
        assert of_files[1] == size
        assert of_files[0] == count or (value == "a class" and of_files[0] > count)


@pytest.mark.parametrize("files", ["csv", "parquet"])
@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_tables_in_several_files_as_spark_writes_them(
    form: str, files: str, tmp_path: Path
) -> None:
    published = publish_two(case_of(shape="list", form=form, files=files), tmp_path)
    whole = audit_files(published)
    for path in [path for folder in published.releases for path in folder.iterdir()]:
        read, ending = (
            (pl.read_parquet(path), "parquet")
            if files == "parquet"
            else (pl.read_csv(path, infer_schema=False), "csv")
        )
        path.unlink()
        path.mkdir()
        for number, rows in enumerate((read[:5], read[5:])):
            file = path / f"part-{number}.{ending}"
            rows.write_parquet(file) if files == "parquet" else rows.write_csv(file)
    assert exactly(audit_files(published).over_all) == exactly(whole.over_all)


def test_a_note_says_how_cells_were_taken_apart(tmp_path: Path) -> None:
    published = publish_two(case_of(shape="rows"), tmp_path)
    assert any("';' separates the values" in note for note in audit_files(published).notes)


def test_people_who_are_alike_in_two_groups_are_refused_with_what_to_do(tmp_path: Path) -> None:
    """Two tables show exact cells: who of two people that are alike is in which group, only the
    ledger knows."""
    policy = """version = 1
[person]
id = "patient"
[quasi_identifiers.sex]
kind = "categorical"
[sensitive]
column = "diagnosis"
[protected]
except = ["flu"]
[guarantee]
threshold = "1/2"
[strategy]
name = "constant"
releases = 2
[output]
form = "bucketised"
"""
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy.encode()})
    raw = pl.DataFrame(
        {
            "patient": range(60),
            "sex": ["F", "M"] * 30,
            "diagnosis": ["HIV" if number % 20 == 0 else "flu" for number in range(60)],
        }
    )
    publish(raw, series, label="r0")
    released, rules = [series.path / "releases" / "r0"], series.path / "policy.toml"
    with pytest.raises(TableError, match="--tolerate overlaps"):
        audit_releases(released, rules, raw=[raw])
    found = audit_releases(released, rules, raw=[raw], tolerate=["overlaps"]).audit
    mine = audit_series(series).audit
    assert found.over_all.largest == mine.over_all.largest
    assert found.over_all.pairs >= mine.over_all.pairs

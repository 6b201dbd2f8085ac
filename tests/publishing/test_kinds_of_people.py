"""Quasi-identifiers of every kind, ids, registries, adversaries and strategies, end to end."""

from __future__ import annotations

import random
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import serigraph
from marks import thorough
from publishing import oracle
from publishing.checking import Meaning, check_series, exported, publish_all
from publishing.clinic import COMMON, RARE, ZIP_TAXONOMY, Clinic, clinic, new_series, policy_text
from serigraph.errors import Infeasible, TaxonomyError
from serigraph.runtime.randomness import SeededRandomness

FORMS = ("generalised", "bucketised")


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=4, people=400, registered=1000, seed=8)


@pytest.mark.parametrize("output", FORMS)
def test_missing_cells_in_every_column(hospital: Clinic, tmp_path: Path, output: str) -> None:
    def with_gaps(table: pl.DataFrame) -> pl.DataFrame:
        # The same cells of a person are missing in every table: by the digits of its id.
        number = pl.col("patient").str.slice(1).cast(pl.Int64)
        return table.with_columns(
            pl.when(number % place > 0).then(name).alias(name)
            for name, place in {"age": 7, "sex": 11, "zip": 5}.items()
        )

    tables = [with_gaps(table) for table in hospital.tables]
    registry = with_gaps(hospital.registry)
    series = new_series(tmp_path / "clinic", policy_text(output=f'form = "{output}"'))
    releases = publish_all(series, tables, registry)
    check_series(series, tables, registry, exported=exported(series, tmp_path / "export"))
    if output == "generalised":
        shown = releases[0].tables["table"]
        assert all(shown[name].str.contains("missing").any() for name in ("age", "sex", "zip"))


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
def test_regions_of_a_taxonomy_are_nodes_or_siblings(
    hospital: Clinic, tmp_path: Path, method: str
) -> None:
    series = new_series(tmp_path / "clinic", policy_text(output=f'method = "{method}"'))
    parent_of: dict[str, set[str]] = {}
    for line in ZIP_TAXONOMY.splitlines():
        path = line.split(";")
        for child, parent in pairwise(path):
            parent_of.setdefault(child, set()).add(parent)
    labels = set()
    for release in publish_all(series, hospital.tables):
        labels |= set(release.tables["table"]["zip"])
    for label in labels:
        nodes = label.strip("{}").split(", ")
        parents = {frozenset(parent_of.get(node, {""})) for node in nodes}
        assert len(parents) == 1, "the nodes of a region are no siblings"
    assert any(label.startswith("{") for label in labels)
    assert any(label.endswith("**") for label in labels)


@pytest.mark.parametrize("output", FORMS)
def test_dates_decimals_and_integer_ids(tmp_path: Path, output: str) -> None:
    draw = random.Random(4)
    born = {i: date(1940, 1, 1) + timedelta(days=draw.randrange(25_000)) for i in range(-50, 900)}
    weight = {i: round(draw.uniform(40, 120), 1) for i in born}

    def table(ids: list[int]) -> pl.DataFrame:
        rows = [
            (i, born[i], weight[i], "hiv" if draw.random() < 0.02 else draw.choice(COMMON))
            for i in ids
        ]
        names = ["patient", "born", "weight", "diagnosis"]
        return pl.DataFrame(rows, schema=names, orient="row")

    tables = [table(draw.sample(sorted(born), 400)) for _ in range(3)]
    columns = """\
[quasi_identifiers.born]
kind = "date"
unique_values = "publish"
[quasi_identifiers.weight]
kind = "numeric"
unique_values = "publish"
"""
    text = policy_text(columns=columns, output=f'form = "{output}"')
    series = new_series(tmp_path / "clinic", text)
    publish_all(series, tables)

    def in_dates(label: str, cell: object) -> bool:
        return oracle.in_range(label, str(cell))

    meaning = Meaning(columns={"born": in_dates, "weight": oracle.in_range})
    folder = exported(series, tmp_path / "export")
    export = check_series(series, tables, exported=folder, meaning=meaning)
    people = {person for group in export.groups[0].values() for person in group.members}
    assert people == set(tables[0]["patient"].cast(pl.String))
    someone = tables[0].filter(diagnosis="hiv")["patient"][0]
    assert serigraph.history(series, someone, "hiv").exposures
    assert serigraph.history(series, str(someone), "hiv").exposures


@pytest.mark.parametrize("output", FORMS)
def test_people_outside_of_the_registry_are_members_too(
    hospital: Clinic, tmp_path: Path, output: str
) -> None:
    known = hospital.registry.filter(pl.col("patient").str.slice(1).cast(pl.Int64) % 4 > 0)
    moved = known.with_columns(age=pl.col("age") + 1)
    table = hospital.tables[0]
    outside = table.join(known, on="patient", how="anti").height
    series = new_series(tmp_path / "clinic", policy_text(output=f'form = "{output}"'))
    (release,) = publish_all(series, [table], moved)
    assert release.figures["people_outside_registry"] == outside > 0
    differing = table.join(known, on="patient").filter(pl.col("age").is_not_null()).height
    assert release.figures["people_differing_from_registry"] == differing > 0
    check_series(series, [table], moved, exported=exported(series, tmp_path / "export"))


@pytest.mark.parametrize("output", FORMS)
@pytest.mark.parametrize("adversary", ["presence known", "presence unknown"])
@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
def test_nobody_is_in_a_smaller_group_than_the_policy_says(
    hospital: Clinic, tmp_path: Path, output: str, adversary: str, method: str
) -> None:
    text = policy_text(
        protected=f'values = ["{RARE[4]}"]',
        guarantee=f'l = 2\nadversary = "{adversary}"\nminimum_group_size = 11',
        output=f'form = "{output}"\nmethod = "{method}"',
    )
    series = new_series(tmp_path / "clinic", text)
    tables = hospital.tables[:2]
    publish_all(series, tables, hospital.registry)
    folder = exported(series, tmp_path / "export")
    meaning = Meaning(counted_as=lambda value: (value,) if value == RARE[4] else ())
    export = check_series(series, tables, hospital.registry, exported=folder, meaning=meaning)
    counted = "present" if adversary == "presence known" else "size"
    sizes = [getattr(group, counted) for groups in export.groups for group in groups.values()]
    assert min(sizes) >= 11
    # Far from protected values groups stay as small as that.
    assert min(sizes) < 20


def test_whoever_is_known_to_be_absent_hides_nobody(hospital: Clinic, tmp_path: Path) -> None:
    text = policy_text(guarantee='threshold = "1/2"\nadversary = "presence known"')
    series = new_series(tmp_path / "clinic", text)
    publish_all(series, hospital.tables, hospital.registry)
    folder = exported(series, tmp_path / "export")
    export = check_series(series, hospital.tables, hospital.registry, exported=folder)
    assert export.adversaries == ("presence known",) * 4
    for groups in export.groups:
        assert all(group.size == group.present for group in groups.values())


@pytest.mark.usefixtures("values_may_stay")
def test_a_new_value_of_a_taxonomy(hospital: Clinic, tmp_path: Path) -> None:
    table = hospital.tables[0]
    strange = table.with_columns(
        zip=pl.when(pl.int_range(pl.len()) < 30).then(pl.lit("9999")).otherwise("zip")
    )
    refusing = new_series(tmp_path / "refusing", policy_text())
    with pytest.raises(TaxonomyError, match="1 value of column 'zip' is not in the taxonomy"):
        serigraph.publish(strange, refusing)
    text = policy_text().replace('zip.csv"\n', 'zip.csv"\nnew_values = "branch"\n')
    series = new_series(tmp_path / "clinic", text)
    publish_all(series, [table, strange])
    grown = f"{ZIP_TAXONOMY}9999;(new);(new);*\n"
    meaning = Meaning(columns={**Meaning().columns, "zip": oracle.in_node(grown)})
    folder = exported(series, tmp_path / "export")
    check_series(series, [table, strange], exported=folder, meaning=meaning)


@pytest.mark.usefixtures("values_may_stay")
@pytest.mark.parametrize(
    ("returning", "output"),
    [
        (0.7, "generalised"),
        (0.9, "bucketised"),
        thorough(0.7, "bucketised"),
        thorough(0.9, "generalised"),
    ],
)
def test_what_adapts_goes_on_where_halving_the_budget_cannot(
    tmp_path: Path, returning: float, output: str
) -> None:
    """A panel whose values recur, eight releases. The adaptive strategy begins with smaller groups
    than the constant ratio, and nothing has to be suppressed in later ones."""
    panel = clinic(
        releases=8, people=1500, registered=9000, seed=5, returning=returning, changing=0.1
    )
    first = {}
    for strategy in ("constant", "adaptive"):
        text = policy_text(strategy=f'name = "{strategy}"', output=f'form = "{output}"')
        series = new_series(tmp_path / strategy, text)
        releases = publish_all(series, panel.tables)  # refused if anything had to be suppressed
        first[strategy] = releases[0].figures["mean_size_with_protected_value"]
    assert first["adaptive"] < first["constant"] / 5
    text = policy_text(strategy='name = "geometric"', output=f'form = "{output}"')
    with pytest.raises(Infeasible):
        publish_all(new_series(tmp_path / "geometric", text), panel.tables)


def test_a_schedule_learns_from_the_ledger(hospital: Clinic, tmp_path: Path) -> None:
    text = policy_text(strategy='name = "schedule"\nlink_chances = "learned"')
    series = new_series(tmp_path / "clinic", text)
    releases = publish_all(series, hospital.tables)
    check_series(series, hospital.tables, exported=exported(series, tmp_path / "export"))
    plans = [release.record.strategy for release in releases]
    assert plans == [f"adaptive releases=20 after={out}" for out in range(len(plans))]
    assert serigraph.status(series).strategy == "adaptive for 20 releases"


@pytest.mark.parametrize("replan", ["true", "false"])
def test_a_schedule_with_given_chances(hospital: Clinic, tmp_path: Path, replan: str) -> None:
    strategy = f'name = "schedule"\nlink_chances = [1, 0.5, 0.25, 0.125]\nreplan = {replan}'
    series = new_series(tmp_path / "clinic", policy_text(strategy=strategy))
    publish_all(series, hospital.tables, hospital.registry)
    folder = exported(series, tmp_path / "export")
    check_series(series, hospital.tables, hospital.registry, exported=folder)


def test_a_strategy_may_change_between_releases(hospital: Clinic, tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text())
    for number, strategy in enumerate(
        ['name = "constant"', 'name = "geometric"', 'name = "schedule"']
    ):
        text = policy_text(strategy=strategy, output=f'form = "{FORMS[number % 2]}"')
        (series.path / "policy.toml").write_text(text)
        serigraph.publish(
            hospital.tables[number],
            series,
            registry=hospital.registry,
            # What a plan left little of may be more than another plan can do with.
            allow_suppression=True,
            randomness=SeededRandomness(number),
        )
    tables = hospital.tables[:3]
    folder = exported(series, tmp_path / "export")
    check_series(series, tables, hospital.registry, exported=folder)

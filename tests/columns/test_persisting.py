"""Series of records of several columns whose values persist: files, audits, drafts, refusals, and
releases that went wrong in one place."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from audit.cohort_examples import recount
from columns.records import start
from serigraph import draft, publish, publish_draft, verify
from serigraph.auditing import audit_series
from serigraph.cohorts import Arrangement
from serigraph.engines import local
from serigraph.errors import (
    GuaranteeExceeded,
    ImpossibleState,
    Infeasible,
    NotTransient,
    PolicyError,
    SerigraphError,
)
from serigraph.ledger import Series
from serigraph.model import Population
from serigraph.policy import parse_policy
from serigraph.publishing import history
from serigraph.runtime.randomness import SeededRandomness

POLICY = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
unique_values = "publish"
[sensitive.diagnosis]
[sensitive.diagnosis.protected]
values = ["HIV", "lupus"]
unheld = "allow"
[sensitive.diagnosis.protected.persistence]
default = "any"
[sensitive.drug]
form = "list"
[sensitive.drug.protected]
values = ["AZT", "3TC"]
unheld = "allow"
[sensitive.drug.protected.persistence]
default = "permanent"
AZT = "any"
[classes.treated]
threshold = "2/5"
[classes.treated.values]
diagnosis = ["HIV"]
drug = ["AZT"]
[plain]
weight = "numeric"
[guarantee]
threshold = "1/2"
minimum_group_size = 2
cohort_size = 8
[output]
form = "generalised"
"""
FORMS = {
    "generalised": 'form = "generalised"',
    "rows": 'form = "bucketised"',
    "apart": 'form = "bucketised"\napart = true',
}
LIMITS = {
    "diagnosis: HIV": Fraction(1, 2),
    "diagnosis: lupus": Fraction(1, 2),
    "drug: AZT": Fraction(1, 2),
    "drug: 3TC": Fraction(1, 2),
    "treated": Fraction(2, 5),
}
PROTECTED = {"HIV", "lupus", "AZT", "3TC"}


def people(number: int) -> pl.DataFrame:
    return pl.DataFrame({"patient": range(number), "age": [20 + i % 60 for i in range(number)]})


def table_of(registry: pl.DataFrame, seed: int, share: float = 0.85) -> pl.DataFrame:
    """Everybody keeps a weight and most values for good; some fall ill."""
    draw = random.Random(seed)
    here = registry.filter(pl.Series([draw.random() < share for _ in range(registry.height)]))
    diagnoses, drugs = [], []
    for person in here["patient"]:
        own = random.Random(1000 + person)
        ill = own.random() < 0.04 or draw.random() < 0.01
        diagnoses.append(own.choice(["HIV", "lupus"]) if ill else own.choice(["flu", None]))
        rare = [each for each in ("AZT", "3TC") if own.random() < (0.5 if ill else 0.02)]
        drugs.append([*rare, *(["aspirin"] if own.random() < 0.4 else [])])
    weights = [random.Random(person).randint(40, 99) for person in here["patient"]]
    return here.with_columns(
        pl.Series("diagnosis", diagnoses, dtype=pl.String),
        pl.Series("drug", drugs, dtype=pl.List(pl.String)),
        pl.Series("weight", weights),
    )


def publish_all(
    series: Series,
    tables: list[pl.DataFrame],
    registry: pl.DataFrame | list[pl.DataFrame] | None,
) -> list[Any]:
    registries = registry if isinstance(registry, list) else [registry] * len(tables)
    return [
        publish(
            table,
            series,
            registry=registries[number - 1],
            label=f"r{number}",
            new_people=True,
            randomness=SeededRandomness(number),
        )
        for number, table in enumerate(tables, 1)
    ]


def records_in(tables: pl.DataFrame) -> Counter[tuple[Any, ...]]:
    rows = tables.select("diagnosis", "drug", "weight").rows()
    return Counter((d, tuple(sorted(g or [])), w) for d, g, w in rows)


@pytest.mark.parametrize("has_registry", [True, False], ids=["standing", "once"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_records_are_published_and_audited(form: str, has_registry: bool, tmp_path: Path) -> None:
    """Some people leave the registry before each release, and others come."""
    registries = [people(240 + 12 * number).slice(6 * number) for number in range(3)]
    tables = [table_of(registry, seed) for seed, registry in enumerate(registries)]
    series = start(tmp_path / "clinic", POLICY.replace(FORMS["generalised"], form))
    made = publish_all(series, tables, registries if has_registry else None)
    found = audit_series(series, raw=tables)
    assert found.audit.files_agree
    assert found.audit.over_all.pairs_above == 0
    worst = verify(made[-1].folder / "certificate.json").worst
    assert worst is not None
    assert worst.probability == found.audit.over_all.largest
    again = recount(series, tmp_path / "exported", set(LIMITS))
    assert LIMITS.keys() == again.classes.keys()
    assert all(again.largest(name) <= limit for name, limit in LIMITS.items())
    assert max(map(again.largest, LIMITS)) == worst.probability
    for release, table in zip(made, tables, strict=True):
        if "apart" in form:
            continue
        shown = release.tables["table" if "generalised" in form else "sensitive"]
        beside = records_in(shown) - records_in(table)
        if has_registry:
            assert not beside
            assert shown.height > 0.7 * table.height
            continue
        # In a group with a protected value nothing else is shown, plain cells neither.
        assert all(weight is None for _, _, weight in beside)
        held = {(d, g): {d, *g} - {None} for d, g, _ in beside}
        assert beside
        assert all(values <= PROTECTED and values for values in held.values())
        whole = records_in(shown) & records_in(table)
        assert not any({d, *g} & PROTECTED for d, g, _ in whole)


@pytest.mark.parametrize("has_registry", [True, False], ids=["standing", "once"])
def test_one_column_beside_a_plain_one(has_registry: bool, tmp_path: Path) -> None:
    before, _, rest = POLICY.partition("[sensitive.diagnosis]\n")
    section, _, rest = rest.partition("[sensitive.drug]\n")
    one = '[sensitive]\ncolumn = "diagnosis"\n' + section.replace("sensitive.diagnosis.", "")
    series = start(tmp_path / "clinic", before + one + rest[rest.index("[plain]") :])
    registry = people(120)
    tables = [table_of(registry, seed) for seed in range(3)]
    made = publish_all(series, tables, registry if has_registry else None)
    found = audit_series(series, raw=tables).audit
    assert found.files_agree
    assert found.over_all.pairs_above == 0
    for release in made:
        rows = release.tables["table"].select("diagnosis", "weight")
        holders = rows.filter(pl.col("diagnosis").is_in(["HIV", "lupus"]))
        assert (holders["weight"].null_count() == 0) == (has_registry or not holders.height)
    again = recount(series, tmp_path / "exported", {"HIV", "lupus"})
    assert all(again.largest(name) <= Fraction(1, 2) for name in again.classes)
    assert again.classes


def test_a_record_beyond_the_limit_is_left_out_whole(tmp_path: Path) -> None:
    registry = people(8)
    rows = ["HIV"] * 6 + ["flu"] * 2
    table = registry.with_columns(
        pl.Series("diagnosis", rows),
        pl.Series("drug", [["AZT"], [], ["aspirin"], [], [], ["3TC"], [], ["aspirin"]]),
        pl.Series("weight", range(50, 58)),
    )
    series = start(tmp_path / "clinic", POLICY)
    (release,) = publish_all(series, [table], registry)
    shown = release.tables["table"]
    # HIV has room for four of eight, and the class with the threshold of 2/5 for three.
    assert Counter(shown["diagnosis"]) == {"HIV": 3, "flu": 2}
    assert not records_in(shown) - records_in(table)
    assert history(series, 0, "treated").alike.holders == 3  # type: ignore[union-attr]
    assert audit_series(series, raw=[table]).audit.files_agree


def test_a_release_in_which_all_records_would_be_left_out_is_refused(tmp_path: Path) -> None:
    registry = people(8)
    cells = {"diagnosis": ["HIV"] * 8, "drug": [["AZT"]] * 8, "weight": range(50, 58)}
    table = registry.with_columns(**{name: pl.Series(each) for name, each in cells.items()})
    series = start(tmp_path / "clinic", POLICY)
    publish_all(series, [table.head(3)], registry)
    with pytest.raises(Infeasible, match="is in a cohort that may show no more holders"):
        publish(table.tail(5), series, registry=registry, new_people=True)
    assert len(series.releases()) == 1


@pytest.mark.parametrize("has_registry", [True, False], ids=["standing", "once"])
def test_drafts_of_records_are_published(has_registry: bool, tmp_path: Path) -> None:
    registry = people(60)
    series = start(tmp_path / "clinic", POLICY)
    for seed in (1, 2):
        made = draft(
            table_of(registry, seed),
            series,
            registry=registry if has_registry else None,
            label=f"r{seed}",
            new_people=True,
        )
        assert publish_draft(series, made.name).record.number == seed
    assert audit_series(series).audit.files_agree


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_files_agree_where_nobody_of_a_cohort_is_present(form: str, tmp_path: Path) -> None:
    registry = people(24)
    series = start(tmp_path / "clinic", POLICY.replace(FORMS["generalised"], form))
    made = draft(
        table_of(registry, 1, share=1).filter(pl.col("patient") >= 8),
        series,
        registry=registry,
        label="r1",
    )
    release = publish_draft(series, made.name)
    assert release.record.summary["groups"] == 3
    assert release.record.summary["present"] <= 16
    assert audit_series(series).audit.files_agree


Wrong = Callable[[Population, Arrangement], Population]


def _first(population: Population, *, holds: bool) -> np.ndarray:
    """The first person present who holds a protected value, or none."""
    is_it = population.present & ((np.diff(population.held_start) > 0) == holds)
    return np.arange(population.size) == np.flatnonzero(is_it)[0]


def _with_other_weights(population: Population, _made: Arrangement) -> Population:
    return replace(population, plain=population.plain.with_columns(pl.col("weight").reverse()))


def _without_weights(population: Population, _made: Arrangement) -> Population:
    return replace(population, plain=population.plain.with_columns(weight=pl.lit(None)))


def _without_a_holder(population: Population, _made: Arrangement) -> Population:
    return population.without_records(_first(population, holds=True))


def _without_somebody(population: Population, _made: Arrangement) -> Population:
    return population.without_records(_first(population, holds=False))


def _without_a_value(population: Population, _made: Arrangement) -> Population:
    person = np.flatnonzero(_first(population, holds=True))
    return population.with_values(person, [["diagnosis: flu"]])


def _in_parts(population: Population, _made: Arrangement) -> Population:
    return replace(population, keeps_records_whole=False)


def _with_transient(population: Population, _made: Arrangement) -> Population:
    first, *others = population.protected
    return replace(population, protected=(replace(first, persistence="transient"), *others))


def _with_all_weights(population: Population, _made: Arrangement) -> Population:
    """Plain cells beside values that are shown once."""
    return replace(population, plain=population.plain.with_columns(pl.col("weight").fill_null(7)))


def _without_plain(population: Population, _made: Arrangement) -> Population:
    return replace(population, plain=pl.DataFrame())


ANYWHERE: list[Wrong] = [
    _with_other_weights,
    _without_weights,
    _without_a_holder,
    _without_somebody,
    _without_a_value,
    _in_parts,
    _with_transient,
    _without_plain,
]
CASES = [(wrong, has) for wrong in ANYWHERE for has in (True, False)] + [(_with_all_weights, False)]


@pytest.mark.parametrize(
    ("wrong", "has_registry"), CASES, ids=lambda each: getattr(each, "__name__", str(each))
)
def test_the_verifier_refuses_what_went_wrong(
    wrong: Wrong, has_registry: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = people(60)
    right = local.arranged

    def arranged(*given: Any) -> Arrangement:
        made = right(*given)
        return replace(made, population=wrong(made.population, made))

    monkeypatch.setattr(local, "arranged", arranged)
    series = start(tmp_path / "clinic", POLICY)
    with pytest.raises((ImpossibleState, GuaranteeExceeded)):
        publish_all(series, [table_of(registry, 3)], registry if has_registry else None)
    assert series.releases() == ()
    monkeypatch.undo()
    publish_all(series, [table_of(registry, 3)], registry if has_registry else None)


def test_who_is_refused_for_values_that_persist_finds_the_way_out(tmp_path: Path) -> None:
    """What the refusal says is what the next series accepts."""
    text = POLICY.replace('"any"', '"transient"').replace('"permanent"', '"transient"')
    text = text.replace("cohort_size = 8\n", "")
    registry = people(400)
    tables = [table_of(registry, seed, share=1) for seed in range(2)]
    passing = start(tmp_path / "passing", text)
    with pytest.raises(NotTransient) as refused:
        publish_all(passing, tables, registry)
    remedy = refused.value.remedy
    assert 'default = "any" in [sensitive.NAME.protected.persistence] of every' in remedy
    series = start(tmp_path / "any", text.replace('"transient"', '"any"'))
    assert len(publish_all(series, tables, registry)) == 2
    assert audit_series(series, raw=tables).audit.over_all.pairs_above == 0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('default = "permanent"\n', "", "drug.protected.persistence: the protected values of all"),
        ('AZT = "any"', 'AZT = "transient"', "drug.protected.persistence: the protected values"),
        (
            '[sensitive.drug]\nform = "list"\n[sensitive.drug.protected]\nvalues = ["AZT", "3TC"]',
            '[sensitive.drug]\nkind = "numeric"\n[sensitive.drug.protected]\nvalues = ["1", "2"]',
            "classes.treated.values.drug: values that persist cannot be protected by intervals",
        ),
    ],
)
def test_what_persists_in_one_column_persists_in_all(old: str, new: str, expected: str) -> None:
    assert old in POLICY
    text = POLICY.replace(old, new)
    if "numeric" in new:
        text = text.replace('drug = ["AZT"]', 'drug = [">= 3"]').replace('AZT = "any"\n', "")
    with pytest.raises(PolicyError) as refused:
        parse_policy(text, "policy.toml", ".")
    assert any(expected in each for each in refused.value.problems), refused.value.problems
    advice = " ".join([*refused.value.problems, refused.value.remedy])
    assert "the values transient" not in advice


def test_what_a_policy_of_several_columns_says_over_time() -> None:
    policy = parse_policy(POLICY, "policy.toml", ".")
    assert policy.has_persisting_values
    for name in ("diagnosis: HIV", "drug: AZT", "drug: 3TC", "treated"):
        assert policy.persistence_of(name) == "any"
    same = POLICY.replace('default = "any"', 'default = "permanent"')
    policy = parse_policy(same, "policy.toml", ".")
    assert policy.persistence_of("treated") == policy.persistence_of("drug: 3TC") == "permanent"
    assert policy.persistence_of("drug: AZT") == "any"
    assert policy.cohort_size == 8


def test_a_value_that_nobody_holds_names_its_section(tmp_path: Path) -> None:
    series = start(tmp_path / "clinic", POLICY.replace('unheld = "allow"\n', ""))
    table = table_of(people(60), 1).with_columns(drug=pl.lit(["aspirin"]))
    with pytest.raises(PolicyError) as refused:
        publish_all(series, [table], None)
    assert "[sensitive.NAME.protected] of 'drug'" in refused.value.remedy


def test_too_many_holders_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    table = table_of(people(40), 1).with_columns(diagnosis=pl.lit("HIV"))
    series = start(tmp_path / "clinic", POLICY)
    with pytest.raises(Infeasible) as refused:
        publish_all(series, [table], None)
    assert "value 'diagnosis: HIV'" in refused.value.problems
    assert isinstance(refused.value, SerigraphError)
    assert series.releases() == ()

"""Attacks on releases of several methods side by side: `make attacks` writes the page.

Series of generated people are published by methods of the literature and by Serigraph, and all
attacks are run on them. With a folder of single releases that other tools made of one table
(``--foreign``), those are attacked, too, and series of that table: ``raw.csv`` (the table), one
file for each tool, and ``hierarchies/`` with the taxonomies that some of them used.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import serigraph
from attacking.worlds import Tables, naive, our_target, ours, policy, tables
from serigraph.attacking import ATTACKS, Finding
from serigraph.attacking.definetti import BINS, binned, learned, shared_out
from serigraph.attacking.evidence import Evidence, Truth, one_of_each
from serigraph.attacking.neighbourhoods import neighbourhoods
from serigraph.attacking.reading import Target, releases_target, series_target
from serigraph.attacking.scoring import Attack, Guesses, Risk, holding, run, together
from serigraph.errors import SerigraphError
from serigraph.experiments.baselines import anatomy, mondrian, unprotected
from serigraph.ledger import Series
from serigraph.model import Past, Population
from serigraph.policy import read_policy
from serigraph.runtime.randomness import SeededRandomness
from serigraph.tables import prepare

PAGE = Path(__file__).parents[1] / "docs/explanation/attacks.md"
PARTS = ("series", "tools", "series of the table")  # of the page
DIVERSITY = 5
SEED = 1
SUPPRESSING = "Mondrian, one value left out"
RARE = {"Priv-house-serv": "a", "Protective-serv": "b", "Tech-support": "c"}  # of raw.csv
BY_TAXONOMY = ("anjana", "arx_global", "arx_local")  # tools that generalise by hierarchies
FOREIGN_POLICY = """version = 1
[person]
id = "id"
{columns}
[sensitive]
column = "occupation"
[protected.persistence]
default = "transient"
[guarantee]
l = 5
minimum_group_size = 5
adversary = "presence known"
[strategy]
name = "constant"
releases = 1
"""


@dataclass(frozen=True)
class Taught:
    """Naive Bayes that has learned from the table itself what goes with a value: how far deFinetti,
    which learns from the release, could come in the same groups at most."""

    truth: Truth
    name: str = "naive Bayes, taught by the table"
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if evidence.codes is None:
            return "it needs everybody's quasi-identifiers"
        bins = [binned(column) for column in evidence.codes]
        usual = [np.bincount(each, minlength=BINS) / len(each) for each in bins]
        everybody, parts = np.arange(evidence.people), []
        for j, seen in enumerate(evidence.releases):
            for value in range(len(evidence.values)):
                holds = self.truth.holds(everybody, np.full(evidence.people, value), j)
                ratio = learned(bins, usual, np.flatnonzero(holds), np.ones(int(holds.sum())))
                person = np.flatnonzero(seen.counts(value)[seen.group])
                believed = shared_out(seen, value, person, ratio[person])
                picked = np.zeros(len(person), dtype=np.bool_)
                picked[one_of_each(seen.group[person], believed, draw)] = True
                values = np.full(len(person), value)
                parts.append(holding(evidence, person, values, believed, picked, j))
        return together(parts)


def findings(target: Target, *more: Attack) -> dict[str, Finding]:
    draw = np.random.default_rng(SEED)
    tried = (*ATTACKS, *more)
    return {each.name: run(each, target.evidence, target.truth, draw) for each in tried}


def by_baseline(name: str, made: Tables, folder: Path) -> Target:
    """The tables of a series, each published alone by a method of the literature."""
    folder.mkdir(parents=True)
    path = policy(folder)
    rules = read_policy(path)

    def grouped(population: Population, _past: Past) -> NDArray[np.int64]:
        if name == "Anatomy":
            return anatomy(population, DIVERSITY, SeededRandomness(SEED)).group
        if name == "no grouping":
            return unprotected(population).group
        return mondrian(population, DIVERSITY).group

    def cut(table: pl.DataFrame) -> NDArray[np.int64]:
        population = prepare(table, rules).population
        return grouped(population, Past.none(population.size))

    left_out = ["a"] if name == SUPPRESSING else []
    releases = [
        naive(each, cut, in_two=name == "Anatomy", suppressed=left_out) for each in made.releases
    ]
    draw = np.random.default_rng(SEED)
    target = releases_target(releases, path, made.releases, None, draw)
    if name != "Mondrian":
        return target
    population = prepare(made.releases[-1], rules).population
    near = neighbourhoods(population, Past.none(population.size), grouped, draw)
    return replace(target, evidence=replace(target.evidence, neighbourhoods=near))


def standing_cohorts(folder: Path, made: Tables) -> Series:
    """Ours for values that last, with a registry."""
    hidden = "presence unknown"
    return ours(folder, made, registry=True, known=1, persistence="any", adversary=hidden)


def series(people: int, folder: Path) -> dict[str, dict[str, Finding]]:
    """By method and attack. Values stay, and four people of five come to each release."""
    made = tables(SEED, people=people, releases=4)
    found = {
        name: findings(by_baseline(name, made, folder / name))
        for name in ("no grouping", "Mondrian", SUPPRESSING, "Anatomy")
    }
    cohorts = standing_cohorts(folder / "ours", made)
    found["Serigraph, values that last"] = findings(our_target(cohorts, made))
    once = ours(folder / "once", made, known=1, persistence="any")
    found["Serigraph, shown once"] = findings(our_target(once, made))
    changing = tables(SEED, people=people, releases=3, keeps=0.0)
    told = ours(folder / "changing", changing, known=1, minimum=DIVERSITY)
    found["Serigraph, values that change"] = findings(our_target(told, changing))
    return found


def foreign_series(raw: Path, folder: Path) -> dict[str, dict[str, Finding]]:
    """Three samples of the foreign table, with age, years of education and three occupations."""
    table = pl.read_csv(raw).select(
        "id", "age", zip="education_num", diagnosis=pl.col("occupation").replace(RARE)
    )
    samples = tuple(table.sample(fraction=0.8, seed=SEED + number) for number in range(3))
    made = Tables(table.drop("diagnosis"), tuple(each.sort("id") for each in samples))
    found = {
        f"{name}, three times": findings(by_baseline(name, made, folder / name))
        for name in ("Mondrian", "Anatomy")
    }
    cohorts = standing_cohorts(folder / "ours", made)
    found["Serigraph, three times"] = findings(our_target(cohorts, made))
    return found


def foreign_policy(file: Path) -> str:
    """The policy with the columns that a tool was given: those of its file."""
    shown = pl.read_csv(file, n_rows=1, infer_schema=False).columns
    level = "education" if "education" in shown else "education_num"
    sections = []
    for column in ("age", "sex", "race", "marital", level):
        taxonomy = file.parent / "hierarchies" / f"{column}.csv"
        if file.stem in BY_TAXONOMY:
            described = f'kind = "categorical"\ntaxonomy = "{taxonomy.resolve()}"'
        else:
            is_number = column in ("age", "education_num")
            described = f'kind = "{"numeric" if is_number else "categorical"}"'
        sections.append(f"[quasi_identifiers.{column}]\n{described}")
    return FOREIGN_POLICY.format(columns="\n".join(sections))


def foreign(folder: Path, scratch: Path) -> dict[str, dict[str, Finding]]:
    """Single releases of other tools, and ours of the same table with the columns of the last."""
    raw, found = folder / "raw.csv", {}
    path = scratch / "foreign.toml"
    for file in sorted(folder.glob("*.csv")):
        if file == raw:
            continue
        path.write_text(foreign_policy(file))
        try:
            draw = np.random.default_rng(SEED)
            target = releases_target([file], path, [raw], None, draw)
        except SerigraphError as error:
            raise SystemExit(f"{file.stem} cannot be attacked: {error}") from error
        found[file.stem] = findings(target, Taught(target.truth))
    for form in ("generalised", "bucketised"):
        text = foreign_policy(folder / "mosaic.csv") + f'[output]\nform = "{form}"\n'
        made = Series.create(scratch / form, {"policy.toml": text.encode()})
        serigraph.publish(raw, made, label="r1", randomness=SeededRandomness(SEED))
        target = series_target(made, [raw], None, np.random.default_rng(SEED))
        found[f"Serigraph, {form}"] = findings(target, Taught(target.truth))
    return found


def table_of(found: Mapping[str, Mapping[str, Finding]]) -> list[str]:
    names = list(found)
    lines = [f"| attack | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for attack in next(iter(found.values())):
        cells = [_cell(found[name][attack]) for name in names]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {attack} | {' | '.join(cells)} |")
    return lines


def _cell(each: Finding) -> str:
    if each.not_run:
        return f"{each.certain:,} certain" if each.certain else "-"
    certain = f", {each.certain:,} certain" if each.certain else ""
    if not each.is_telling:
        return f"too few{certain}"
    lift = f"{each.lift:.2f} ({each.lowest:.2f} to {each.highest:.2f})"
    return f"**{lift}**{certain}" if each.exceeds(1.05) else f"{lift}{certain}"


def page(tables_by_name: Mapping[str, Sequence[str]]) -> str:
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in tables_by_name.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=3000)
    parser.add_argument("--foreign", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    made = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "series" in options.parts:
            made["series"] = table_of(series(options.people, folder))
        if "tools" in options.parts and options.foreign:
            made["tools"] = table_of(foreign(options.foreign, folder))
        if "series of the table" in options.parts and options.foreign:
            of_table = foreign_series(options.foreign / "raw.csv", folder / "foreign")
            made["series of the table"] = table_of(of_table)
    PAGE.write_text(page(made), encoding="utf-8")
    print("\n\n".join("\n".join(lines) for lines in made.values()))


if __name__ == "__main__":
    main()

"""Attacks on releases of several methods side by side: `make attacks` writes the page.

Series of generated people are published by methods of the literature and by Serigraph, and all
attacks are run on them. With a folder of single releases that other tools made of one table
(``--foreign``), those are attacked, too: the files ``raw.csv`` (the table, with the columns of the
policy below) and one file for each tool.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from attacking.worlds import Tables, naive, our_target, ours, policy, tables
from serigraph.attacking import ATTACKS, Finding
from serigraph.attacking.reading import Target, releases_target
from serigraph.attacking.scoring import run
from serigraph.errors import SerigraphError
from serigraph.experiments.baselines import anatomy, mondrian, unprotected
from serigraph.policy import read_policy
from serigraph.runtime.randomness import SeededRandomness
from serigraph.tables import prepare

PAGE = Path(__file__).parents[1] / "docs/explanation/attacks.md"
DIVERSITY = 5
SEED = 1
FOREIGN_POLICY = """version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.sex]
kind = "categorical"
[quasi_identifiers.race]
kind = "categorical"
[quasi_identifiers.marital]
kind = "categorical"
[sensitive]
column = "occupation"
[guarantee]
l = 5
minimum_group_size = 5
adversary = "presence known"
"""


def findings(target: Target) -> dict[str, Finding]:
    draw = np.random.default_rng(SEED)
    return {each.name: run(each, target.evidence, target.truth, draw) for each in ATTACKS}


def by_baseline(name: str, made: Tables, folder: Path) -> Target:
    """The tables of a series, each published alone by a method of the literature."""
    folder.mkdir()
    path = policy(folder)
    rules = read_policy(path)

    def cut(table: pl.DataFrame) -> NDArray[np.int64]:
        population = prepare(table, rules).population
        if name == "Mondrian":
            return mondrian(population, DIVERSITY).group
        if name == "Anatomy":
            return anatomy(population, DIVERSITY, SeededRandomness(SEED)).group
        return unprotected(population).group

    releases = [naive(each, cut, in_two=name == "Anatomy") for each in made.releases]
    return releases_target(releases, path, made.releases, None, np.random.default_rng(SEED))


def series(people: int, folder: Path) -> dict[str, dict[str, Finding]]:
    """By method and attack. Values stay, and four people of five come to each release."""
    made = tables(SEED, people=people, releases=4)
    found = {
        name: findings(by_baseline(name, made, folder / name))
        for name in ("no grouping", "Mondrian", "Anatomy")
    }
    cohorts = ours(
        folder / "ours", made, registry=True, persistence="any", adversary="presence unknown"
    )
    found["Serigraph, values that last"] = findings(our_target(cohorts, made))
    changing = tables(SEED, people=people, releases=3, keeps=0.0)
    told = ours(folder / "changing", changing, known=1, minimum=DIVERSITY)
    found["Serigraph, values that change"] = findings(our_target(told, changing))
    return found


def foreign(folder: Path, scratch: Path) -> dict[str, dict[str, Finding]]:
    """Single releases of other tools; those that do not fit the table are left out."""
    path = scratch / "foreign.toml"
    path.write_text(FOREIGN_POLICY)
    found = {}
    for file in sorted(folder.glob("*.csv")):
        if file.stem == "raw":
            continue
        try:
            draw = np.random.default_rng(SEED)
            target = releases_target([file], path, [folder / "raw.csv"], None, draw)
        except SerigraphError as error:
            print(f"{file.stem}: left out, {error.what}")
            continue
        found[file.stem] = findings(target)
    return found


def table_of(found: Mapping[str, Mapping[str, Finding]]) -> list[str]:
    names = list(found)
    lines = [f"| attack | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for attack in ATTACKS:
        cells = [_cell(found[name][attack.name]) for name in names]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {attack.name} | {' | '.join(cells)} |")
    return lines


def _cell(each: Finding) -> str:
    if each.not_run:
        return f"{each.certain:,} certain" if each.certain else "-"
    certain = f", {each.certain:,} certain" if each.certain else ""
    if not each.is_telling:
        return f"too few{certain}"
    lift = f"{each.lift:.2f} ({each.lowest:.2f} to {each.highest:.2f})"
    return f"**{lift}**{certain}" if each.exceeds(1.05) else f"{lift}{certain}"


def page(of_series: Sequence[str], of_tools: Sequence[str]) -> str:
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in (("series", of_series), ("tools", of_tools)):
        if lines:
            begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
            before, _, rest = text.partition(begin)
            after = rest.partition(end)[2]
            text = before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=3000)
    parser.add_argument("--foreign", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        of_series = table_of(series(options.people, Path(folder)))
        of_tools = table_of(foreign(options.foreign, Path(folder))) if options.foreign else []
    PAGE.write_text(page(of_series, of_tools), encoding="utf-8")
    print("\n".join([*of_series, "", *of_tools]))


if __name__ == "__main__":
    main()

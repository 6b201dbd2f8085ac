"""What comparing releases tells where values persist, and what it costs to prevent it: `make
bench-persistence`, or `python -m benchmarks.persistence --parts laws`.

Series in which everybody's values are known to us are published with values called transient, or
called "any". Then somebody attacks who knows the laws, all registries, all groups and who belongs
to which cohort.

- *laws*: generated series. A value is kept to the next release with a chance q, people are present
  with a chance r, and a share of the registry leaves before every release and is replaced.
- *joined*: a panel in which nothing changes, except that a holder joins every time.
- *real*: Adult and VAERS with histories made for their people, if ``--data`` has them.
- *size*: five values held for life, thresholds 1/2 and 1/10: how large groups are, what is missing.
- *speed*: processor seconds of each release with a large registry, "any" against "transient".

The columns:

- *crowds*: of the people ever published as holders, how many are above the threshold, and how many
  certain, for somebody who knows the holders in each crowd of people who are alike: H/|K|.
- *law*: the same for somebody who knows q, r and how many fall ill, how cohorts are kept, and
  everything about the other values, and computes the exact posterior from what all releases tell of
  a cohort: its records, those that show the value, and who retired. *believed* is the mean
  posterior of everybody in these cohorts, *true* the share of them who were published as holders.
  Only for cohorts that stand.
- *size*: of the mean group with a value; *missing*: records of the tables that were not published.
- *never*: of those who held a value in a table, how many were never published as holders; *not
  now*: of the values held in a table, how many its release does not show.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.persistence_attack import by_law, in_crowds, published
from benchmarks.persisting_people import (
    REAL,
    Law,
    Setting,
    Tables,
    generated,
    joined_by_one,
    with_histories,
)
from serigraph.errors import Infeasible

CERTAIN = 0.99
ROUNDING = 1e-9
LAWS = [Law(*each) for each in itertools.product((1, 0.8, 0.5), (1, 0.8, 0.5), (0, 0.02, 0.1))]
WITH = {True: "registry", False: "none"}


@dataclass(frozen=True)
class Options:
    """What to run, and how large."""

    people: int
    releases: int
    seeds: int
    forms: Sequence[str]
    persistence: Sequence[str]
    registry: Sequence[bool]
    data: Path


def row(
    options: Options,
    what: str,
    setting: Setting,
    tables: Sequence[Tables],
    kind: tuple[str, str, bool],
    law: Law | None = None,
) -> str:
    """Publish the tables of a series and attack it; ``law`` if the adversary knows it."""
    form, persistence, registry = kind
    named = f"{what:22} {form:11} {persistence:9} {WITH[registry]:8}"
    begun = time.process_time()
    try:
        ledger = published(setting, form, persistence, tables, registry=registry)
    except Infeasible as refused:
        return f"{named} | {refused}"
    seconds = time.process_time() - begun
    threshold = float(Fraction(setting.threshold))
    crowd = np.array(in_crowds(ledger, setting.names))
    held = {(k, *pair) for k, each in enumerate(tables, 1) for pair in each.held}
    ever = {pair for _, *pair in held for pair in [tuple(pair)]}
    shown = {(k, *pair) for pair, releases in ledger.holders.items() for k in releases}
    records = sum(each.table.height for each in tables)
    cells = [
        named,
        f"{np.mean(crowd > threshold + ROUNDING):6.1%} {np.mean(crowd >= CERTAIN):6.1%} "
        f"{crowd.max():5.3f}",
        f"{'':33}",
    ]
    if law is not None and persistence == "any" and registry:
        found = by_law(ledger, law, setting)
        chance, truth = np.array([each for each, _ in found]), np.array([each for _, each in found])
        cells[-1] = (
            f"{np.mean(chance[truth] > threshold + ROUNDING):6.1%} "
            f"{np.mean(chance[truth] >= CERTAIN):6.1%} {chance.max():5.3f} "
            f"{chance.mean():6.4f} {truth.mean():6.4f}"
        )
    cells.append(
        f"{ledger.group_size():5.1f} {1 - ledger.records / records:6.1%} "
        f"{1 - len(ledger.holders.keys() & ever) / len(ever):6.2%} "
        f"{1 - len(held & shown) / len(held):6.2%} {seconds:6.1f} s"
    )
    return " | ".join(cells)


def kinds(options: Options) -> list[tuple[str, str, bool]]:
    return list(itertools.product(options.forms, options.persistence, options.registry))


def laws(options: Options) -> None:
    setting = Setting()
    for law, seed in itertools.product(LAWS, range(options.seeds)):
        tables = list(
            itertools.islice(generated(options.people, law, seed, setting), options.releases)
        )
        what = f"{law.keeps:3} {law.present:3} {law.leaves:4} ({seed})"
        for kind in kinds(options):
            print(row(options, what, setting, tables, kind, law), flush=True)


def joined(options: Options) -> None:
    setting = Setting()
    for seed in range(20 * options.seeds):
        panel = joined_by_one(options.people // 10, seed, setting)
        tables = list(itertools.islice(panel, options.releases))
        for kind in kinds(options):
            print(row(options, f"joined by one ({seed})", setting, tables, kind), flush=True)


def real(options: Options) -> None:
    for name, seed in itertools.product(REAL, range(options.seeds)):
        if not (options.data / name).is_dir():
            print(f"{name}: not in {options.data}")
            continue
        people, setting = REAL[name](options.data, options.people, seed)
        for law in (Law(1, 0.8, 0), Law(1, 0.8, 0.02), Law(0.8, 0.8, 0.02)):
            histories = with_histories(people, setting, law, seed)
            tables = list(itertools.islice(histories, options.releases))
            what = f"{name} {law.keeps:3} {law.present:3} {law.leaves:4} ({seed})"
            for kind in kinds(options):
                print(row(options, what, setting, tables, kind), flush=True)


def size(options: Options) -> None:
    for threshold, leaves in (("1/2", 0.0), ("1/2", 0.02), ("1/10", 0.0)):
        setting, law = Setting(threshold=threshold), Law(1, 0.8, leaves)
        series = generated(options.people, law, 0, setting)
        tables = list(itertools.islice(series, options.releases))
        for kind in kinds(options):
            print(row(options, f"t = {threshold}, {leaves}", setting, tables, kind), flush=True)


def speed(options: Options) -> None:
    """Both series are published release by release, in turns, in one process: what else the machine
    does falls on both alike."""
    import serigraph

    setting, law = Setting(), Law(0.8, 0.8, 0.02)
    form = options.forms[0]
    taken: dict[str, list[float]] = {each: [] for each in options.persistence}
    with tempfile.TemporaryDirectory() as folder:
        books = {
            each: serigraph.Series.create(
                Path(folder) / each, {"policy.toml": setting.policy(form, each).encode()}
            )
            for each in options.persistence
        }
        series = generated(options.people, law, 0, setting)
        for number, tables in enumerate(itertools.islice(series, options.releases), 1):
            registry, table = Path(folder) / "registry.parquet", Path(folder) / "table.parquet"
            tables.registry.write_parquet(registry)
            tables.table.write_parquet(table)
            for each, book in books.items():
                begun = time.process_time()
                serigraph.publish(
                    table,
                    book,
                    registry=registry,
                    label=f"r{number}",
                    assume_transient=setting.names if each == "transient" else (),
                )
                taken[each].append(time.process_time() - begun)
            seconds = "  ".join(f"{each} {taken[each][-1]:6.1f} s" for each in books)
            print(f"release {number:2}, {options.people:,} people: {seconds}", flush=True)
    for each, every in taken.items():
        print(f"{each}: {sum(every):.1f} s, without the first {sum(every[1:]):.1f} s")


PARTS: dict[str, Callable[[Options], None]] = {
    "laws": laws,
    "joined": joined,
    "real": real,
    "size": size,
    "speed": speed,
}
HEAD = (
    f"{'series':22} {'form':11} {'values':9} {'with':8} | crowds: above, certain, worst | law: "
    "above, certain, worst, believed, true | size, missing, never, not now, processor"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Attacks on series whose values persist.")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["laws", "joined", "real"])
    parser.add_argument("--people", type=int, default=4000)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--forms", nargs="+", default=["generalised", "bucketised"])
    parser.add_argument("--persistence", nargs="+", default=["transient", "any"])
    parser.add_argument("--registry", nargs="+", default=["yes", "no"], choices=["yes", "no"])
    parser.add_argument("--data", type=Path, default=Path("data"), help="with adult, vaers")
    given = vars(parser.parse_args())
    parts = given.pop("parts")
    options = Options(**given | {"registry": [each == "yes" for each in given["registry"]]})
    for part in parts:
        print(f"\n{part}\n{'' if part == 'speed' else HEAD}")
        PARTS[part](options)


if __name__ == "__main__":
    main()

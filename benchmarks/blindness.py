"""The exact minimality attack on random small tables: `make blindness`.

The method is run in every world of an instance, and worlds that give other groups are struck off.
The lift is how much more probable the likeliest member of a group becomes than n_s/n says; 1 means
that every world gives the same groups. Bucketised, what is compared are the cells that people are
dealt in: dealing sees no quasi-identifiers.
"""

from __future__ import annotations

import argparse

from grouping.test_minimality import Shapes, cells, regions, worst_lift
from serigraph.grouping import Method

PEOPLE = {1: 30, 2: 14}  # by holders: worlds grow with both
WAYS: dict[str, tuple[Method, Shapes]] = {
    "generalised, top-down": ("top-down", regions),
    "generalised, bottom-up": ("bottom-up", regions),
    "bucketised": ("top-down", cells),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=500)
    instances = parser.parse_args().instances
    print("| holders | form | instances | with a member above n_s/n | largest lift |")
    print("|---|---|---:|---:|---:|")
    for holders, people in PEOPLE.items():
        for name, (method, shapes) in WAYS.items():
            found = [worst_lift(seed, people, holders, method, shapes) for seed in range(instances)]
            told = sum(each > 1 for each in found)
            print(
                f"| {holders} | {name} | {instances} | {told} | {float(max(found)):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""One run of a peer, in a process and an installation of its own: prints seconds and peak memory.

`python -m benchmarks.speed_peers PEER TABLE` reads a CSV file; PEER is anonypy or anjana, which
make a table with five values in every group, or pycanon, which says how many values the groups
of a table have. It imports nothing of Serigraph: peers pin versions that Serigraph does not.
"""

from __future__ import annotations

import json
import sys
import time

import pandas as pd

from benchmarks.peak_memory import peak_mb

NUMBERS = ["age", "zip", "weight", "day"]
COLUMNS = ["age", "sex", "zip", "weight", "day"]
SENSITIVE = "diagnosis"
DIVERSITY = 5


def anonypy(table: pd.DataFrame) -> int:
    import anonypy

    for name in ("sex", SENSITIVE):
        table[name] = table[name].astype("category")
    preserver = anonypy.Preserver(table, COLUMNS, SENSITIVE)
    return len(preserver.anonymize_l_diversity(DIVERSITY, DIVERSITY))


def anjana(table: pd.DataFrame) -> int:
    from anjana.anonymity import l_diversity

    hierarchies = {"sex": {0: table["sex"].to_numpy(), 1: ["*"] * len(table)}}
    for name in NUMBERS:
        steps = {0: table[name].to_numpy()}
        low, span = table[name].min(), table[name].max() - table[name].min() + 1
        for level, parts in enumerate((16, 4, 1), 1):
            steps[level] = ((table[name] - low) * parts // span).to_numpy()
        hierarchies[name] = steps
    made = l_diversity(table, ["person"], COLUMNS, SENSITIVE, DIVERSITY, DIVERSITY, 50, hierarchies)
    return len(made)


def pycanon(table: pd.DataFrame) -> int:
    from pycanon.anonymity import l_diversity

    return int(l_diversity(table, COLUMNS, [SENSITIVE]))


def main() -> None:
    name, path = sys.argv[1:]
    table = pd.read_csv(path)
    began = time.perf_counter()
    result = {"anonypy": anonypy, "anjana": anjana, "pycanon": pycanon}[name](table)
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - began,
                "result": result,
                "peak_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main()

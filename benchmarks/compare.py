"""The last two speed runs beside each other: `make bench-compare`."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    given = [Path(name) for name in sys.argv[1:]]
    runs = given or sorted(Path("bench-out").glob("speed-*.json"))[-2:]
    if len(runs) < 2:
        sys.exit("Two runs are needed: run `make bench` again, or name two files.")
    before, after = (json.loads(path.read_text()) for path in runs[:2])
    print(f"before: {before['at']}, {before['version']}; after: {after['at']}, {after['version']}")
    known = {row["work"]: row for row in before["rows"]}
    print(f"{'':<66} {'before':>12} {'after':>12} {'change':>8}")
    for row in after["rows"]:
        if row["work"] in known:
            was, now = known[row["work"]]["figure"], row["figure"]
            print(f"{row['work']:<66} {was:>12,.2f} {now:>12,.2f} {now / was - 1:>+8.0%}")


if __name__ == "__main__":
    main()

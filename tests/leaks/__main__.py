"""Every leak of version 0.1.0 for many seeds: `make leaks`. Ends with 1 if one is back."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from leaks.leaks import LEAKS, Told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--leaks", nargs="+", choices=LEAKS, default=list(LEAKS))
    given = parser.parse_args()
    is_back = False
    for name in given.leaks:
        found = Told(0, 0)
        for seed in range(given.seeds):
            with tempfile.TemporaryDirectory() as folder:
                found += LEAKS[name](seed, Path(folder))
        is_back |= found.told > 0
        print(f"{name}: {given.seeds} seeds, told {found.told:,} of {found.of:,}", flush=True)
    sys.exit(is_back)


if __name__ == "__main__":
    main()

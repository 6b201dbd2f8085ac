"""``python -m serigraph``, and what spark-submit is given to run."""

import sys
from pathlib import Path

# Whoever runs this file by its path finds modules of the package in the way of others.
if sys.path and Path(sys.path[0] or ".").resolve() == Path(__file__).resolve().parent:
    del sys.path[0]

from serigraph.cli import main

main()

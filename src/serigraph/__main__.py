"""``python -m serigraph``, and what spark-submit is given to run."""

import sys
from pathlib import Path

# Run by its path, this file puts the package's folder first, where its modules hide others.
if sys.path and Path(sys.path[0] or ".").resolve() == Path(__file__).resolve().parent:
    del sys.path[0]

from serigraph.cli import main

main()

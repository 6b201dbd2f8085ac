"""``python -m serigraph``"""

from serigraph.cli import main

main()

"""``serigraph key``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say


def command(
    path: Annotated[Path, typer.Argument(help="Where to write the private key.")],
    as_json: Json = False,
) -> None:
    """Make a pair of keys to sign certificates with; the public one has .pub behind its name.

    SERIGRAPH_PASSPHRASE in the environment locks the private key, and is needed to sign with it.
    """
    from serigraph.signing import make_key

    made = make_key(path)
    if as_json:
        print_json(made)
        return
    say(f"Private key, for you alone: {made.private}")
    say("  locked with your passphrase" if made.is_locked else "  without a passphrase")
    say(f"Public key, for everybody: {made.public}")
    say(f"  fingerprint (SHA-256): {made.fingerprint}")
    say("Give the fingerprint to those who verify, through a different channel from the releases.")

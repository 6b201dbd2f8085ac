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
    """Make a key pair for signing certificates; the public key's name ends in .pub.

    If SERIGRAPH_PASSPHRASE is set, it encrypts the private key, and signing needs it too.
    """
    from serigraph.signing import make_key

    made = make_key(path)
    if as_json:
        print_json(made)
        return
    say(f"Private key, keep it secret: {made.private}")
    say("  encrypted with your passphrase" if made.is_locked else "  without a passphrase")
    say(f"Public key, to hand out: {made.public}")
    say(f"  fingerprint (SHA-256): {made.fingerprint}")
    say("Give verifiers the fingerprint through a different channel from the releases.")

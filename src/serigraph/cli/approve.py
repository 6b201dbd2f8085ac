"""``serigraph approve``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say
from serigraph.cli.release_options import SeriesOption, Wait


def command(
    draft: Annotated[str, typer.Argument(help="Name of the draft, or its beginning.")],
    series: SeriesOption,
    key: Annotated[Path, typer.Option(help="Private key to sign the approval with.")],
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Approve of a draft by signing its digest, where the policy asks for approvals.

    Look at the draft first, and give its whole name: it stands for the files that you have seen.
    """
    from serigraph.reporting import approve

    approved = approve(series, draft, key, wait=wait)
    if as_json:
        print_json({"approvals": approved})
        return
    say(f"Approved. The draft has {len(approved)} approval{'s' if len(approved) > 1 else ''}:")
    for fingerprint in approved:
        say(f"  {fingerprint}")

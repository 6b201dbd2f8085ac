"""``serigraph verify``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say


def command(
    certificate: Annotated[Path, typer.Argument(help="The certificate.json of a release.")],
    series: Annotated[
        Path | None,
        typer.Option(help="Folder of the series [default: the one that contains the certificate]"),
    ] = None,
    files_only: Annotated[
        bool,
        typer.Option("--files-only", help="Only compare the files with this certificate."),
    ] = False,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="Public key that must have signed the certificate or approved of the release; "
            "repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a certificate against the files, the ledger and the guarantee.

    --files-only cannot tell whether the certificate is the publisher's; --key can, if it is signed.
    Get the key, or the digest of the certificate, through a different channel from the release.
    """
    from serigraph.reporting import verify_certificate

    found = verify_certificate(certificate, series=series, files_only=files_only, key=key)
    if as_json:
        print_json(
            {
                "release": found.certificate.release,
                "label": found.certificate.label,
                "checks": found.checks,
                "signed_by": found.signed_by,
                "approved_by": found.approved_by,
                "conclusion": found.conclusion,
                "not_checked": found.unchecked,
                "rests_on": found.rests_on,
                "caveat": found.caveat,
                "largest_probability": found.largest,
                "worst_in_series": found.worst,
                "threshold": found.certificate.threshold,
            }
        )
        return
    for check in found.checks:
        say(f"  {check}")
    say(found.conclusion)

"""``serigraph report``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say, stages


def command(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to [default: 'report' in the series]")
    ] = None,
    raw: Annotated[
        list[Path] | None,
        typer.Option(help="The table that each release was made from, in order; repeatable."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Sign the certificate with this key.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Audit a series and write its report and certificate."""
    from serigraph.auditing import SERIES_STAGES
    from serigraph.reporting import report_series

    with stages(SERIES_STAGES) as progress:
        made = report_series(series, out, raw=raw or (), sign=sign, progress=progress)
    if as_json:
        print_json(
            {
                "report": made.report,
                "certificate": made.certificate,
                "largest_probability": made.audit.over_all.largest,
                "worst_in_series": made.audit.over_all.worst,
                "threshold": made.audit.threshold,
                "rests_on": made.rests_on,
                "caveat": made.caveat,
                "notes": made.notes,
            }
        )
        return
    worst = made.audit.over_all.worst
    outcome = f"worst probability {worst}" if worst else "nobody was ever exposed"
    number = len(made.audit.releases)
    if made.caveat:
        say(made.caveat)
    only = "only if" if made.caveat else "if"
    say(f"The promise holds over {number} releases {only} {made.rests_on}: {outcome}")
    for note in made.notes:
        say(f"  note: {note}")
    say(f"  {made.report}")
    say(f"  {made.certificate}")

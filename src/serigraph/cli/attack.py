"""``serigraph attack``"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from serigraph.cli.output import Json, print_json, say, stages
from serigraph.errors import InputRefused, Leaking

if TYPE_CHECKING:
    from serigraph.attacking import Attacked, Finding


def command(  # an option each
    paths: Annotated[
        list[Path],
        typer.Argument(help="Folder of a series; with --releases, the releases in order."),
    ],
    releases: Annotated[
        bool,
        typer.Option("--releases", help="The paths are releases made by any tool."),
    ] = False,
    policy: Annotated[Path | None, typer.Option(help="With --releases: the policy file.")] = None,
    raw: Annotated[
        list[Path] | None,
        typer.Option(help="The table that each release was made from, in order; repeatable."),
    ] = None,
    registry: Annotated[Path | None, typer.Option(help="The latest population list.")] = None,
    draft: Annotated[
        str, typer.Option(help="Attack this draft, as the next release of the series.")
    ] = "",
    sample: Annotated[
        int | None, typer.Option(min=1, help="Score at most this many bets of each attack.")
    ] = None,
    highest_lift: Annotated[
        float | None,
        typer.Option(min=1, help="Fail above this lift, instead of the policy's highest_lift."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat the draws of an earlier run.")] = None,
    as_json: Json = False,
) -> None:
    """Attack a series, or releases made by other tools, and say how far each attack comes.

    The figures depend on who holds what: keep them. Exit code 4: an attack is above the highest
    lift that is accepted.
    """
    from serigraph.attacking import attack

    if len(paths) != 1 and not releases:
        raise InputRefused(
            f"one series is attacked at a time, not {len(paths)}",
            remedy="give one series, or add --releases for releases of other tools",
        )
    if releases and policy is None:
        raise InputRefused(
            "releases can only be attacked with the policy that they were made under",
            remedy="give a policy file with --policy",
        )
    with stages(("reading", "attacking")) as progress:
        found = attack(
            None if releases else paths[0],
            releases=paths if releases else (),
            policy=policy if releases else None,
            raw=raw or (),
            registry=registry,
            draft=draft,
            sample=sample,
            highest_lift=highest_lift,
            seed=seed,
            progress=progress,
        )
    if as_json:
        print_json({"leaks": [each.attack for each in found.leaks], "attacked": found})
    else:
        _tell(found)
    if found.leaks:
        raise typer.Exit(Leaking.exit_code)


def _tell(found: Attacked) -> None:
    from serigraph.tables.cells import counted

    say(f"{counted(found.people, 'person', 'people')}, {counted(len(found.releases), 'release')}")
    say(
        f"  {'attack':<28} {'bets':>7} {'right':>7} {'claimed':>8} {'lift':>6} "
        f"{'95 % interval':>15} {'chance':>7} {'above':>7} {'certain':>8}"
    )
    for risk, findings in groupby(found.findings, key=lambda each: each.risk):
        say(f"  {risk}:")
        for each in findings:
            say(_line(each))
    sampled = [each for each in found.findings if each.is_sample]
    if sampled:
        most = max(each.possible for each in sampled)
        say(f"note: a sample of the bets was scored; the largest attack has {most:,}")
    for note in found.notes:
        say(f"note: {note}")
    if found.leaks:
        names = ", ".join(each.attack for each in found.leaks)
        say(f"Above the accepted lift of {found.highest_lift:g}: {names}.")
    elif found.highest_lift is not None:
        say(f"No attack is surely above the accepted lift of {found.highest_lift:g}.")
    say("These figures depend on who holds what: do not publish them.")


def _line(each: Finding) -> str:
    if each.not_run:
        counted = f" ({each.certain:,} certain)" if each.certain else ""
        return f"    {each.attack:<26} not scored: {each.not_run}{counted}"
    between = f"{each.lowest:.2f} to {each.highest:.2f}"
    return (
        f"    {each.attack:<26} {each.guessed:>7,} {each.right:>7,} {each.claimed:>8.1f} "
        f"{each.lift:>6.2f} {between:>15} {each.control or 0.0:>7.2f} "
        f"{each.above:>7,} {each.certain:>8,}"
    )

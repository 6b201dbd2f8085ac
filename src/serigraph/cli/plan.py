"""``serigraph plan``"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from serigraph.cli.output import Json, print_json, say, stages
from serigraph.cli.value_list import over_time_lines, value_lines

if TYPE_CHECKING:
    from serigraph.planning import Outlook, SeriesPlan

_SHOWN = 8
_LINKS = (1, 2, 3, 5, 10, 20)


def command(  # an option each
    table: Annotated[Path, typer.Argument(help="The table of the next release.")],
    series: Annotated[Path, typer.Option(help="Folder of the series.")],
    registry: Annotated[
        Path | None, typer.Option(help="The population list, if there is one.")
    ] = None,
    releases: Annotated[
        int,
        typer.Option(
            min=1,
            max=1000,
            help="Planned length of the series, including releases already out.",
        ),
    ] = 20,
    return_rate: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Share of people who return in the next release [default: estimated]",
        ),
    ] = None,
    diversities: Annotated[
        list[str] | None,
        typer.Option("--l", help="Compare this l, or a threshold such as 1/11; repeatable."),
    ] = None,
    lengths: Annotated[
        list[int] | None,
        typer.Option(
            "--k", min=1, max=1000, help="Compare a constant ratio over k' releases; repeatable."
        ),
    ] = None,
    factors: Annotated[
        list[str] | None,
        typer.Option("--alpha", help="Compare a geometric strategy with this factor; repeatable."),
    ] = None,
    query: Annotated[
        str, typer.Option(help="SQL or a table's name, for a database; a workbook's sheet.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Write the plots to this HTML file.")] = None,
    as_json: Json = False,
) -> None:
    """Compare strategies before publishing: group sizes, suppression, precision lost."""
    from serigraph.planning import STAGES, plan

    with stages(STAGES) as progress:
        made = plan(
            table,
            series,
            registry=registry,
            releases=releases,
            return_rate=return_rate,
            thresholds=[_threshold(each) for each in diversities or ()],
            lengths=lengths or (),
            factors=factors or (),
            query=query,
            progress=progress,
        )
    if out is not None:
        from serigraph.reporting import write_plan_page

        write_plan_page(made, out)
    if as_json:
        print_json(made)
    else:
        _tell(made)
        if out is not None:
            say(f"Plots: {out}")


def _threshold(text: str) -> str:
    """A bare number above 1 is l; anything below is the threshold itself."""
    try:
        is_diversity = float(text) > 1
    except ValueError:
        is_diversity = False
    return f"l={text}" if is_diversity else text


def _tell(made: SeriesPlan) -> None:
    rate = made.return_rate
    source = {
        "given": "as given",
        "estimated": f"estimated from {rate.releases} releases",
        "assumed": "assumed, as no release is out yet; set it with --return-rate",
    }[rate.source]
    say(
        f"{made.people:,} people, {made.present:,} of them in the table; "
        f"{made.releases_so_far} of {made.releases_so_far + made.releases_ahead} releases are out, "
        f"{made.releases_ahead} ahead"
    )
    say(f"Return rate {rate.rate:.0%}, {source}")
    for line in (*value_lines(made.value_list), *over_time_lines(made.over_time)):
        say(line)
    say(f"Rehearsed with {made.rehearsed_people:,} people, the largest possible group size")
    if made.costs:
        _tell_costs(made)
    if not made.outlooks:
        say()
        say("No value is transient, so that there are no strategies to compare.")
        return
    for number, outlook in enumerate(made.outlooks, 1):
        say()
        say(f"{number}. {outlook.name}")
        _tell_outlook(outlook, made)
    say()
    say(f"Recommended: {made.recommendation.name}")
    say(f"  {made.recommendation.reason}")
    say("To adopt it, replace [strategy] in policy.toml with:")
    say()
    say(made.recommendation.section)


def _tell_costs(made: SeriesPlan) -> None:
    from serigraph.publishing.persistence import names_of
    from serigraph.tables.cells import counted

    say(
        f"What persistence costs over {counted(made.releases_ahead, 'release')}, if all protected "
        "values had it:"
    )
    say(
        f"  {'':<10} {'cohort':>7} {'mean group':>11} {'waiting':>8} {'withheld':>9} "
        f"{'at last':>8} {'holders shown':>14}"
    )
    for each in made.costs:
        size = "-" if each.cohort_size is None else f"{each.cohort_size:,}"
        say(
            f"  {each.persistence:<10} {size:>7} {each.mean_size:>11.1f} "
            f"{each.most_waiting:>8.2%} {each.withheld_share:>9.2%} "
            f"{each.withheld_at_last:>8.2%} {each.holders_shown:>14.2%}"
        )
        if not each.is_whole:
            ends = counted(each.releases, "release")
            why = f": too many hold {names_of(each.too_frequent)}" if each.too_frequent else ""
            say(f"  {'':<10} ENDS after {ends}{why}")
    say(
        "  (waiting: share of the people, at most; withheld: share of the records; people keep "
        "their values, and nobody leaves the registry)"
    )


def _tell_outlook(outlook: Outlook, made: SeriesPlan) -> None:
    shown = [link for link in _LINKS if link <= len(outlook.ratios)]
    ratios = ", ".join(f"{link}: {_number(outlook.ratios[link - 1])}" for link in shown)
    say(f"   ratio at the j-th exposure {ratios}")
    say(f"   largest share of a value   {outlook.largest_share:.4%}")
    if outlook.unfit:
        say(f"   values that do not fit     {len(outlook.unfit)} of {len(made.values)}:")
        for value in outlook.unfit[:_SHOWN]:
            say(f"     {value.name}: {value.share:.4%} of the people")
        if len(outlook.unfit) > _SHOWN:
            say(f"     and {len(outlook.unfit) - _SHOWN} more")
    else:
        say("   values that do not fit     none")
    if outlook.expected:
        sizes = ", ".join(
            f"{number}: {outlook.expected[number - 1].mean_size:.0f}"
            for number in _LINKS
            if number <= len(outlook.expected)
        )
        say(f"   mean group size expected   {outlook.mean_size:.0f} ({sizes})")
        say(f"   precision lost             {outlook.lost_precision:.1%}")
    say(f"   suppressed                 {outlook.suppressed_share:.2%} of the values held")
    if len(outlook.expected) < made.releases_ahead:
        say(f"   ENDS after {len(outlook.expected)} releases: no more can be published")
    if outlook.left:
        left = ", ".join(
            f"{each.links if each.links is not None else 'all planned'}: {each.pairs:,} pairs"
            for each in outlook.left
        )
        say(f"   links left                 {left}")


def _number(ratio: float) -> str:
    return "none" if math.isinf(ratio) else f"{ratio:,.1f}"

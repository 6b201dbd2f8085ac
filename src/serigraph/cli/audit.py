"""``serigraph audit``"""

from __future__ import annotations

import csv
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from serigraph.cli.cohorts import tell_cohorts
from serigraph.cli.crowds import tell_crowds
from serigraph.cli.engine import EngineName, EngineOption, MasterOption, SettingOption, chosen
from serigraph.cli.output import Json, print_json, say, stages
from serigraph.errors import GuaranteeExceeded, InputRefused, LedgerDamaged, StorageError

if TYPE_CHECKING:
    from serigraph.auditing import Audit, Examined, Figures
    from serigraph.engines import Engine
    from serigraph.publishing.persistence import Assumption


class Misfit(StrEnum):
    """What may be wrong with how people and regions fit each other; see `Tolerated`."""

    OVERLAPS = "overlaps"
    MISSING_PEOPLE = "missing-people"
    EMPTY_REGIONS = "empty-regions"


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
    registry: Annotated[
        Path | None, typer.Option(help="With --releases: the population list.")
    ] = None,
    tolerate: Annotated[
        list[Misfit] | None,
        typer.Option(help="With --releases: accept this misfit and note it; repeatable."),
    ] = None,
    known_members: Annotated[
        int, typer.Option(min=0, help="Members of each group whom the adversary knows.")
    ] = 1,
    worst: Annotated[int, typer.Option(min=0, help="How many worst cases to show.")] = 10,
    pseudonyms: Annotated[
        Path | None,
        typer.Option(help="Write the pseudonyms' ids to this file; protect it like the data."),
    ] = None,
    engine: EngineOption = EngineName.LOCAL,
    master: MasterOption = "",
    spark_setting: SettingOption = None,
    as_json: Json = False,
) -> None:
    """Recompute every probability of a series, or of releases made by other tools.

    Exit code 4: a threshold is exceeded. Exit code 6: files and ledger disagree.
    """
    where = chosen(engine, master, spark_setting)
    if releases:
        if engine == EngineName.SPARK:
            raise InputRefused(
                "releases of other tools are audited on one machine", remedy="omit --engine"
            )
        found = _of_releases(paths, policy, raw, registry, tolerate, known_members, worst)
        assumption, rests_on = _assumed_of_others(policy)
    else:
        found = _of_series(paths, raw, known_members, worst, where)
        assumption = _assumed(paths[0])
        rests_on = assumption.rests_on()
    if pseudonyms is not None:
        _write_pseudonyms(pseudonyms, found.pseudonyms)
    audit = found.audit
    if as_json:
        print_json(
            {
                "within_threshold": audit.is_within,
                "rests_on": rests_on,
                "caveat": assumption.caveat(),
                "files_agree": audit.files_agree,
                "audit": audit,
            }
        )
    else:
        _tell(audit, known_members)
        say(_conclusion(audit, assumption, rests_on))
    if not audit.files_agree:
        raise typer.Exit(LedgerDamaged.exit_code)
    if not audit.is_within:
        raise typer.Exit(GuaranteeExceeded.exit_code)


def _of_series(
    paths: list[Path], raw: list[Path] | None, known_members: int, worst: int, where: Engine
) -> Examined:
    from serigraph.auditing import SERIES_STAGES, audit_series

    if len(paths) != 1:
        raise InputRefused(
            f"one series is audited at a time, not {len(paths)}",
            remedy="give one series, or add --releases for releases of other tools",
        )
    with stages(SERIES_STAGES) as progress:
        return audit_series(
            paths[0],
            raw=raw or (),
            known_members=known_members,
            worst=worst,
            progress=progress,
            engine=where,
        )


def _of_releases(
    paths: list[Path],
    policy: Path | None,
    raw: list[Path] | None,
    registry: Path | None,
    tolerate: list[Misfit] | None,
    known_members: int,
    worst: int,
) -> Examined:
    from serigraph.auditing import RELEASES_STAGES, audit_releases

    if policy is None:
        raise InputRefused(
            "releases can only be audited against a policy",
            remedy="give a policy file with --policy",
        )
    with stages(RELEASES_STAGES) as progress:
        return audit_releases(
            paths,
            policy,
            raw=raw or (),
            registry=registry,
            tolerate=[each.value for each in tolerate or ()],
            known_members=known_members,
            worst=worst,
            progress=progress,
        )


def _tell(audit: Audit, known_members: int) -> None:
    say(f"{audit.people:,} people, {len(audit.releases)} releases, threshold {audit.threshold}")
    say(f"  {'release':<24} {'alone':>8} {'mean':>8}   {'so far':>8} {'mean':>8} {'above':>18}")
    for each in audit.releases:
        so_far = each.so_far
        say(
            f"  {each.label[:24]:<24} {float(each.localised.largest):>8.4f} "
            f"{each.localised.mean:>8.4f}   {float(so_far.largest):>8.4f} {so_far.mean:>8.4f} "
            f"{so_far.people_above:>11,} people"
        )
    whole = audit.over_all
    say(
        f"Over all releases: largest probability {_shown(whole)}, mean {whole.mean:.4f}; "
        f"{whole.pairs_above:,} of {whole.pairs:,} pairs and {whole.people_above:,} of "
        f"{audit.people:,} people above the threshold"
    )
    say("Pairs by probability:")
    most = max(whole.by_probability)
    for number, pairs in enumerate(whole.by_probability):
        if pairs:
            bar = "#" * max(1, round(40 * pairs / most))
            say(f"  {number / 20:.2f} to {(number + 1) / 20:.2f}  {pairs:>12,}  {bar}")
    if audit.cohorts:
        tell_cohorts(audit.cohorts[-1])
    _tell_assumptions(audit)
    tell_crowds(audit.crowds, known_members)
    if audit.worst:
        say("Worst cases (pseudonyms are new in every audit):")
        for case in audit.worst:
            groups = ", ".join(f"{each.count}/{each.size}" for each in case.exposures)
            say(f"  {case.pseudonym}  {float(case.probability):.4f}  {case.value}: {groups}")
    for note in audit.notes:
        say(f"note: {note}")
    for agreement in audit.agreement:
        for difference in agreement.differences:
            say(f"DISAGREEMENT in release {agreement.label}: {difference}")
    if audit.agreement and audit.files_agree:
        say("The published files and the ledger agree, group by group.")


def _tell_assumptions(audit: Audit) -> None:
    if audit.cohorts and not any(other.figures.pairs for other in audit.assumptions):
        return  # they are about transient values, and none was ever shown
    about = ", for transient values:" if audit.cohorts else ":"
    say(f"Under assumptions that the promise does not make{about}")
    for other in audit.assumptions:
        figures = other.figures
        say(
            f"  {other.name:<32} largest {float(figures.largest):.4f}, mean {figures.mean:.4f}, "
            f"{figures.people_above:,} people above"
        )


def _conclusion(audit: Audit, assumption: Assumption, rests_on: str) -> str:
    if not audit.is_within:
        return "The promise is BROKEN."
    if audit.above_in_crowds is None:
        only = "only if" if assumption.caveat() else "if"
        return (
            f"{assumption.caveat()} Whether the promise holds for values that persist cannot be "
            "told without the tables (--raw). For transient values it holds "
            f"{only} they change freely between releases."
        ).strip()
    return assumption.promise(rests_on)


def _assumed_of_others(policy: Path | None) -> tuple[Assumption, str]:
    from serigraph.policy import read_policy
    from serigraph.publishing.persistence import assumed_of_others

    return assumed_of_others(read_policy(policy or Path()))


def _assumed(series: Path) -> Assumption:
    from serigraph.ledger import Series
    from serigraph.publishing.persistence import assumption_of

    return assumption_of(Series.open(series).releases())


def _shown(figures: Figures) -> str:
    text = str(figures.largest)
    return f"{float(figures.largest):.4f}" + (f" ({text})" if len(text) <= 12 else "")


def _write_pseudonyms(path: Path, pseudonyms: dict[str, str | int]) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputRefused(
            "a file already exists at this path", where=str(path), remedy="give another path"
        ) from None
    except OSError as error:
        raise StorageError(
            f"the pseudonyms cannot be written ({error.strerror})",
            where=str(path),
            remedy="give a path that you may write",
        ) from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["pseudonym", "id"])
        writer.writerows(pseudonyms.items())

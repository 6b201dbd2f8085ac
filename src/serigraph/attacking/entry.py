"""All attacks, run on a series or on releases that any tool made."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from serigraph.arguments import real, several, whole
from serigraph.attacking.attendance import Attendance
from serigraph.attacking.background import BackgroundKnowledge
from serigraph.attacking.definetti import DeFinetti
from serigraph.attacking.downcoding import Downcoding
from serigraph.attacking.intersection import Intersection
from serigraph.attacking.linkage import Linkage
from serigraph.attacking.minimality import Minimality
from serigraph.attacking.newcomers import Newcomers
from serigraph.attacking.numbers import Numbers
from serigraph.attacking.order import Order
from serigraph.attacking.reading import releases_target, series_target
from serigraph.attacking.scoring import Attack, Finding, run
from serigraph.attacking.singling_out import SinglingOut
from serigraph.attacking.suppression import Suppression
from serigraph.errors import InputRefused
from serigraph.ledger import Series
from serigraph.policy import Policy
from serigraph.runtime.stages import shows_progress
from serigraph.short_repr import ShortRepr

ATTACKS: tuple[Attack, ...] = (
    SinglingOut(),
    Order(),
    Numbers(),
    Linkage(),
    Intersection("intersection, values stay", keeps=1.0),
    Intersection("intersection, values change", keeps=0.8),
    Attendance(),
    Newcomers(),
    Suppression(),
    Minimality("minimality"),
    Minimality("minimality, by a holder", knows_itself=True),
    BackgroundKnowledge("one member known", 1),
    BackgroundKnowledge("two members known", 2),
    BackgroundKnowledge("three members known", 3),
    DeFinetti(),
    Downcoding("downcoding, middle", is_middle=True),
    Downcoding("downcoding, edge", is_middle=False),
)
"""To add an attack, write a module with a class that fulfils `Attack`, and add a row."""


@dataclass(frozen=True, repr=False)
class Attacked(ShortRepr):
    """What all attacks have found. The figures depend on who holds what: they are for the
    publisher, not for the public."""

    people: int
    releases: tuple[str, ...]
    findings: tuple[Finding, ...]
    highest_lift: float | None  # that is accepted; None: any
    notes: tuple[str, ...] = ()

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """The attacks whose lift is surely above the accepted one."""
        if self.highest_lift is None:
            return ()
        return tuple(each for each in self.findings if each.exceeds(self.highest_lift))

    def _facts(self) -> dict[str, object]:
        ran = [each for each in self.findings if not each.not_run]
        return {
            "people": self.people,
            "releases": len(self.releases),
            "attacks": f"{len(ran)} run, {len(self.findings) - len(ran)} not",
            "largest lift": max((each.lift for each in ran), default=0.0),
            "leaks": len(self.leaks),
        }


@shows_progress(("reading", "attacking"))
def attack(  # an argument for each option of the command
    series: str | os.PathLike[str] | Series | None = None,
    *,
    releases: Any = (),
    policy: str | Path | Policy | None = None,
    raw: Any = (),
    registry: Any = None,
    draft: str = "",
    sample: int | str | None = None,
    highest_lift: float | str | None = None,
    seed: int | str | None = None,
    progress: Callable[..., None] = lambda *_: None,
) -> Attacked:
    """Attack a series, or releases of any tool made under a policy.

    ``raw`` are the tables that the releases were made from, in order. A series can do without them;
    attacks that need rows or quasi-identifiers are then not run. ``draft`` names a draft of the
    series, which is attacked as its next release; its table is then the last of ``raw``. At
    most ``sample`` bets of each attack count. ``highest_lift`` replaces the limit of the policy.
    ``seed`` makes the draws repeatable. ``releases`` and ``raw`` are one or several.
    """
    releases, raw = several(releases), several(raw)
    limit = None if highest_lift is None else real(highest_lift, "highest_lift", least=1)
    most = None if sample is None else whole(sample, "sample")
    draw = np.random.default_rng(None if seed is None else whole(seed, "seed", least=0))
    if draft and releases:
        raise InputRefused(
            "a draft is attacked with the series that it belongs to, not with releases of any tool",
            remedy="give the series alone, or leave out the draft",
        )
    if most is not None and most < 1:
        raise InputRefused("a sample has at least one bet", remedy="give a larger sample, or none")
    progress("reading")
    if series is not None and not releases:
        opened = series if isinstance(series, Series) else Series.open(Path(series))
        target = series_target(opened, raw, registry, draw, draft)
    elif series is None and releases and policy is not None:
        target = releases_target(releases, policy, raw, registry, draw)
    else:
        raise InputRefused(
            "an attack needs either a series, or releases and a policy",
            remedy="give the folder of a series, or releases, policy and raw",
        )
    findings = []
    for number, each in enumerate(ATTACKS):
        progress("attacking", number, len(ATTACKS))
        findings.append(run(each, target.evidence, target.truth, draw, most))
    return Attacked(
        people=target.evidence.people,
        releases=tuple(seen.label for seen in target.evidence.releases),
        findings=tuple(findings),
        highest_lift=target.highest_lift if limit is None else limit,
        notes=(*target.notes, *(doubt for each in findings for doubt in each.doubts())),
    )

"""What is interrupted by a fault, and what has to be found after it."""

from __future__ import annotations

import shutil
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import FrameType

import polars as pl

import serigraph
from faults.power_cut import Disk, read_log, write_tree
from faults.shim import PATIENCE, Commands, Ended, Fault
from publishing.clinic import COMMON, clinic, new_series, policy_text
from serigraph.errors import AlreadyPublished, SeriesNotFound, SerigraphError

RECOVERED, LOST, HALF, TRACEBACK, HANG = OUTCOMES = (
    "recovered",
    "lost",
    "half",
    "tracebacks",
    "hangs",
)
_BUG = 70
_IS_OUT = (0, 9)  # exit codes: done, and done but not told or not in place
_LEAVES_IT_OPEN = "'serigraph status' shows which releases are out"
_PAIRS = 'threshold = "1/2"\nminimum_group_size = 2'
_STAY = '[plain]\nstay = "numeric"\n'
_ANY = f'except = {list(COMMON)}\n[protected.persistence]\ndefault = "any"'


(
    BEGINNING,
    PUBLISHING,
    DRAFTING,
    APPROVING,
    DISCARDING,
    PUBLISHING_A_DRAFT,
    UNDOING,
    FINISHING,
) = SCENARIOS = (
    "beginning a series",
    "publishing",
    "drafting",
    "approving of a draft",
    "discarding a draft",
    "publishing a draft",
    "recovering before the commit",
    "recovering after the commit",
)


@dataclass(frozen=True)
class Verdict:
    """What was found after a fault, and why it is not well."""

    outcome: str
    reason: str = ""


class NotWhole(Exception):
    """Something of a release is there, and something is not."""


class Lost(Exception):
    """What was there before a command is not."""


@dataclass(frozen=True)
class Scenario:
    """A command in a folder that has the tables of three releases, and in ``series`` the first."""

    name: str
    before: Path
    arguments: tuple[str, ...]

    def command(self, folder: Path) -> list[str]:
        return [each.format(folder=folder) for each in self.arguments]

    def record(self, commands: Commands, scratch: Path) -> tuple[Disk, int]:
        """Run it without a fault: how the disk changed, and how many operations there were."""
        folder = shutil.copytree(self.before, scratch / "recorded")
        log = scratch / "log"
        ended = commands.run(*self.command(folder), watched=folder, log=log)
        assert ended.exit_code == 0, ended.said
        disk = Disk(self.before, read_log(log, folder))
        shutil.rmtree(folder)
        return disk, ended.operations

    def after_cut(self, disk: Disk, at: int, choice: str, seed: int, folder: Path) -> Verdict:
        """Cut the power before a change, and look at what is left."""
        write_tree(folder, disk.after_cut(at, choice, seed))
        return self._judged(folder, says=True if at == len(disk) - 1 else None)

    def after_fault(
        self, commands: Commands, fault: Fault, at: int, folder: Path
    ) -> Verdict | None:
        """Let an operation fail, and look at what is left; None where the command did not come to
        it: threads do not take the same steps each time."""
        shutil.copytree(self.before, folder)
        ended = commands.run(*self.command(folder), watched=folder, fault=fault, at=at)
        if not ended.is_met:
            return None
        if ended.is_hung:
            return Verdict(HANG, "the command does not end")
        if ended.exit_code == _BUG or "Traceback" in ended.said:
            return Verdict(TRACEBACK, ended.said)
        verdict = self._judged(folder, self._says(ended))
        return replace(verdict, reason=f"{verdict.reason}\nThe command said: {ended.said}")

    def _says(self, ended: Ended) -> bool | None:
        """Whether the command says that its work is done; None where it does not say."""
        return True if ended.exit_code == 0 else None

    def _judged(self, folder: Path, says: bool | None) -> Verdict:
        try:
            with _limited(PATIENCE):
                is_done = self._look_at(folder)
        except Lost:
            return Verdict(LOST, "what was there before")
        except TimeoutError:
            return Verdict(HANG, "the next command does not end")
        except (NotWhole, SerigraphError) as error:
            return Verdict(HALF, f"{type(error).__name__}: {error}")
        except Exception:
            return Verdict(TRACEBACK, traceback.format_exc())
        if says is True and not is_done:
            return Verdict(LOST, "the command had said that it was done")
        if says is False and is_done:
            return Verdict(HALF, "the command had said that nothing was done")
        return Verdict(RECOVERED)

    def _look_at(self, folder: Path) -> bool:
        """Whether the work is done; the next commands have to find it done or not begun."""
        raise NotImplementedError


class Beginning(Scenario):
    def _look_at(self, folder: Path) -> bool:
        try:
            series = serigraph.Series.open(folder / "series")
        except SeriesNotFound:
            serigraph.init(folder / "series", folder / "first.parquet")
            series = serigraph.Series.open(folder / "series")
            is_done = False
        else:
            is_done = True
        _check(series)
        serigraph.publish(folder / "first.parquet", series)
        _check(series)
        return is_done


class Publishing(Scenario):
    def _says(self, ended: Ended) -> bool | None:
        if ended.exit_code < 0 or _LEAVES_IT_OPEN in ended.said:
            return None
        return ended.exit_code in _IS_OUT

    def _look_at(self, folder: Path) -> bool:
        try:
            series = serigraph.Series.open(folder / "series")
        except SeriesNotFound as error:
            raise Lost from error
        labels = [release.label for release in series.releases()]
        if labels[:1] != ["first"]:
            raise Lost
        _check(series)
        for label in ("first", "second", "third"):
            try:
                serigraph.publish(folder / f"{label}.parquet", series)
                is_new = True
            except AlreadyPublished:
                is_new = False
            if is_new is (label in labels):
                raise NotWhole(f"{label} was out and could be published, or was not and could not")
        _check(series)
        return "second" in labels


class Drafting(Publishing):
    """A draft that is whole can be published; otherwise nothing of it is there."""

    def _look_at(self, folder: Path) -> bool:
        drafts = serigraph.drafts(folder / "series")
        if [each.label for each in drafts] not in ([], ["second"]):
            raise NotWhole("there are other drafts than the one that was made")
        for each in drafts:
            serigraph.publish_draft(folder / "series", each.name)
        if super()._look_at(folder) is not bool(drafts):
            raise NotWhole("the draft was there, and is not the release")
        return bool(drafts)


class Approving(Scenario):
    """A draft that has its approval can be published with it; otherwise it can be approved of."""

    def _look_at(self, folder: Path) -> bool:
        series = serigraph.Series.open(folder / "series")
        _check(series)
        (draft,) = serigraph.drafts(series)
        is_done = bool(draft.approvals)
        if not is_done:
            serigraph.approve(series, draft.name, folder / "key")
        release = serigraph.publish_draft(series, draft.name)
        if len(list(release.folder.glob("*approval*"))) != 1:
            raise NotWhole("the release does not have its approval")
        _check(series)
        return is_done


class Discarding(Publishing):
    """A draft is there as a whole, or not at all."""

    def _says(self, ended: Ended) -> bool | None:
        return True if ended.exit_code == 0 else None

    def _look_at(self, folder: Path) -> bool:
        found = serigraph.drafts(folder / "series")
        for each in found:
            serigraph.publish_draft(folder / "series", each.name)
        if super()._look_at(folder) is not bool(found):
            raise NotWhole("the draft was there, and is not the release")
        return not found


class PublishingADraft(Publishing):
    """A release that is not out leaves its draft; one that is out, or will be, takes it along."""

    def _look_at(self, folder: Path) -> bool:
        series = serigraph.Series.open(folder / "series")
        is_out = "second" in [release.label for release in series.releases()]
        if not is_out:
            (draft,) = serigraph.drafts(series)
            serigraph.publish_draft(series, draft.name)
        if not super()._look_at(folder):
            raise NotWhole("the draft is not the release")
        if series.drafts():
            raise NotWhole("the draft is still there")
        return is_out


class Recovering(Publishing):
    """A command that says nothing of the release that it brings to its place or undoes."""

    def _judged(self, folder: Path, says: bool | None) -> Verdict:
        return super()._judged(folder, says=None)


def _check(series: serigraph.Series) -> None:
    """Everything fits its digests, files agree with the ledger, and nothing lies about."""
    series.check()
    releases = series.releases()
    if releases:
        audit = serigraph.audit(series)
        if not (audit.is_within and audit.files_agree):
            raise NotWhole("the files and the ledger do not agree")
    labels = {release.label for release in releases}
    numbers = {f"{release.number:04d}" for release in releases}
    for name, known in {"releases": labels, "ledger": numbers, "staging": set()}.items():
        if {each.name for each in (series.path / name).iterdir()} != known:
            raise NotWhole(f"strangers in {name}")


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


_SERIES, _SECOND = "{folder}/series", "{folder}/second.parquet"
_PUBLISH = ("publish", _SECOND, "--series", _SERIES)
_COMMANDS: dict[str, tuple[type[Scenario], tuple[str, ...]]] = {
    BEGINNING: (Beginning, ("init", _SERIES, "--from", "{folder}/first.parquet")),
    PUBLISHING: (Publishing, _PUBLISH),
    DRAFTING: (Drafting, ("draft", _SECOND, "--series", _SERIES)),
    APPROVING: (Approving, ("approve", "second", "--series", _SERIES, "--key", "{folder}/key")),
    DISCARDING: (Discarding, ("drafts", _SERIES, "discard", "second")),
    PUBLISHING_A_DRAFT: (PublishingADraft, ("publish", "--draft", "second", "--series", _SERIES)),
    UNDOING: (Recovering, ("status", _SERIES)),
    FINISHING: (Recovering, ("status", _SERIES)),
}


def scenario_of(name: str, scratch: Path, commands: Commands) -> Scenario:
    """The scenario with this name, made in a folder that is not there yet.

    Drafts are of records with plain columns where they are made, and of cohorts where they are
    published.
    """
    folder = scratch / "before"
    policy = {
        DRAFTING: policy_text(guarantee=_PAIRS, rest=_STAY),
        PUBLISHING_A_DRAFT: policy_text(protected=_ANY),
    }.get(name, policy_text())
    _tables(folder)
    if name != BEGINNING:
        series = new_series(folder / "series", policy)
        serigraph.publish(folder / "first.parquet", series)
    if name == APPROVING:
        with (folder / "series" / "policy.toml").open("a") as opened:
            opened.write("[signing]\napprovals = 1\n")
        serigraph.make_key(folder / "key")
    if name in (APPROVING, DISCARDING, PUBLISHING_A_DRAFT):
        serigraph.draft(folder / "second.parquet", folder / "series")
    if name in (UNDOING, FINISHING):
        cut, _ = Publishing(name, folder, _PUBLISH).record(commands, scratch)
        folder = _cut_short(cut, name, scratch / "cut short")
    kind, arguments = _COMMANDS[name]
    return kind(name, folder, arguments)


def _tables(folder: Path) -> None:
    folder.mkdir()
    made = clinic(releases=3, people=120, registered=300, seed=12, protected_share=0.08)
    for label, table in zip(("first", "second", "third"), made.tables, strict=True):
        stays = pl.Series("stay", range(1, len(table) + 1))
        table.with_columns(stays).write_parquet(folder / f"{label}.parquet")


def _cut_short(disk: Disk, name: str, folder: Path) -> Path:
    """A publication that will be undone, its parts written, or one that will be finished: the last
    moment before SQLite begins the commit, or before the public files are moved."""
    states = [disk.after_cut(at, "kept") for at in range(len(disk))]
    sign = "series/catalog.sqlite-journal" if name == UNDOING else "series/releases/second"
    return write_tree(folder, next(state for state, then in pairwise(states) if sign in then))

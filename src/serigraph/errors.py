"""Every error that Serigraph raises on purpose.

    SerigraphError
    ├── InputRefused            the table, the registry or the policy cannot be used      exit 3
    │   ├── PolicyError         the policy file; lists all problems at once
    │   ├── TableError          the table or the registry; lists all problems at once
    │   ├── TaxonomyError       a taxonomy file
    │   ├── NotApproved         the policy asks for more approvals, or one is not valid
    │   └── MissingExtra        the format needs a package that is not installed
    ├── PromiseError            the release cannot be made without breaking the promise   exit 4
    │   ├── Infeasible          some values do not fit; says which, and what would help
    │   ├── GuaranteeExceeded   the verifier found a pair above its threshold
    │   ├── Leaking             an attack on the draft came further than the policy accepts
    │   └── PolicyChanged       the policy was changed in a way that would break the promise
    ├── AlreadyPublished        this label or table is already published                  exit 5
    ├── SeriesError             the series on disk                                        exit 6
    │   ├── SeriesNotFound      no series at this path
    │   ├── SeriesExists        a series already exists at this path
    │   ├── SeriesBusy          another process is publishing
    │   ├── SeriesDiverged      the latest release is not the one that the publisher expected
    │   ├── DraftNotFound       no draft of this name
    │   ├── ReadOnly            the server was started for looking only
    │   ├── DraftRefused        the draft, the series or the policy was changed since it was made
    │   └── LedgerDamaged       part of the ledger was changed or is missing
    ├── StorageError            the disk is full or cannot be written                     exit 7
    │   └── NotInPlace          the release is out, but its files are not in place yet    exit 9
    ├── ClusterError            Spark cannot do the work                                  exit 8
    │   ├── JavaNotFound        no Java runtime that Spark runs on
    │   ├── ClusterUnreachable  no master at this address, or no executor in time
    │   ├── ExecutorUnfit       an executor lacks serigraph, or has another version
    │   └── ClusterFailed       the cluster was lost, or a task kept failing
    ├── NotTold                 done, but the result could not be written to stdout       exit 9
    ├── MemoryExhausted         not enough memory                                         exit 10
    └── ImpossibleState         a bug: no input should be able to cause this              exit 70

An error says what is wrong, where, and what to do, and it never holds a person's id or value.
"""

from __future__ import annotations

from collections.abc import Sequence


class SerigraphError(Exception):
    """Base of all errors: ``what`` happened, ``where``, and what to do about it (``remedy``).

    If several things are wrong, ``problems`` lists them all.
    """

    exit_code = 1

    def __init__(
        self, what: str, *, where: str = "", remedy: str = "", problems: Sequence[str] = ()
    ) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        self.problems = tuple(problems)
        super().__init__(" - ".join(part for part in (what, where, remedy) if part))

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"  - {problem}" for problem in self.problems)])


class InputRefused(SerigraphError):
    """The input cannot be used as it is; ``problems`` lists everything that is wrong with it."""

    exit_code = 3


class PolicyError(InputRefused):
    """The policy file is not valid."""


class TableError(InputRefused):
    """The table or the registry does not fit the policy."""


class TaxonomyError(InputRefused):
    """A taxonomy file is not a tree, or does not cover the data."""


class NotApproved(InputRefused):
    """The policy asks for approvals of a draft that are missing or not valid."""


class MissingExtra(InputRefused):
    """An optional package is needed for this input."""


class PromiseError(SerigraphError):
    """Going on would break the promise, so nothing was published."""

    exit_code = 4


class Infeasible(PromiseError):
    """No grouping keeps the guarantee for everybody; ``problems`` says what does not fit."""


class GuaranteeExceeded(PromiseError):
    """The verifier refused a proposed release."""


class Leaking(PromiseError):
    """An attack on a release came further than the policy accepts."""


class NotTransient(PromiseError):
    """The data contradict the policy: holders keep a value that it calls transient."""


class PolicyChanged(PromiseError):
    """The policy differs from that of earlier releases where it must not."""


class AlreadyPublished(SerigraphError):
    """The label or the table is already published."""

    exit_code = 5


class SeriesError(SerigraphError):
    """The series on disk is not in the state that the command needs."""

    exit_code = 6


class SeriesNotFound(SeriesError):
    """There is no series at this path."""


class SeriesExists(SeriesError):
    """A series already exists at this path."""


class SeriesBusy(SeriesError):
    """Another process is publishing to this series."""


class SeriesDiverged(SeriesError):
    """The latest release is not the one that the publisher expected."""


class DraftNotFound(SeriesError):
    """There is no draft of this name."""


class DraftRefused(SeriesError):
    """The draft, the series or the policy is not what it was when the draft was made."""


class ReadOnly(SeriesError):
    """The server was started for looking only."""


class LedgerDamaged(SeriesError):
    """Part of the ledger is missing, or is not what was committed."""


class StorageError(SerigraphError):
    """The disk is full or cannot be written."""

    exit_code = 7


class NotInPlace(StorageError):
    """The release is out, or the draft is made, but the disk has not taken all of it yet."""

    exit_code = 9


class ClusterError(SerigraphError):
    """Spark cannot do the work; nothing was published and nothing has changed."""

    exit_code = 8


class JavaNotFound(ClusterError):
    """Spark needs a Java runtime; ``problems`` lists those found that do not work."""


class ClusterUnreachable(ClusterError):
    """There is no master at this address, or it gave no executor in time."""


class ExecutorUnfit(ClusterError):
    """An executor lacks Python, serigraph, or this version of them."""


class ClusterFailed(ClusterError):
    """The cluster was lost during the run, or a task failed too often."""


class NotTold(SerigraphError):
    """The command succeeded, but its output could not be written."""

    exit_code = 9


class MemoryExhausted(SerigraphError):
    """Not enough memory for this table."""

    exit_code = 10


class ImpossibleState(SerigraphError):
    """Something happened that no input should be able to cause."""

    exit_code = 70

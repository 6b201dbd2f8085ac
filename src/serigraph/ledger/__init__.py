"""The ledger: what was published about people, kept for good, and the only way to add to it."""

from serigraph.ledger.drafts import KeptDraft
from serigraph.ledger.parts import id_type_of
from serigraph.ledger.reader import Reader
from serigraph.ledger.recovery import notes_on_unknown
from serigraph.ledger.release import (
    PRESENCE_KNOWN,
    PRESENCE_UNKNOWN,
    PastExposure,
    ReleaseDraft,
    ReleaseRecord,
    WrittenFile,
    WrittenParts,
    check_label,
)
from serigraph.ledger.series import Series
from serigraph.ledger.storage import FileDigest, storage_errors
from serigraph.ledger.writer import Writer

__all__ = [
    "PRESENCE_KNOWN",
    "PRESENCE_UNKNOWN",
    "FileDigest",
    "KeptDraft",
    "PastExposure",
    "Reader",
    "ReleaseDraft",
    "ReleaseRecord",
    "Series",
    "Writer",
    "WrittenFile",
    "WrittenParts",
    "check_label",
    "id_type_of",
    "notes_on_unknown",
    "storage_errors",
]

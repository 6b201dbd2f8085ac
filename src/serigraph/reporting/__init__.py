"""Documents: the report and the certificate of releases and of series, and their verification."""

from serigraph.reporting.approving import approve
from serigraph.reporting.certificate import Certificate, read_certificate
from serigraph.reporting.documents import publish_with_report, write_documents
from serigraph.reporting.drafting import (
    Draft,
    Preview,
    discard_draft,
    draft,
    drafts,
    dry_run,
    publish_draft,
)
from serigraph.reporting.plan_page import write_plan_page
from serigraph.reporting.series_report import SeriesReport, report_series
from serigraph.reporting.verifying import Verified, verify_certificate

__all__ = [
    "Certificate",
    "Draft",
    "Preview",
    "SeriesReport",
    "Verified",
    "approve",
    "discard_draft",
    "draft",
    "drafts",
    "dry_run",
    "publish_draft",
    "publish_with_report",
    "read_certificate",
    "report_series",
    "verify_certificate",
    "write_documents",
    "write_plan_page",
]

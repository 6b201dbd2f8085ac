"""The audit of a series whose ledger does not fit one machine."""

from serigraph.auditing.on_spark.series import audit_series_on_spark

__all__ = ["audit_series_on_spark"]

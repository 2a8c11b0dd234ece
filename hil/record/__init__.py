"""The record of a run: a folder a trial, results.json and results.csv."""

from hil.record.quantities import quantities
from hil.record.reader import Run, read_run
from hil.record.trial_record import SCHEMA, TrialRecord, schema
from hil.record.writer import RunWriter

__all__ = ["SCHEMA", "Run", "RunWriter", "TrialRecord", "quantities", "read_run", "schema"]

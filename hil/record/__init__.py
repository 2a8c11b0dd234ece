"""The record of a run: a folder a trial, results.json and results.csv."""

from hil.record.asked import VERDICTS, AskedTest
from hil.record.checked import made
from hil.record.quantities import quantities
from hil.record.reader import Run, read_run
from hil.record.results import SCHEMA, schema
from hil.record.trial_record import TrialRecord
from hil.record.trial_writer import TrialWriter
from hil.record.whole import whole, write_whole
from hil.record.writer import RunWriter

__all__ = [
    "SCHEMA",
    "VERDICTS",
    "AskedTest",
    "Run",
    "RunWriter",
    "TrialRecord",
    "TrialWriter",
    "made",
    "quantities",
    "read_run",
    "schema",
    "whole",
    "write_whole",
]

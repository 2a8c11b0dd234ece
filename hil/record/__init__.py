"""The record of a run: a folder for each trial, results.json and results.csv."""

from hil.record.asked import VERDICTS, AskedTest
from hil.record.checked import new_entry
from hil.record.quantities import quantities
from hil.record.reader import Run, read_run
from hil.record.results import SCHEMA, schema
from hil.record.trial_record import TrialRecord
from hil.record.trial_writer import TrialWriter
from hil.record.whole import atomic_file, write_atomic
from hil.record.writer import RunWriter

__all__ = [
    "SCHEMA",
    "VERDICTS",
    "AskedTest",
    "Run",
    "RunWriter",
    "TrialRecord",
    "TrialWriter",
    "atomic_file",
    "new_entry",
    "quantities",
    "read_run",
    "schema",
    "write_atomic",
]

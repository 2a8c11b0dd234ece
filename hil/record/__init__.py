"""The record of a run: a folder for each trial, results.json and results.csv."""

from typing import TYPE_CHECKING

from hil.atomic_write import atomic_file, write_atomic
from hil.door import door

if TYPE_CHECKING:
    from hil.record.results import SCHEMA, schema
    from hil.record.run_reader import Entries, Run, read_entries, read_run, read_trial
    from hil.record.run_writer import RunWriter
    from hil.record.trial_quantities import quantities
    from hil.record.trial_record import TrialRecord
    from hil.record.trial_writer import TRAINED, TrialExtras, TrialWriter
    from hil.record.validation import new_entry
    from hil.record.verdicts import VERDICTS, AskedTest

__all__ = [
    "SCHEMA",
    "TRAINED",
    "VERDICTS",
    "AskedTest",
    "Entries",
    "Run",
    "RunWriter",
    "TrialExtras",
    "TrialRecord",
    "TrialWriter",
    "atomic_file",
    "new_entry",
    "quantities",
    "read_entries",
    "read_run",
    "read_trial",
    "schema",
    "write_atomic",
]
__getattr__ = door(
    __name__,
    {
        "AskedTest": "verdicts",
        "Entries": "run_reader",
        "Run": "run_reader",
        "RunWriter": "run_writer",
        "SCHEMA": "results",
        "TRAINED": "trial_writer",
        "TrialExtras": "trial_writer",
        "TrialRecord": "trial_record",
        "TrialWriter": "trial_writer",
        "VERDICTS": "verdicts",
        "new_entry": "validation",
        "quantities": "trial_quantities",
        "read_entries": "run_reader",
        "read_run": "run_reader",
        "read_trial": "run_reader",
        "schema": "results",
    },
)

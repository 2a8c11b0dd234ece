"""The report of a run, from its record and nothing else."""

from hil.report.page import render

__all__ = ["render"]

"""The report of a run, from its record and nothing else."""

from hil.report.page import render, render_single

__all__ = ["render", "render_single"]

"""The report of a run, rendered from its record only."""

from hil.report.page import render, render_single

__all__ = ["render", "render_single"]

"""The boards of a lab at one moment: who has each, how it fares, what waits for it. Terminal, JSON and page."""

from hil.report.lab.page import write_lab_page
from hil.report.lab.view import BoardLine, LabView, lab_view

__all__ = ["BoardLine", "LabView", "lab_view", "write_lab_page"]

"""The page of `hil lab --page`: every board and every run that goes on, at one moment."""

from __future__ import annotations

from pathlib import Path

from hil import __version__
from hil.record import write_atomic
from hil.report.lab import words
from hil.report.lab.view import LabView
from hil.report.page import environment


def write_lab_page(view: LabView, path: Path) -> None:
    """Write one self-contained page; it has no scripts, and asks no host for anything.

    Raises:
        OSError: the disk is full, or the folder does not exist.
    """
    page = environment().get_template("lab.html.j2").render(view=view, words=words, version=__version__)
    write_atomic(path, page)

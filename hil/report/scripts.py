"""The scripts of the pages, and the Content-Security-Policy by which these run, and nothing that a record holds."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from markupsafe import Markup

LIBRARY_PLACES = ("'self'", "file:")  # of plotly.js beside a page; "file:" where files are other origins to a browser
UNPACKED = "blob:"  # of the library after figures.js has unpacked it; only a script can make such an address


@cache
def script(*names: str) -> Markup:
    """Return the text of one script element: these files of the templates, one after the other."""
    folder = files("hil.report") / "templates"
    return Markup("\n" + "".join((folder / name).read_text(encoding="utf-8") for name in names))


def allowed(scripts: Sequence[str], library: str = "") -> Markup:
    """Return the sources of `script-src` by which just these scripts run (Content Security Policy Level 3, 2.3.1).

    Args:
        scripts: the texts of all script elements.
        library: where plotly.js is: `beside` the page, `within` it as one of the scripts; empty without figures.
    """
    places = (*(LIBRARY_PLACES if library == "beside" else ()), *((UNPACKED,) if library else ()))
    return Markup(" ".join([*places, *map(_source, scripts)]) or "'none'")


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

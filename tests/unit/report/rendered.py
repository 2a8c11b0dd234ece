"""The pages of a run, rendered and read."""

from __future__ import annotations

import re

from hil.report import render


def body(path):
    """What a reader sees, and the data of the figures: the page without its head and the drawing library."""
    page = re.sub(r'<script(?! type="application/json").*?</script>', "", path.read_text(encoding="utf-8"), flags=re.S)
    return page[page.index("</head>") :].replace("\N{NO-BREAK SPACE}", " ")


def overview_of(folder):
    return body(render(folder))


def trial_of(folder, variant="cls1"):
    """The page of a trial."""
    render(folder)
    return body(folder / f"stm32h7b3-{variant}" / "index.html")

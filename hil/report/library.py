"""plotly.js, which draws the figures: once a run, packed, in a file beside the pages or within the one page that is sent."""

from __future__ import annotations

import base64
import gzip
from functools import cache

from plotly.offline import get_plotlyjs

NAME = "plotly.js"


@cache
def packed() -> str:
    """Return a script that holds plotly.js as gzip in base64: 2 MB, where the plain text is 5 MB. The page's own script unpacks it."""
    text = base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
    return (
        f'/* plotly.js, Copyright Plotly, Inc., MIT licence: gzip in base64. */\nglobalThis.packedPlotly = "{text}";\n'
    )

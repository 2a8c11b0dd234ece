"""The summary as a badge: an SVG of one line."""

from __future__ import annotations

from html import escape

from hil.summary.summary import RunSummary

LABEL = "trainrig"
COLOURS = {"fine": "#2e7d32", "cannot tell": "#8a6100", "not fine": "#b3261e"}  # white text on each has a ratio of 5:1
CHARACTER, PADDING, HEIGHT = 6.6, 12, 20  # pixels; the text is stretched to the width that is reckoned for it


def badge(summary: RunSummary) -> str:
    """Return the SVG: how many tests pass, and whether that was on stand-ins."""
    on = summary.sentence.partition(":")[0]
    words = f"{on.lower()}, {summary.counts['pass']} of {summary.counts['all']}"
    left, right = (round(CHARACTER * len(text)) + PADDING for text in (LABEL, words))
    title = escape(f"{LABEL}: {words}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left}" height="{HEIGHT}" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{COLOURS[summary.judgement]}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{_text(LABEL, 0, left)}{_text(words, left, right)}</g></svg>\n"
    )


def _text(words: str, x: int, width: int) -> str:
    middle = x + PADDING / 2
    return f'<text x="{middle:g}" y="14" textLength="{width - PADDING}">{escape(words)}</text>'

"""The page of a first light: what was assumed of a board, what was seen, and what it means."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hil.report.page import environment

CLASSES = {"pass": "pass", "fail": "fail", "blocked": "blocked"}  # of the style; others are quiet


def first_light_page(light: Mapping[str, Any], bad: Collection[str]) -> str:
    """Return the page as HTML; it needs no other file and asks no host.

    Args:
        light: the fields of `hil.first_light.record.FirstLight`.
        bad: the outcomes that the banner tells.
    """
    wrong = [stage for stage in light["stages"] if stage["outcome"] in bad]
    return environment().get_template("first_light.html.j2").render(light=light, wrong=wrong, classes=CLASSES)

"""A flash route that gives nothing on a stand-in of a plugin is named, unless the board's file says who loads the image."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hil import boards
from hil.targets.flash_route import AlreadyLoaded, passed_over


@pytest.mark.parametrize(
    ("routes", "named"),
    [
        (("my-isp",), ["my-isp"]),
        (("my-isp", "kernel"), []),
        (("pyocd",), ["pyocd"]),
        (("pyocd", "my-isp"), ["pyocd", "my-isp"]),
        ((), []),
    ],
)
def test_all_routes_that_gave_nothing_are_named(routes: tuple[str, ...], named: list[str]) -> None:
    assert passed_over(AlreadyLoaded(), replace(boards.load("stm32f746"), routes=routes)) == named

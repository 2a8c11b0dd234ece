"""A flash route of a plugin that gives nothing on a stand-in is named, unless the board's file says who loads the image."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hil import boards
from hil.targets.flash_route import AlreadyLoaded, passed_over


@pytest.mark.parametrize(
    ("routes", "named"),
    [(("my-isp",), ["my-isp"]), (("my-isp", "kernel"), []), (("pyocd",), []), (("pyocd", "my-isp"), ["my-isp"])],
)
def test_only_routes_of_plugins_are_named(routes: tuple[str, ...], named: list[str]) -> None:
    assert passed_over(AlreadyLoaded(), replace(boards.load("stm32f746"), routes=routes)) == named

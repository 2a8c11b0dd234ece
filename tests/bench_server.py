"""A bench of a test in a process of its own, which ends when its standard input closes."""

from __future__ import annotations

from hil.standins import StandIn


class BenchServer(StandIn):
    """`hil bench-server`, or a program like it; arguments as of `StandIn`."""

    ends_with_parent = True

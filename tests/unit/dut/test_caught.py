"""Errors of the agent are explained, and what was raised is remembered, each once; mere time-outs are not."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from hil.dut.caught import Raised
from hil.dut.expectations import CommandEnded, Quiet
from hil.dut.with_agent import DutSession, WithAgent
from hil.errors import RigError
from hil.link.failures import Silent
from hil.link.session import Session


@pytest.fixture
def device():
    ends = SimpleNamespace(probe=None, gdb=None)
    made = WithAgent()
    made._taken = SimpleNamespace(chip_fault=lambda image: None, alive=lambda within_s: None, endpoints=ends)
    made.raised, made.image = Raised(), None
    return made


def test_an_error_of_a_request_is_remembered_once(device, monkeypatch):
    silent = Silent("no reply")

    def request(*arguments):
        raise silent

    monkeypatch.setattr(Session, "request", request)
    session = DutSession.__new__(DutSession)
    session._explained = device.explained
    with contextlib.suppress(RigError), device.explained():
        session.request("memory")
    assert device.raised == [silent]


@pytest.mark.parametrize("expected", [Quiet("nothing came"), CommandEnded(0, None, "", "")])
def test_what_a_test_may_expect_is_not_remembered(device, expected):
    with contextlib.suppress(RigError), device.explained():
        raise expected
    assert device.raised == []

"""An agent on this computer that listens for MLPerf Tiny's commands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_client import SETTINGS, Client, network
from host_agent import Agent
from mlperf_runner import Runner

from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.settings import configure_fields

IMAGES, FEATURES, RECONSTRUCTION = range(3)  # `task` of the request
PIECE = 1000  # bytes of a network file in a frame


class Session:
    """An agent with a network that listens for commands.

    Args:
        program: the agent.
        blob: the network file.
        configuration: fields of `configure`.
        task: what is done with samples.
        energy: whether timestamps are edges.
    """

    def __init__(self, program: Path, blob: bytes, configuration: dict[str, Any], task: int, energy: bool) -> None:
        self.agent = Agent(program)
        self.client = Client(self.agent)
        self.client.call("load_begin", total=len(blob))
        for offset in range(0, len(blob), PIECE):
            self.client.call("load_data", offset=offset, data=blob[offset : offset + PIECE])
        assert "error" not in self.client.call("load_end")
        assert "error" not in self.client.call("configure", **configuration)
        self.answer = self.client.call("mlperf_tiny", energy=int(energy), task=task, model=b"tiny01")
        self.events: list[str] = []
        self.runner = Runner(self.exchange)

    def exchange(self, data: bytes) -> bytes:
        sent, events = self.agent.receive(data)
        self.events += events
        return sent


@contextlib.contextmanager
def session(program: Path, energy: bool = False, task: int = IMAGES, **changes: int) -> Iterator[Session]:
    """Return an agent with the smallest network, in `bfp8`; `changes`: of its settings."""
    with _closed(
        Session(program, network(), configure_fields(ElasticZoSettings.table, SETTINGS | changes), task, energy)
    ) as one:
        yield one


@contextlib.contextmanager
def session_of(program: Path, blob: bytes, task: int, slots: int) -> Iterator[Session]:
    """Return an agent with a network in `tflite8`, of which least is trained."""
    with _closed(Session(program, blob, fields_for(slots), task, False)) as one:
        yield one


def fields_for(slots: int) -> dict[str, Any]:
    """Return the fields of `configure` for a network in `tflite8`, of which least is trained."""
    chosen = GraphSettings(method="poor-mans", train="last", queries=1, batch=max(2, slots))
    return chosen.request_fields("poor-mans", slots, 0)


@contextlib.contextmanager
def _closed(one: Session) -> Iterator[Session]:
    try:
        yield one
    finally:
        one.agent.close()

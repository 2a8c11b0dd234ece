"""The last layer measured alone (hil/training/trial/second_sources/last_layer.py), on the agent's own code: it takes that network, and the cycles of another layer are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from agent_client import Client
from host_agent import Agent

from hil.link.failures import Refused
from hil.link.replies import profile_of
from hil.training.methods.elasticzo_int8 import ElasticZoInt8
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks import build
from hil.training.trial.second_sources.figures import ALONE, Figures
from hil.training.trial.second_sources.last_layer import check_alone


class Board:
    """What of a device the check uses, over the client. The harness counts its readings: a booking is a cycle."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _call(self, name: str, **values: Any) -> dict[str, Any]:
        reply = self._client.call(name, **values)
        if "error" in reply:
            raise Refused(name, reply["error"], reply["a"], reply["b"])
        return reply

    def load(self, blob: bytes) -> None:
        assert "error" not in self._client.load(blob)

    def configure(self, configuration: dict[str, Any]) -> None:
        self._call("configure", **configuration)

    def samples(self, images: np.ndarray, labels: np.ndarray) -> None:
        for slot, (image, label) in enumerate(zip(images, labels, strict=True)):
            self._call("samples", slot=slot, label=int(label), pixels=image.tobytes())

    def step(self, step: int, count: int) -> None:
        self._call("step", step=step, count=count)

    def profile(self, layers: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return profile_of(self._call("profile"), layers)


@pytest.fixture
def board(agent_program: Path) -> Iterator[Board]:
    agent = Agent(agent_program)
    yield Board(Client(agent))
    agent.close()


def checked(board: Any, last: int, variant: str, **settings: Any) -> Figures:
    """Return what is found where the profile gives the last layer so many cycles."""
    settings = ElasticZoSettings.of_variant(variant, 5, batch=8, seed=1, **settings)
    subject = ElasticZoInt8(build("lenet5", 1), settings)
    spec, figures = SimpleNamespace(method="elasticzo-int8", seed=1), Figures()
    check_alone(figures, board, SimpleNamespace(method=subject, spec=spec), ((0,) * 10 + (last,), (0,) * 11))
    return figures


@pytest.mark.parametrize("settings", [
    {"variant": "full-bp"}, {"variant": "cls1"}, {"variant": "cls1", "loss": "integer", "loss_fraction": 4}, {"variant": "cls2", "scope": "batch"},
    {"variant": "full-zo", "perturb": "exact", "r_max": 63},
])  # fmt: skip
def test_a_layer_alone_is_trained_and_its_cycles_are_compared(board, settings):
    passes = 1 if settings["variant"] == "full-bp" else 2
    honest = 2 * passes * 8  # a reading behind the layer and one behind the loss, a sample and pass
    assert checked(board, honest, **settings).wrong == {}
    for told in (honest // 8, 60 * honest):
        figures = checked(board, told, **settings)
        assert (
            list(figures.wrong) == ["profile"]
            and "fc3" in figures.wrong["profile"]
            and figures.sources["profile"] == [ALONE]
        )


def test_a_firmware_that_takes_no_other_network_has_the_plan_s_bounds_alone():
    def refuse(blob: bytes) -> None:
        raise Refused("load_begin", "unknown_request", 2, 0)

    assert checked(SimpleNamespace(load=refuse), 1, "cls1").sources == {}

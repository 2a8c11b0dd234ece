"""A host on a perfect line to the agent's code, and the smallest network that it can train."""

from __future__ import annotations

import struct
from typing import Any

import xxhash
from agent_link_model import IDS, MESSAGES, Frame, frames, hello
from host_agent import Agent

from hil.link.messages import decode, encode
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.settings import configure_fields

NAMES = {number: name for name, number in IDS.items()}
INPUTS, CLASSES = 16, 4
WEIGHTS = bytes((i * 37 + 11) % 201 - 100 & 0xFF for i in range(INPUTS * CLASSES))
SETTINGS = {
    "method": 3, "partition": 1, "b_zo": 1, "b_bp": 5, "p_zero": 84, "r_max": 7, "loss": 0, "scope": 0, "perturb": 0, "logit_error": 0,
    "loss_fraction": 0, "batch": 2, "seed": 99, "slots": 2, "first_step": 0,
}  # fmt: skip
LONG = ("step", "part", "run", "infer", "save_checkpoint")


def network() -> bytes:
    """Return the smallest network file that trains (docs/network.md): 4 x 4 x 1 inputs, one fully connected layer."""
    layer = struct.pack("<3Bb8x", 2, 2, 1, -7) + struct.pack("<3H3H4xII", 4, 4, 1, 1, 1, CLASSES, 68, 0)
    rest = struct.pack("<3HHf4x", 4, 4, 1, CLASSES, 2.0**-7) + layer + WEIGHTS
    head = struct.pack("<IHHII", 0x54454E48, 4, 1, 16 + len(rest), xxhash.xxh32_intdigest(rest, seed=0))
    return head + rest


class Client:
    """A host on a perfect line."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.seq, self.events = agent, 0, []
        assert frames(agent.receive(hello(0x77).encoded())[0])[0].type == IDS["hello"] | 0x80

    def send(self, kind: int, body: bytes) -> list[Frame]:
        """Send one request and return all that comes back; it must be answered as docs/link.md says."""
        self.seq += 1
        sent, events = self.agent.receive(Frame(kind, 0x77, self.seq, body).encoded())
        self.events += events
        answers = frames(sent)
        assert all(answer.session == 0x77 and answer.seq == self.seq for answer in answers)
        assert [a.type for a in answers[:-1]] == ([IDS["ack"]] if NAMES.get(kind) in LONG else [])
        return answers

    def call(self, name: str, **values: Any) -> dict[str, Any]:
        """Send a request and return the fields of its reply; an error is returned as its name, a and b."""
        request = MESSAGES.requests[name]
        answer = self.send(request.id, encode(request.request, values))[-1]
        if answer.type == IDS["error"]:
            code, a, b = struct.unpack("<BII", answer.body)
            return {"error": MESSAGES.errors[code], "a": a, "b": b}
        assert answer.type == (IDS["ack"] if request.windowed else request.id | 0x80)
        return {} if request.windowed else decode(request.reply, answer.body)

    def load(self, blob: bytes) -> dict[str, Any]:
        """Load a network file in two pieces."""
        self.call("load_begin", total=len(blob))
        self.call("load_data", offset=0, data=blob[:50])
        self.call("load_data", offset=50, data=blob[50:])
        return self.call("load_end")

    def fill(self, first: int = 0, count: int = 2) -> None:
        """Fill slots 0..count-1 with the samples of the batch from `first` on."""
        for slot in range(count):
            sample = first + slot
            pixels = bytes((sample * 91 + i * 13) % 256 for i in range(INPUTS))
            assert self.call("samples", slot=slot, label=sample % CLASSES, pixels=pixels) == {}

    def prepare(self, **changes: int) -> None:
        """Load the network and configure it."""
        self.load(network())
        assert "error" not in self.configure(**changes)

    def configure(self, **changes: int) -> dict[str, Any]:
        """Configure ElasticZO with SETTINGS and these changes; return the fields of the reply, or of the error."""
        return self.call("configure", **configure_fields(ElasticZoSettings.table, SETTINGS | changes))

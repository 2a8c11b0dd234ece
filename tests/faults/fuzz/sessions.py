"""Sessions with an agent: each makes sense, with a network in either format, and is changed at random in its requests, their order and its network file."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import xxhash

from hil.link.messages import FORMATS, WORDS, MessageError, decode, description, encode
from hil.training.graph.file import encode as encode_graph
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.settings import MethodSetting, configure_fields, sent
from hil.training.networks.drawing import Drawing, calibration_images
from hil.training.networks.quantize import quantize
from tests.unit.firmware.host_agent import FLASH_BASE, Agent

from ..lines.frame import Frame, frames

MESSAGES = description()
REQUESTS = MESSAGES.requests
BY_ID = {request.id: request for request in REQUESTS.values()}
CONTROL = {control.id: control for control in MESSAGES.controls.values()}
ID = {control.name: control.id for control in MESSAGES.controls.values()}
SIDE, CHANNELS, CLASSES = 11, 3, 3
DIGEST_AT, HEAD = 12, 16  # of a network file
MOST_STEPS = 30  # of a run: more of the same takes long and finds nothing
SHARE = 0.06  # of requests that are changed
METHODS: list[dict[str, object]] = [
    {}, {"wise": "model"}, {"fused": 1, "perturb": "weight"}, {"method": "bp"}, {"method": "deepzero", "sparsity": 250, "train": "last"},
    {"method": "bp", "train": "pointwise", "momentum": 0.9, "consumed": 1, "fused": 1}, {"gns": 1}, {"qas": 1}, {"perturb": "node"}, {"train_bias": 0},
]  # fmt: skip
Pixels = tuple[str, int]


class Broken(Exception):
    """The agent did what it must not."""


def lenet_like() -> bytes:
    """Return a small network in bfp8 (docs/network.md): 4 x 4 inputs, one fully connected layer."""
    weights = bytes((i * 37 + 11) % 201 - 100 & 0xFF for i in range(64))
    layer = struct.pack("<3Bb8x", 2, 2, 1, -7) + struct.pack("<3H3H4xII", 4, 4, 1, 1, 1, 4, 68, 0)
    rest = struct.pack("<3HHf4x", 4, 4, 1, 4, 2.0**-7) + layer + weights
    return with_digest(struct.pack("<IHHII", 0x54454E48, 4, 1, HEAD + len(rest), 0) + rest)


def graph_like() -> bytes:
    """Return a small network in tflite8 with every kind of layer that is trained."""
    net = Drawing("small", (SIDE, SIDE, CHANNELS), CLASSES, 11)
    net.conv(3, 2, 1, 4, "relu6")
    net.bottleneck(3, 1, 6, 4, residual=True)
    net.mean()
    net.fully_connected(CLASSES)
    return encode_graph(quantize(net.graph, calibration_images((SIDE, SIDE, CHANNELS), 11)))


def with_digest(blob: bytes) -> bytes:
    """Return a network file with the digest of its bytes."""
    return blob[:DIGEST_AT] + struct.pack("<I", xxhash.xxh32_intdigest(blob[HEAD:], seed=0)) + blob[HEAD:]


@dataclass
class Session:
    """One session with an agent: what is asked of it is drawn.

    Attributes:
        texts: it answers text commands too (docs/measure.md): what it says to bytes that look like one may spoil the frame after it.
    """

    agent: Agent
    rng: random.Random
    counts: Counter[str]
    log: list[str] = field(default_factory=list)
    seq: int = 0
    session: int = 0
    texts: bool = False

    def begin(self) -> None:
        """Greet it."""
        nonce = self.rng.getrandbits(32)
        self.session, self.seq, self.texts = nonce & 0xFF, 0, False
        hello = REQUESTS["hello"]
        self._send(
            Frame(hello.id, self.session, 0, encode(hello.request, {"nonce": nonce, "protocol": MESSAGES.protocol}))
        )

    def ask(self, name: str, **values: object) -> None:
        """Send a request, changed or as it is."""
        rng, request = self.rng, REQUESTS[name]
        body = encode(request.request, values)
        if rng.random() < SHARE:
            body = self._changed(request.request, dict(values), body)
        if name == "run" and len(body) == 10:  # a long run is no hang
            step, steps, count, idle = struct.unpack("<IHHH", body)
            body = struct.pack("<IHHH", step, min(steps, MOST_STEPS), count, idle)
        kind = request.id if rng.random() > SHARE / 10 else rng.randrange(256)
        if rng.random() < SHARE / 4:
            self._nonsense()
        self.seq = (self.seq + 1) & 0xFFFF
        self._send(Frame(kind, self.session, self.seq, body))
        if rng.random() < SHARE / 4:
            self._send(Frame(kind, self.session, self.seq, body))  # a repeat

    def _changed(self, fields: tuple[tuple[str, str], ...], values: dict[str, object], body: bytes) -> bytes:
        rng = self.rng
        way = rng.randrange(4)
        if way < 2 and fields:
            name, kind = rng.choice(fields)
            values[name] = self.changed_value(kind, values[name])
            return encode(fields, values)[: MESSAGES.max_body]
        if way == 2 and body:
            at = rng.randrange(len(body))
            return body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :]
        return rng.choice(
            [
                body[: rng.randrange(len(body) + 1)],
                body + rng.randbytes(rng.randrange(1, 40)),
                b"",
                rng.randbytes(MESSAGES.max_body),
            ]
        )[: MESSAGES.max_body]

    def changed_value(self, kind: str, value: object) -> Any:
        """Return another value of a kind of field."""
        rng = self.rng
        if kind == "f32":
            return rng.choice(
                [0.0, -1.0, float("nan"), float("inf"), 1e38, 1e-40, struct.unpack("<f", rng.randbytes(4))[0]]
            )
        if kind in FORMATS:
            bits = int(kind[1:])
            assert isinstance(value, int)
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "i" else (0, (1 << bits) - 1)
            drawn = rng.choice(
                [
                    0,
                    1,
                    high,
                    low,
                    value + 1,
                    value - 1,
                    rng.randint(low, high),
                    1 << rng.randrange(bits),
                    high - rng.randrange(4),
                ]
            )
            return min(max(drawn, low), high)
        if kind in WORDS:
            return ()
        if kind.startswith("bytes["):
            return rng.randbytes(int(kind[6:-1]))
        return rng.choice([b"", bytes(value)[:-1], bytes(value) + b"\x7f", rng.randbytes(len(bytes(value)))])  # type: ignore[call-overload]

    def _nonsense(self) -> None:
        """Send what no agent executes: noise, a damaged frame, one of another session or number."""
        rng = self.rng
        frame = Frame(
            rng.randrange(256),
            self.session ^ rng.randrange(2),
            self.seq + rng.choice([-300, -1, 0, 5, 40_000]) & 0xFFFF,
            rng.randbytes(rng.randrange(40)),
        )
        data = rng.choice(
            [
                frame.encoded(),
                rng.randbytes(rng.randrange(1, 3000)) + b"\0",
                frame.encoded()[:-3] + b"\0",
                b"name%\r\nprofile%\r\ninfer 1%\r\ndb load 16%\r\n%%\0",
            ]
        )
        self._exchange(data, "noise")

    def _send(self, frame: Frame) -> None:
        name = BY_ID[frame.type].name if frame.type in BY_ID else f"type {frame.type}"
        answers = [
            answer
            for answer in self._exchange(frame.encoded(), f"{name} {frame.seq} {frame.body[:40].hex()}")
            if answer is not None
        ]
        mine = [answer for answer in answers if answer.session == self.session and answer.seq == frame.seq]
        if not mine and not self.texts:
            raise Broken(f"{name}: no answer")
        for answer in mine:
            self._look_at(name, frame, answer)

    def _look_at(self, name: str, frame: Frame, answer: Frame) -> None:
        if answer.type in CONTROL:
            fields = CONTROL[answer.type].fields
        elif answer.type == frame.type | 0x80 and frame.type in BY_ID:
            fields = BY_ID[frame.type].reply
        else:
            raise Broken(f"{name}: answered by type {answer.type}")
        try:
            values = decode(fields, answer.body)
        except MessageError as error:
            raise Broken(f"{name}: {error}") from error
        refused = answer.type == ID["error"]
        self.texts = self.texts or (name == "mlperf_tiny" and not refused)
        if refused and values["code"] not in MESSAGES.errors:
            raise Broken(f"{name}: error {values['code']}")
        self.counts[f"{name}, refused" if refused else name] += 1

    def _exchange(self, data: bytes, words: str) -> list[Frame | None]:
        self.log.append(words)
        sent, _ = self.agent.receive(data)
        return frames(sent[: sent.rfind(b"\0") + 1])


def bfp8_trial(session: Session) -> None:
    """A trial of ElasticZO-INT8."""
    rng = session.rng
    load(session, lenet_like())
    for _ in range(rng.randrange(1, 4)):
        batch = rng.randrange(1, 6)
        slots = rng.choice([batch, rng.randrange(1, batch + 1)])
        scope = rng.randrange(2) if slots == batch else 0
        numbers = {
            "method": 3, "partition": rng.randrange(2), "b_zo": rng.randrange(1, 8), "b_bp": rng.randrange(1, 8), "p_zero": rng.randrange(256),
            "r_max": rng.randrange(1, 64), "loss": rng.randrange(2), "scope": scope, "perturb": rng.randrange(2), "logit_error": rng.randrange(2),
            "loss_fraction": 0, "batch": batch, "seed": rng.getrandbits(32), "slots": slots, "first_step": rng.choice([0, 7, 2**32 - 3]),
        }  # fmt: skip
        configure(session, ElasticZoSettings.table, numbers)
        train(session, slots, ("samples", 16))


def tflite8_trial(session: Session) -> None:
    """A trial on a graph in `tflite8`, its file in RAM or in flash."""
    rng, blob = session.rng, graph_like()
    if rng.random() < 0.4:
        session.ask("use_flash", address=FLASH_BASE + rng.choice([0, 64, 64, 64, 65]), total=len(blob))
    else:
        load(session, blob)
    for _ in range(rng.randrange(1, 3)):
        slots = rng.randrange(1, 3)
        configure(session, GraphSettings.table, settings_of(rng, slots))
        train(session, slots, ("sample_part", SIDE * SIDE * CHANNELS))


def configure(session: Session, table: Mapping[str, MethodSetting], numbers: dict[str, float]) -> None:
    """Configure with settings of a table by their numbers, one of them sometimes changed."""
    rng = session.rng
    if rng.random() < SHARE:
        name = rng.choice(list(sent(table)))
        numbers[name] = session.changed_value(sent(table)[name].type, numbers[name])
    session.ask("configure", **configure_fields(table, numbers))


def settings_of(rng: random.Random, slots: int) -> dict[str, float]:
    """Return settings of a method that trains graphs by their numbers, most of them good ones."""
    chosen = GraphSettings(
        eta=0.5, queries=rng.randrange(1, 4), batch=slots, perturb="adaptive", seed=rng.getrandbits(32)
    )
    chosen = replace(chosen, **rng.choice(METHODS))
    table = GraphSettings.table
    numbers = {name: setting.number(getattr(chosen, name)) for name, setting in table.items()}
    if rng.random() < 0.2:
        word = rng.choice([setting for setting in table.values() if setting.words])
        numbers[word.name] = rng.choice(word.numbers)
    return numbers | {"slots": slots, "first_step": 0}


def load(session: Session, blob: bytes) -> None:
    """Load a network file, sometimes a changed one whose digest is right."""
    rng = session.rng
    if rng.random() < 0.3:
        data = bytearray(blob)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(min(len(data), 400) if rng.random() < 0.8 else len(data))
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        blob = with_digest(bytes(data[: rng.randrange(HEAD, len(data))] if rng.random() < 0.1 else data))
    session.ask("load_begin", total=len(blob))
    for at in range(0, len(blob), 1000):
        session.ask("load_data", offset=at, data=blob[at : at + 1000])
    session.ask("load_end")


def train(session: Session, slots: int, sample: Pixels) -> None:
    """Ask for this and that of what has been configured."""
    rng, step = session.rng, 0
    asks: list[Callable[[], None]] = [
        lambda: session.ask("step", step=step, count=slots), lambda: session.ask("run", step=step, steps=rng.randrange(1, 4), count=slots, idle_ms=rng.randrange(3)),
        lambda: session.ask("part", **{"step": step, "pass": rng.randrange(2), "first": 0, "count": slots}), lambda: session.ask("infer", count=slots),
        lambda: session.ask("trace", slot=rng.randrange(slots), stage=rng.choice([0xFFFF, rng.randrange(12)]), offset=rng.randrange(3)),
    ]  # fmt: skip
    others = [
        ("digests", {}), ("memory", {}), ("laps", {}), ("profile", {}), ("bookings", {}), ("work", {}), ("stretches", {}), ("marker", {"pulses": 1}),
        ("read_tensor", {"tensor": 0, "offset": 0, "length": 10}), ("write_tensor", {"tensor": 0, "offset": 0, "data": b"\1\2\3"}), ("echo", {"data": b"e"}),
        ("mlperf_tiny", {"energy": rng.randrange(2), "task": rng.randrange(4), "model": b"fuzz"}), ("boot_loader", {}),
        ("checkpoints", {}), ("save_checkpoint", {"campaign": rng.randrange(3), "step": rng.randrange(3)}), ("load_checkpoint", {"sequence": rng.randrange(1, 6)}),
    ]  # fmt: skip
    for _ in range(rng.randrange(1, 8)):
        name, size = sample
        for slot in range(slots):
            for at in range(0, size, 200) if name == "sample_part" else [0]:
                offset = {"offset": at} if name == "sample_part" else {}
                session.ask(
                    name, slot=slot, label=rng.randrange(3), pixels=rng.randbytes(min(200, size - at)), **offset
                )
        rng.choice(asks)()
        step += 1
        for chosen, values in rng.sample(others, 2):
            session.ask(chosen, **values)

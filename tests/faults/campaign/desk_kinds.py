"""Kinds of faults that meet a trial on a desk: its line, probe, board, meter, processes, computer, and who holds the board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hil.images import image_of

from .fault import BOARD, Fault, Kind, Measured, Moment

TALK = ("greet", "load", "train", "finish")  # stages in which the line is used
RANGE = 0xFFFFFFFF
BAUD = (9600, 19_200, 57_600, 115_200)


def within(
    rng: np.random.Generator,
    measured: Measured,
    event: str,
    stages: tuple[str, ...],
    trial: str = "plain",
    later_s: float = 0.0,
) -> Moment:
    """Draw a moment within stages of a trial: each stage that has such events as often as the others, and any of its events."""
    if event == "stage":
        return Moment(stages[int(rng.integers(len(stages)))], event, 0)
    events = measured.events[trial]
    stages = tuple(stage for stage in stages if events.get(stage, {}).get(event))
    stage = stages[int(rng.integers(len(stages)))]
    return Moment(
        stage, event, int(rng.integers(events[stage][event])), float(rng.uniform(0, later_s)) if later_s else 0.0
    )


def _kind(name: str, act: str, stages: tuple[str, ...], event: str, options: Any, **more: Any) -> Kind:
    """Return a kind whose act comes at a moment that is drawn; `options` draws those of the act."""
    later_s = more.pop("later_s", 0.0)

    def draw(rng: np.random.Generator, measured: Measured) -> Fault:
        at = within(rng, measured, event, stages, more.get("trial", "plain"), later_s)
        chosen = options(rng)
        for_s = f", for {chosen['back_s']:.2f} s" if chosen.get("back_s") else ""
        return Fault(name, f"{at}{for_s}", "desk", act, at, options=chosen, **more)

    return Kind(name, "desk", draw)


def _line() -> Iterator[Kind]:
    for side, said in (("to_board", "to"), ("to_host", "from")):
        for name, what, most in (
            ("bytes lost", "lose", 64), ("byte doubled", "double", 1), ("bits flipped", "flip", 16), ("noise inserted", "insert", 1), ("late bytes", "late", 1),
        ):  # fmt: skip
            yield _kind(
                f"line: {name} {said} the board", "once", TALK, side,
                lambda rng, side=side, what=what, most=most: {"side": side, "what": what, "number": int(rng.integers(1, most + 1)), "seed": int(rng.integers(RANGE))},
            )  # fmt: skip
        yield _kind(
            f"line: cut {said} the board", "line", TALK, side,
            lambda rng, side=side: {"harms": ("cut",), "seed": 0, "sides": (side,)}, follows=True,
        )  # fmt: skip
    both = [
        ("one bit in 100,000 is wrong", ("flip 1e-5",), ("to_board", "to_host")), ("one bit in 100 is wrong", ("flip 1e-2",), ("to_board", "to_host")),
        ("one byte in 50 is lost", ("lose 2e-2",), ("to_board", "to_host")), ("XON and XOFF swallowed", ("swallow",), ("to_board", "to_host")),
        ("other programs write", ("chatter",), ("to_host",)), ("endless naks", ("naks",), ("to_host",)), ("endless acks", ("acks",), ("to_host",)),
        ("old bytes again and again", ("echoes",), ("to_host",)), ("another speed", ("gibberish",), ("to_board", "to_host")),
    ]  # fmt: skip
    for name, harms, sides in both:
        stages, event = TALK, "to_board" if len(sides) == 2 else "to_host"
        if name.startswith("XON"):  # an adapter does that from the first byte on
            stages, event = ("greet",), "stage"
        yield _kind(
            f"line: {name}", "line", stages, event,
            lambda rng, harms=harms, sides=sides: {"harms": harms, "seed": int(rng.integers(RANGE)), "sides": sides},
        )  # fmt: skip
    yield _kind(
        "line: slower than its adapter says", "line", TALK, "to_board",
        lambda rng: {"harms": ("slow",), "seed": 0, "baud": int(rng.choice(BAUD))},
    )  # fmt: skip
    yield _kind(
        "line: the adapter stops for a moment",
        "stop line",
        TALK,
        "to_board",
        lambda rng: {"back_s": float(rng.uniform(0.1, 4.0))},
    )
    yield _kind(
        "line: the adapter stops for good", "stop line", TALK, "to_board", lambda rng: {"back_s": 0.0}, follows=True
    )
    yield _kind("port: gone", "port gone", TALK, "to_board", lambda rng: {"back_s": 0.0})
    yield _kind(
        "port: gone and back under another name",
        "port gone",
        TALK,
        "to_board",
        lambda rng: {"back_s": float(rng.uniform(0.1, 3.0))},
        follows=True,
    )
    yield _kind(
        "port: gone while flashing and back under another name", "port gone", ("flash",), "probe",
        lambda rng: {"back_s": float(rng.uniform(0.1, 3.0))}, trial="flash", follows=True,
    )  # fmt: skip


def _probe() -> Iterator[Kind]:
    for doing, stage, trial in (
        ("connecting", "connect", "plain"),
        ("flashing", "flash", "flash"),
        ("resetting", "flash", "plain"),
        ("reading", "finish", "plain"),
    ):
        for name, act, options, follows in (
            (f"probe: gone while {doing}", "wire gone", lambda rng: {"wire": "probe", "back_s": 0.0}, False),
            (
                f"probe: gone while {doing}, and back",
                "wire gone",
                lambda rng: {"wire": "probe", "back_s": float(rng.uniform(0.1, 3.0))},
                True,
            ),
            (
                f"probe: silent while {doing}",
                "wire silent",
                lambda rng: {"wire": "probe", "back_s": float(rng.choice([0.0, rng.uniform(0.1, 3.0)]))},
                True,
            ),
        ):
            if name == "probe: silent while flashing":  # for good it takes the two minutes that flashing may take
                options = lambda rng: {"wire": "probe", "back_s": float(rng.uniform(0.1, 3.0))}  # noqa: E731
            yield _kind(name, act, (stage,), "probe", options, trial=trial, follows=follows)
    yield _kind(
        "probe: one answer is an error",
        "answer",
        ("connect", "flash", "train", "finish"),
        "probe",
        lambda rng: {"wire": "probe", "what": "error"},
        follows=True,
    )


def _board() -> Iterator[Kind]:
    def stuck(rng: np.random.Generator, measured: Measured) -> Fault:
        address, data = image_of(BOARD).segments[0]
        holes = [at for at, byte in enumerate(data) if byte != 0xFF]
        at = holes[int(rng.integers(len(holes)))]
        bit = int(rng.choice([bit for bit in range(8) if not data[at] >> bit & 1]))
        offset = address - FLASH + at
        return Fault(
            "board: a flash bit does not take",
            f"bit {bit} of the byte at offset 0x{offset:X}",
            inject=(f"flash_stuck:{offset}:{bit}",),
        )

    def latched(rig_may: bool) -> Kind:
        name = "board: latch-up" + (", and the rig may switch its power" if rig_may else "")

        def draw(rng: np.random.Generator, measured: Measured) -> Fault:
            at = int(rng.integers(1, measured.instructions))
            return Fault(name, f"after {at:,} instructions", inject=(f"latch_up:{at}",), power=rig_may)

        return Kind(name, "desk", draw)

    def in_update(back: bool) -> Kind:
        name = f"board: {'brown-out' if back else 'power cut'} in an update"

        def draw(rng: np.random.Generator, measured: Measured) -> Fault:
            functions = sorted(symbol.address for symbol in image_of(BOARD).table if symbol.is_function)
            begin = image_of(BOARD).symbols[UPDATE]
            end = functions[functions.index(begin) + 1]
            times = int(rng.integers(1, UPDATE_LOOKS + 1))
            moment = f"in {UPDATE}, seen there for time {times}"
            return Fault(name, moment, inject=(f"supply_fails:{begin}:{end - begin}:{times}:{back:d}",), follows=back)

        return Kind(name, "desk", draw)

    def reset(rng: np.random.Generator, measured: Measured) -> Fault:
        at = int(rng.integers(1, measured.instructions // 2))  # early ones meet any trial
        return Fault("board: resets by itself", f"after {at:,} instructions", inject=(f"reset:{at}",))

    yield Kind("board: a flash bit does not take", "desk", stuck)
    yield Kind("board: resets by itself", "desk", reset)
    yield in_update(back=True)
    yield in_update(back=False)
    off = lambda rng: {"back_s": 0.0}  # noqa: E731
    short = lambda rng: {"back_s": float(rng.uniform(0.01, 2.0))}  # noqa: E731
    yield _kind("board: brown-out", "power", TALK, "to_board", short, follows=True)
    yield _kind("board: brown-out in mid-step", "power", ("train",), "to_board", short, later_s=0.3, follows=True)
    yield _kind("board: power cut", "power", TALK, "to_board", off, follows=True)
    yield _kind("board: power cut in mid-step", "power", ("train",), "to_board", off, later_s=0.3, follows=True)
    yield _kind("board: power cut, and the rig may switch it", "power", TALK, "to_board", off, power=True)
    yield latched(False)
    yield latched(True)


def _meter() -> Iterator[Kind]:
    for what, act, options in (
        ("gone", "wire gone", lambda rng: {"wire": "meter", "back_s": 0.0}), ("silent", "wire silent", lambda rng: {"wire": "meter", "back_s": 0.0}),
        ("half an answer", "answer", lambda rng: {"wire": "meter", "what": "half"}), ("no number", "answer", lambda rng: {"wire": "meter", "what": "word"}),
        ("an answer is late", "answer", lambda rng: {"wire": "meter", "what": "late", "seconds": float(rng.uniform(0.2, 3.0))}),
    ):  # fmt: skip
        yield _kind(f"meter: {what}", act, ("connect", "energy"), "meter", options, trial="energy")


def _processes() -> Iterator[Kind]:
    for name in ("SIGKILL", "SIGTERM"):
        yield _kind(
            f"process: {name} to the desk",
            "signal",
            TALK,
            "to_board",
            lambda rng, name=name: {"to": "desk", "name": name},
        )
        yield _kind(
            f"process: {name} to the probe's process", "signal", ("connect", "flash", "train", "finish"), "probe",
            lambda rng, name=name: {"to": "probe", "name": name}, follows=True,
        )  # fmt: skip
    for to, who, stages in (
        ("desk", "desk", TALK),
        ("probe", "the probe's process", ("connect", "flash", "train", "finish")),
    ):
        yield _kind(
            f"process: {who} stopped for a while", "signal", stages, "to_board" if to == "desk" else "probe",
            lambda rng, to=to: {"to": to, "name": "SIGSTOP", "back_s": float(rng.uniform(0.1, 3.0))}, follows=True,
        )  # fmt: skip
    yield _kind(
        "process: the probe's process stopped for good", "signal", ("flash", "finish"), "probe",
        lambda rng: {"to": "probe", "name": "SIGSTOP", "back_s": 0.0}, follows=True,
    )  # fmt: skip


def _computer() -> Iterator[Kind]:
    for what, name in (("descriptors", "descriptor"), ("memory", "memory")):

        def draw(rng: np.random.Generator, measured: Measured, what: str = what, name: str = name) -> Fault:
            stages = ("bench", "connect", "flash", "greet", "load", "train", "finish")
            at = Moment(stages[int(rng.integers(len(stages)))], "stage", 0, float(rng.uniform(0, 0.3)))
            return Fault(
                f"computer: no {name} left",
                str(at),
                "desk",
                "limit",
                at,
                options={"what": what},
                direct=True,
                follows=True,
            )

        yield Kind(f"computer: no {name} left", "desk", draw)
    for name, then in (
        ("another session has the board", "kept"),
        ("its holder is stopped", "stopped"),
        ("its holder is killed", "killed"),
    ):

        def held(rng: np.random.Generator, measured: Measured, name: str = name, then: str = then) -> Fault:
            after_s = float(rng.uniform(0.1, 3.0)) if then == "killed" else 0.0
            when = f"held before the trial begins{f', for {after_s:.2f} s' if after_s else ''}"
            return Fault(
                f"lock: {name}", when, "desk", "hold", options={"then": then, "after_s": after_s}, follows=True
            )

        yield Kind(f"lock: {name}", "desk", held)


FLASH = 0x08000000  # of the board; RM0455, memory map
UPDATE = "bp_update_s8"  # what changes the weights of the layers that are trained by back-propagation
UPDATE_LOOKS = 300  # counted: the trial is seen there for 300 to 360 times, the first half of them in step 0
DESK_KINDS: tuple[Kind, ...] = (*_line(), *_probe(), *_board(), *_meter(), *_processes(), *_computer())

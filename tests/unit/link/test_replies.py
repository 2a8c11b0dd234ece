"""A reply is taken in its shape or refused in one sentence that names reply, field and value."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import DeviceFault
from hil.link.messages import FORMATS, WORDS, description
from hil.link.replies import (
    AgentMemory,
    BoardCheckpoint,
    CountedWork,
    Identity,
    ImplausibleReply,
    Inferred,
    Loaded,
    Planned,
    Saved,
    Stepped,
    bookings_of,
    checked,
    checkpoints_of,
    digests_of,
    laps_of,
    loaded_from,
    most_predictions,
    profile_of,
    sized,
    stretches_of,
)  # fmt: skip

HELLO = {
    "protocol": 6, "board": b"stm32h7b3\0\0\0\0\0\0\0", "clock_hz": 280_000_000, "cpuid": 1, "image_base": 2, "image_size": 3, "image_digest": 4,
    "rx_window": 4096, "counter": 1,
}  # fmt: skip
CYCLES = dict.fromkeys(("perturb", "forward", "backward", "update", "digest", "total"), 5)
STEP = {"step": 7, "loss_plus": 1.5, "loss_minus": -0.0, "sign": -1, "digests": (1, 2)} | {
    f"cycles_{name}": value for name, value in CYCLES.items()
}
MEMORY = {
    "static_bytes": 9,
    "arena_base": 1,
    "arena_size": 100,
    "arena_peak": 100,
    "stack_base": 0,
    "stack_size": 64,
    "stack_peak": 12,
}
FIRST, SECOND = (0, 7, 0xCAFE, 70, 0xD1, 0x1A), (1, 8, 0xCAFE, 80, 0xD2, 0x1A)
SLOTS = {"room": 448, "slots": FIRST + SECOND}
COPIED = {"campaign": 0xCAFE, "step": 80, "digest": 0xD2}
FROM = {  # request: how its reply is taken
    "hello": Identity.of, "load_end": lambda values: checked(Loaded, "load_end", values), "use_flash": lambda values: checked(Loaded, "use_flash", values),
    "configure": Planned.of,
    "step": lambda values: Stepped.of("step", values, 7, 2), "run": lambda values: Stepped.of("run", values, 7, 2), "infer": lambda values: Inferred.of(values, 3, 256),
    "memory": AgentMemory.of, "work": lambda values: checked(CountedWork, "work", values), "laps": lambda values: laps_of(values, 2), "profile": lambda values: profile_of(values, 3), "bookings": bookings_of,
    "checkpoints": checkpoints_of, "save_checkpoint": lambda values: Saved.of(values, 64),
    "load_checkpoint": lambda values: loaded_from(values, BoardCheckpoint(*SECOND)),
    "keep": lambda values: int(values["digest"]),
    "stretches": stretches_of, "digests": lambda values: digests_of("digests", values["digests"], 2),
    "read_tensor": lambda values: sized("read_tensor", "data", values["data"], 8), "trace": lambda values: sized("trace", "data", values["data"], 8),
}  # fmt: skip
UNLOOKED = {
    "echo",
    "load_begin",
    "load_data",
    "samples",
    "sample_part",
    "kept_samples",
    "part",
    "boot_loader",
    "mlperf_tiny",
    "write_tensor",
    "marker",
}
UNUSED = {"echo", "part"}  # the field of their reply is looked at by nobody


def test_every_reply_with_a_field_is_taken_here() -> None:
    assert set(FROM) | UNLOOKED == set(description().requests)
    assert all(not description().requests[name].reply for name in UNLOOKED - UNUSED)


def test_what_can_be_is_taken() -> None:
    assert Identity.of(HELLO) == Identity("stm32h7b3", 2, 4, 4096, 280_000_000, "dwt")
    assert Stepped.of("step", STEP, 7, 2) == Stepped(7, 1.5, -0.0, CYCLES, (1, 2), -1)
    assert AgentMemory.of(MEMORY).arena_peak == 100
    assert laps_of({"cycles": tuple(range(8))}, 2) == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert len(laps_of({"cycles": tuple(range(128))}, 1000)) == 32
    assert profile_of({"cycles": (1, 2, 3, 4)}, 2) == ((1, 2), (3, 4))
    assert stretches_of({"made": 2, "stretches": (5, 1 << 56 | 6)}) == (2, [("perturb", 5), ("forward", 6)])
    assert len(stretches_of({"made": 500, "stretches": (5,) * 96})[1]) == 96


@pytest.mark.parametrize(
    ("classes", "data", "found"), [(256, b"\xff\0\1", (255, 0, 1)), (257, b"\0\1\0\0\1\0", (256, 0, 1))]
)
def test_a_prediction_has_two_bytes_above_256_classes(classes: int, data: bytes, found: tuple[int, ...]) -> None:
    reply = {"correct": 3, "logits_digest": 0, "predictions": data}
    assert Inferred.of(reply, 3, classes).predictions == found
    for wrong in (data[:-1], data + b"\0"):
        with pytest.raises(ImplausibleReply, match="were requested"):
            Inferred.of(reply | {"predictions": wrong}, 3, classes)
    beyond = classes.to_bytes(len(data) // 3, "little") + data[len(data) // 3 :] if classes > 256 else data
    with pytest.raises(ImplausibleReply, match="but only 0 to"):
        Inferred.of(reply | {"predictions": beyond}, 3, classes if classes > 256 else 255)


def test_a_frame_holds_the_predictions_of_so_many_samples() -> None:
    assert (most_predictions(2), most_predictions(256), most_predictions(257)) == (1018, 1018, 509)


def test_checkpoints_are_in_their_order_the_newest_first() -> None:
    def sequences(*numbers: int) -> list[int]:
        return [
            one.sequence
            for one in checkpoints_of(
                {"room": 448, "slots": tuple(word for slot, n in enumerate(numbers) for word in (slot, n, 0, 0, 0, 0))}
            )[1]
        ]

    assert checkpoints_of(SLOTS) == (448, [BoardCheckpoint(*SECOND), BoardCheckpoint(*FIRST)])
    assert checkpoints_of({"room": 448, "slots": SECOND}) == (448, [BoardCheckpoint(*SECOND)])
    assert checkpoints_of({"room": 0, "slots": ()}) == (0, [])
    assert sequences(7, 8) == sequences(8, 7) == [8, 7]
    assert sequences(0xFFFFFFFF, 0) == sequences(0, 0xFFFFFFFF) == [0, 0xFFFFFFFF], "numbers go round"


@pytest.mark.parametrize(("take", "changes", "words"), [
    ("hello", HELLO | {"clock_hz": 0}, "'hello' has clock_hz 0, but only 100,000 to 4,000,000,000 is possible"),
    ("hello", HELLO | {"clock_hz": 2**32 - 1}, "clock_hz 4,294,967,295"),
    ("hello", HELLO | {"counter": 9}, "'hello' has counter 9, but it must be 0 (none) or 1 (dwt) or 2 (systick)"),
    ("hello", HELLO | {"rx_window": 0}, "rx_window 0"),
    ("load_end", {"network_digest": 1, "tensors": 0, "layers": 4}, "'load_end' has tensors 0"),
    ("configure", {"arena_planned": 101, "arena_size": 100, "tensors": 2}, "'configure' has arena_planned 101, but the arena has 100 bytes"),
    ("step", STEP | {"step": 8}, "'step' has step 8, but step 7 was requested"),
    ("step", STEP | {"sign": 2}, "sign 2"), ("step", STEP | {"sign": -2}, "sign -2"),
    ("step", STEP | {"loss_plus": math.nan}, "loss_plus nan"), ("step", STEP | {"loss_minus": math.inf}, "loss_minus inf"),
    ("step", STEP | {"cycles_total": 2**64 - 1}, "cycles_total 18,446,744,073,709,551,615"),
    ("step", STEP | {"digests": ()}, "'step' has 0 digests, but its network has 2 tensors"),
    ("run", STEP | {"digests": (1, 2, 3)}, "'run' has 3 digests"),
    ("infer", {"correct": 4, "logits_digest": 0, "predictions": b"abc"}, "'infer' has correct 4, but only 0 to 3 is possible"),
    ("infer", {"correct": 3, "logits_digest": 0, "predictions": b"ab"}, "predictions of 2 bytes, but 3 were requested"),
    ("memory", MEMORY | {"arena_peak": 101}, "'memory' has arena_peak 101"), ("memory", MEMORY | {"stack_peak": 65}, "stack_peak 65"),
    ("work", {"macs": 2**60, "layer_runs": 1, "bookings": 1}, "'work' has macs"), ("work", {"macs": 1, "layer_runs": 1, "bookings": 0}, "bookings 0"),
    ("laps", {"cycles": (1,) * 7}, "'laps' has 7 counts, but there must be 8"), ("laps", {"cycles": ()}, "'laps' has 0 counts"),
    ("laps", {"cycles": (2**63,) * 8}, "'laps' has a count 9,223,372,036,854,775,808"),
    ("profile", {"cycles": ()}, "'profile' has 0 counts, but there must be 6"), ("profile", {"cycles": (1,) * 12}, "'profile' has 12 counts"),
    ("bookings", {"cycles": ()}, "'bookings' has cycles of 0 readings, but their number must be odd"), ("bookings", {"cycles": (1, 2)}, "of 2 readings"),
    ("stretches", {"made": 3, "stretches": (5,)}, "'stretches' has 1 counts, but there must be 3"),
    ("stretches", {"made": 1, "stretches": (9 << 56,)}, "'stretches' has phase 9, but a phase is 0 to 3"),
    ("checkpoints", SLOTS | {"slots": FIRST + SECOND[:5]}, "'checkpoints' has 11 words, but a slot has 6, and there are 2 slots"),
    ("checkpoints", SLOTS | {"slots": 3 * FIRST}, "'checkpoints' has 18 words"),
    ("checkpoints", SLOTS | {"room": 0}, "'checkpoints' has room 0, but there are checkpoints"),
    ("checkpoints", SLOTS | {"slots": (*FIRST, 2, *SECOND[1:])}, "slots [0, 2], but they must be 0 to 1, each once"),
    ("checkpoints", SLOTS | {"slots": SECOND + FIRST}, "slots [1, 0]"), ("checkpoints", SLOTS | {"slots": FIRST + FIRST}, "slots [0, 0]"),
    ("checkpoints", SLOTS | {"slots": (*FIRST, 1, *FIRST[1:])}, "'checkpoints' has sequence 7, but two slots cannot have the same"),
    ("save_checkpoint", {"sequence": 9, "slot": 2, "bytes": 64}, "'save_checkpoint' has slot 2, but only 0 to 1 is possible"),
    ("save_checkpoint", {"sequence": 9, "slot": 0, "bytes": 63}, "'save_checkpoint' has bytes 63, but the tensors have 64"),
    ("load_checkpoint", COPIED | {"campaign": 1}, "'load_checkpoint' has campaign 1, but checkpoint 8 has 51966"),
    ("load_checkpoint", COPIED | {"step": 70}, "'load_checkpoint' has step 70"),
    ("load_checkpoint", COPIED | {"digest": 0xD1}, "'load_checkpoint' has digest 209"),
    ("digests", {"digests": (1,)}, "'digests' has 1 digests"),
    ("read_tensor", {"data": b"1234567"}, "'read_tensor' has data of 7 bytes, but 8 were requested"),
])  # fmt: skip
def test_what_cannot_be_is_one_sentence(take, changes, words) -> None:
    with pytest.raises(ImplausibleReply) as odd:
        FROM[take](changes)
    assert (
        isinstance(odd.value, DeviceFault)
        and str(odd.value).startswith("the firmware's reply to ")
        and words in str(odd.value)
    ), str(odd.value)
    assert "\n" not in str(odd.value) and str(odd.value).endswith(".")


@pytest.mark.parametrize(("take", "changes", "figure"), [
    ("laps", {"cycles": ()}, "laps"), ("laps", {"cycles": (2**63,) * 8}, "laps"), ("stretches", {"made": 1, "stretches": (9 << 56,)}, "stretches"),
    ("bookings", {"cycles": ()}, "bookings"), ("step", STEP | {"digests": ()}, "digests"), ("step", STEP | {"sign": 2}, "sign"),
    ("configure", {"arena_planned": 101, "arena_size": 100, "tensors": 2}, "arena_planned"),
])  # fmt: skip
def test_the_figure_that_cannot_be_has_its_name(take, changes, figure) -> None:
    with pytest.raises(ImplausibleReply) as odd:
        FROM[take](changes)
    assert odd.value.figure == figure


def values_of(kind: str) -> st.SearchStrategy[object]:
    if kind == "f32":
        return st.floats(width=32)
    if kind in FORMATS:
        signed, bits = kind[0] == "i", int(kind[1:])
        return st.integers(-(1 << bits - 1) if signed else 0, (1 << bits - signed) - 1)
    if kind in WORDS:
        return st.lists(st.integers(0, (1 << int(kind[1:-2])) - 1), max_size=12).map(tuple)
    return st.binary(max_size=16) if kind == "bytes" else st.binary(min_size=int(kind[6:-1]), max_size=int(kind[6:-1]))


@pytest.mark.parametrize("name", FROM)
@given(data=st.data())
def test_no_values_of_any_reply_raise_anything_else(name, data) -> None:
    values = {field: data.draw(values_of(kind)) for field, kind in description().requests[name].reply}
    try:
        FROM[name](values)
    except ImplausibleReply as odd:
        assert repr(name) in str(odd)

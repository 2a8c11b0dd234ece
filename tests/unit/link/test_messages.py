"""Bodies of messages: what is packed comes back, and what does not fit is refused."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.link.generate import HEADER, header, main
from hil.link.messages import Fields, MessageError, decode, description, encode, fixed_size

ALL = [(f"{name} request", request.request) for name, request in description().requests.items()]
ALL += [(f"{name} reply", request.reply) for name, request in description().requests.items()]
ALL += [(name, control.fields) for name, control in description().controls.items()]
RANGES = {
    "u8": (0, 2**8),
    "u16": (0, 2**16),
    "u32": (0, 2**32),
    "u64": (0, 2**64),
    "i8": (-128, 128),
    "i16": (-(2**15), 2**15),
}
SIZES = {
    "u8": 1,
    "u16": 2,
    "u32": 4,
    "u64": 8,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "f32": 4,
    "bytes[16]": 16,
    "bytes": 0,
    "u32[]": 0,
    "u64[]": 0,
}


def value_of(kind: str) -> st.SearchStrategy[object]:
    if kind in RANGES:
        low, end = RANGES[kind]
        return st.integers(low, end - 1)
    if kind == "f32":
        return st.floats(width=32, allow_nan=False)
    if kind in ("u32[]", "u64[]"):
        return st.lists(st.integers(0, 2 ** int(kind[1:3]) - 1), max_size=20).map(tuple)
    return st.binary(min_size=SIZES[kind], max_size=SIZES[kind] or 60)


@pytest.mark.parametrize(("name", "fields"), ALL, ids=[name for name, _ in ALL])
@given(data=st.data())
def test_round_trip_and_wrong_lengths(name: str, fields: Fields, data: st.DataObject) -> None:
    values = {field: data.draw(value_of(kind)) for field, kind in fields}
    body = encode(fields, values)
    assert decode(fields, body) == values
    fixed = sum(SIZES[kind] for _, kind in fields)
    assert fixed_size(fields) == fixed
    cut = data.draw(st.integers(0, fixed - 1)) if fixed else 0
    if fixed:
        with pytest.raises(MessageError):
            decode(fields, body[:cut])
    last = fields[-1][1] if fields else ""
    if last != "bytes":  # an open run of bytes takes any length, words take multiples of their size
        with pytest.raises(MessageError):
            decode(fields, body + bytes(data.draw(st.integers(1, 3))))


def test_fields_lie_packed_and_little_endian() -> None:
    control = description().controls["error"]
    body = encode(control.fields, {"code": 14, "a": 0x01020304, "b": 5})
    assert body == b"\x0e\x04\x03\x02\x01\x05\x00\x00\x00"
    reply = description().requests["step"].reply
    values = dict.fromkeys((name for name, _ in reply), 0) | {"loss_plus": 1.5, "sign": -1, "digests": (0xDEADBEEF,)}
    body = encode(reply, values)
    assert struct.unpack_from("<fxxxxb", body, 4) == (1.5, -1)
    assert body[-4:] == b"\xef\xbe\xad\xde"


@pytest.mark.parametrize(
    "values",
    [
        {"step": 0},
        {"step": 0, "count": 1, "more": 2},
        {"step": -1, "count": 1},
        {"step": 2**32, "count": 1},
        {"step": 0, "count": 2**16},
    ],
)
def test_values_that_do_not_fit_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(MessageError):
        encode(description().requests["step"].request, values)


def test_a_text_that_is_too_long_is_refused_not_cut() -> None:
    reply = description().requests["hello"].reply
    values = dict.fromkeys((name for name, _ in reply), 0) | {"board": b"seventeen letters"}
    assert len(values["board"]) == 17
    with pytest.raises(MessageError):
        encode(reply, values)


def test_numbers_of_messages_are_apart() -> None:
    messages = description()
    requests = [request.id for request in messages.requests.values()]
    everything = requests + [number | 0x80 for number in requests] + [c.id for c in messages.controls.values()]
    assert len(set(everything)) == len(everything)
    assert all(1 <= number <= 0x3F for number in requests)


def test_the_largest_replies_fit_a_frame() -> None:
    messages = description()
    tensors = 32  # docs/network.md: at most 32 layers
    assert fixed_size(messages.requests["step"].reply) + 4 * tensors <= messages.max_body
    assert fixed_size(messages.requests["infer"].reply) <= messages.max_body
    assert math.prod((28, 28, 1)) + fixed_size(messages.requests["samples"].request) <= messages.max_body


def test_the_generated_header_is_in_step(tmp_path: Path) -> None:
    checked_in = Path(__file__).resolve().parents[3] / HEADER
    assert header(description()) == checked_in.read_text(encoding="utf-8"), "run: python -m hil.link.generate"
    assert main(["generate", str(tmp_path / "new" / "messages.h")]) == 0
    assert (tmp_path / "new" / "messages.h").read_bytes() == checked_in.read_bytes()

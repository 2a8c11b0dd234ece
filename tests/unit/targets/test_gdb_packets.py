"""Packets of the GDB Remote Serial Protocol: framing, checksums, escapes, run-length encoding, in any pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.targets.gdb_packets import ACK, NAK, STRAY, Packet, PacketReader, decoded, packet

BODY = st.binary(max_size=200)


def run_lengths(body: bytes) -> bytes:
    """Return a body as a stub encodes it: runs of 4 to 97 as `X*n`, special characters escaped (written anew here)."""
    out, at = bytearray(), 0
    while at < len(body):
        run = 1
        while run < 97 and body[at + run : at + run + 1] == body[at : at + 1]:
            run += 1
        one = b"}" + bytes((body[at] ^ 0x20,)) if body[at] in b"$#}*" else body[at : at + 1]
        out += one
        count = chr(run - 1 + 29)
        if run > 3 and count not in "$#+-":
            out += f"*{count}".encode("ascii")
            at += run
        else:
            at += 1
    return bytes(out)


def framed(data: bytes) -> bytes:
    return b"$" + data + b"#" + f"{sum(data) % 256:02x}".encode("ascii")


def in_pieces(data: bytes, sizes: list[int]) -> list[Packet | bytes]:
    reader, found, at = PacketReader(), [], 0
    for size in sizes:
        found += reader.feed(data[at : at + size])
        at += size
    return found + reader.feed(data[at:])


@given(BODY, st.lists(st.integers(1, 5), max_size=100))
def test_a_packet_is_read_as_it_was_made_in_any_pieces(body, sizes):
    assert in_pieces(ACK + packet(body) + NAK, sizes) == [ACK, Packet(body), NAK]


@given(st.lists(st.sampled_from([b"0", b"f", b"*", b"}", b"#", b"$", b"x"]).flatmap(
    lambda each: st.integers(1, 110).map(lambda count: each * count)), max_size=8).map(b"".join))  # fmt: skip
def test_run_lengths_are_expanded(body):
    encoded = run_lengths(body)
    assert decoded(encoded) == body
    assert PacketReader().feed(framed(encoded)) == [Packet(body)]


def test_examples_of_the_protocol_description():
    assert packet(b"OK") == b"$OK#9a" and decoded(b"0* ") == b"0000" and decoded(b'3*"x') == b"3" * 6 + b"x"
    assert packet(b"#$}*") == framed(b"}\x03}\x04}]}\n") and decoded(b"}\x03") == b"#"


@given(BODY.filter(len), st.data())
def test_any_changed_byte_is_noticed(body, data):
    sent = bytearray(packet(body))
    at = data.draw(st.integers(1, len(sent) - 1))
    sent[at] ^= data.draw(st.sampled_from([1, 2, 4, 8, 16]))
    found = [each for each in PacketReader().feed(bytes(sent)) if isinstance(each, Packet)]
    # an upper-case digit of the checksum is the same digit
    assert all(each.body != body for each in found) or bytes(sent).lower() == packet(body).lower()


@pytest.mark.parametrize("data", [b"*a", b"0*", b"0*\x1f", b"0*\x7f", b"x}"])
def test_a_wrong_coding_is_no_packet(data):
    assert decoded(data) is None and PacketReader().feed(framed(data)) == [Packet(None)]


@given(st.binary(max_size=60).filter(lambda each: not set(each) & set(b"$+-")), BODY)
def test_bytes_of_no_packet_are_kept_until_the_next_one(stray, body):
    reader = PacketReader()
    assert reader.feed(stray) == [] and reader.stray == stray
    assert reader.feed(packet(body)) == [Packet(body)] and reader.stray == b""


def test_what_never_ends_is_no_packet():
    reader = PacketReader()
    for _ in range(3):
        assert reader.feed(b"$" + b"0" * (1 << 19)) == []
    assert len(reader.stray) > STRAY

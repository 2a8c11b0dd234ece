"""Frames on the wire: any chunking gives the same frames, and a damaged one is never taken for another."""

from __future__ import annotations

import random
import zlib

from cobs import cobs
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.link.frames import LONGEST, FrameReader, LinkFrame, parse

frame = st.builds(LinkFrame, st.integers(0, 255), st.integers(0, 255), st.integers(0, 65535), st.binary(max_size=1024))


@given(one=frame)
def test_the_bytes_are_those_of_the_document(one: LinkFrame) -> None:
    content = bytes([one.type, one.session, one.seq & 0xFF, one.seq >> 8]) + one.body
    wire = one.encode()
    assert wire[-1] == 0
    assert 0 not in wire[:-1]
    assert cobs.decode(wire[:-1]) == content + zlib.crc32(content).to_bytes(4, "little")


def test_a_frame_byte_by_byte() -> None:
    content = bytes([0x0C, 0x78, 0x01, 0x00, 0x41])
    assert zlib.crc32(b"123456789") == 0xCBF43926  # the published check value of this CRC
    crc = zlib.crc32(content).to_bytes(4, "little")
    assert 0 not in crc
    assert LinkFrame(0x0C, 0x78, 1, b"A").encode() == b"\x04\x0c\x78\x01\x06\x41" + crc + b"\0"


@settings(max_examples=60)
@given(frames=st.lists(frame, max_size=6), seed=st.integers(0, 2**32), noise=st.booleans())
def test_chunks_do_not_matter(frames: list[LinkFrame], seed: int, noise: bool) -> None:
    rng = random.Random(seed)
    stream = b"".join(
        (rng.randbytes(5) + b"\0" if noise else b"") + b"\0" * rng.randrange(3) + f.encode() for f in frames
    )
    reader, came = FrameReader(), []
    while stream:
        size = rng.choice((1, 2, 3, 100, 5000))
        came += reader.feed(stream[:size])
        stream = stream[size:]
    assert came == frames
    assert noise or reader.damaged == 0


@settings(max_examples=60)
@given(frames=st.lists(frame, min_size=1, max_size=5), seed=st.integers(0, 2**32), flips=st.integers(1, 6))
def test_flips_lose_frames_and_never_make_any(frames: list[LinkFrame], seed: int, flips: int) -> None:
    rng = random.Random(seed)
    wires = [bytearray(one.encode()) for one in frames]
    hit = set()
    for _ in range(flips):
        index = rng.randrange(len(wires))
        before = bytes(wires[index])
        wires[index][rng.randrange(len(before))] ^= 1 << rng.randrange(8)
        hit.add(index)
    came = FrameReader().feed(b"".join(wires) + b"\0")
    intact = [one for index, one in enumerate(frames) if bytes(wires[index]) == one.encode()]
    left = iter(frames)
    assert all(any(one == other for other in left) for one in came)  # a subsequence of what was sent
    # A flipped delimiter also takes the frame behind it; no other intact frame may be lost.
    removed_bytes = sum(wires[index][-1] != 0 for index in hit)
    assert len(came) >= len(intact) - removed_bytes


def test_every_single_flip_of_a_frame_is_seen() -> None:
    wire = LinkFrame(7, 3, 500, bytes(range(40))).encode()[:-1]
    for bit in range(8 * len(wire)):
        broken = bytearray(wire)
        broken[bit // 8] ^= 1 << bit % 8
        for part in bytes(broken).split(b"\0"):
            assert parse(part) is None


def test_noise_without_a_delimiter_is_forgotten() -> None:
    reader = FrameReader()
    for _ in range(100):
        assert reader.feed(b"\xaa" * 1000) == []
    good = LinkFrame(1, 2, 3, b"x")
    assert reader.feed(b"\0" + good.encode()) == [good]
    assert len(good.encode()) < LONGEST
    assert reader.damaged == 1


def test_the_longest_frame_comes_through_in_single_bytes() -> None:
    longest = LinkFrame(3, 1, 9, b"\x11" * 1024)
    reader = FrameReader()
    came = [one for byte in longest.encode() for one in reader.feed(bytes([byte]))]
    assert came == [longest]


def test_too_short_content_is_damaged() -> None:
    reader = FrameReader()
    assert reader.feed(cobs.encode(b"") + b"\0" + cobs.encode(zlib.crc32(b"").to_bytes(4, "little")) + b"\0") == []
    assert reader.damaged == 2

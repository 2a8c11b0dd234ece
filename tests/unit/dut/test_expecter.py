"""The search of `expect`: against pexpect itself, and its work against what comes."""

from __future__ import annotations

import re

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pexpect.spawnbase import SpawnBase

from hil.dut.expecter import WINDOW, Expecter

PATTERNS = [
    "ab", "a+b", "b.*a", "^a", "a$", r"\bab\b", "(?<=b)a", "a(?=b)", "(a)|(b)", "", "c", rb"a\nb", re.compile("b[^b]"),
    re.compile(rb"A", re.I), pexpect.TIMEOUT, pexpect.EOF,
]  # fmt: skip


class Spawned(SpawnBase):
    """pexpect over parts that come, and then nothing or the end."""

    def __init__(self, parts: list[bytes], ends: bool) -> None:
        super().__init__(timeout=None)
        self.delayafterread, self.parts, self.ends = None, list(parts), ends

    def read_nonblocking(self, size: int = 1, timeout: float | None = None) -> bytes:
        if self.parts:
            return self.parts.pop(0)
        raise pexpect.EOF("") if self.ends else pexpect.TIMEOUT("")


def more(parts: list[bytes], ends: bool):
    def come() -> bytes:
        if not parts and ends:
            raise pexpect.EOF("")
        return parts.pop(0) if parts else b""

    return come


parts = st.lists(st.binary(min_size=1, max_size=6).map(lambda data: bytes(b"ab\nc"[each % 4] for each in data)))


@given(parts=parts, asked=st.lists(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3, unique_by=id), max_size=6),
       ends=st.booleans(), window=st.sampled_from([None, 1, 3, 1000]))  # fmt: skip
def test_it_finds_what_pexpect_finds(parts, asked, ends, window):
    """Within the window; of an explicit one too, of which both search the same bytes while it is longer than a part."""
    if window in (1, 3):
        parts = [bytes([each]) for part in parts for each in part]
    theirs, ours = Spawned(parts, ends), Expecter(more(list(parts), ends))
    for patterns in asked:
        listed = theirs.compile_pattern_list(list(patterns))
        found = []
        for expect in (
            lambda listed=listed: theirs.expect_list(listed, timeout=None, searchwindowsize=window),
            lambda patterns=patterns: ours.expect(ours.compiled(list(patterns)), window),
        ):
            try:
                found.append(expect())
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                found.append(type(error))
        if window is not None and found[0] != found[1]:
            return  # pexpect cuts its buffer to the window: `^` and what looks behind see another begin
        assert found[0] == found[1]
        assert (theirs.before, theirs.after) == (ours.before, ours.after)
        if isinstance(theirs.match, re.Match):
            assert theirs.match.groups() == ours.match.groups() and theirs.match[0] == ours.match[0]
        else:
            assert theirs.match is ours.match


@pytest.mark.parametrize("megabytes", [2, 8])
def test_the_bytes_that_are_searched_grow_as_those_that_come(megabytes, monkeypatch):
    searched = []
    real = Expecter._search

    def search(self, patterns, data, begin):
        searched.append(len(data) - begin)
        return real(self, patterns, data, begin)

    monkeypatch.setattr(Expecter, "_search", search)
    step = 1 << 14
    left = [b"x" * step] * (megabytes << 20 >> 14)
    ours = Expecter(more(left, False))
    with pytest.raises(pexpect.TIMEOUT):
        ours.expect(ours.compiled([r"never (\d+)"]), None)
    assert len(ours.before) == megabytes << 20 == len(ours.unread)
    assert max(searched) <= WINDOW + step and sum(searched) <= len(ours.before) * (WINDOW + step) / step


@pytest.mark.parametrize("apart", [WINDOW - 8, WINDOW + 8])
def test_a_match_of_new_bytes_begins_in_the_window_before_them(apart):
    ours = Expecter(more([b"begin" + b"." * (apart - 5), b"end"], False))
    patterns = ours.compiled(["begin.*end"])
    if apart < WINDOW:
        assert ours.expect(patterns, None) == 0
    else:
        with pytest.raises(pexpect.TIMEOUT):
            ours.expect(patterns, None)
        assert ours.expect(patterns, None) == 0  # all that is unread is searched at first

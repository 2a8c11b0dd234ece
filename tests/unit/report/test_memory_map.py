"""The memory map of the report has a colour and a word for every buffer that a plan can have."""

from __future__ import annotations

import pytest
from reference.affine8_networks import network_b

from hil.report.memory import GROUPS, KINDS, WORDS, kind_of
from hil.training.methods import Method
from hil.training.methods.fqt import Fqt
from hil.training.methods.fqt_settings import FqtSettings
from tests.unit.golden.rows import Row, committed
from tests.unit.golden.subjects import subject


@pytest.mark.parametrize("row", committed(), ids=lambda row: "-".join(row.key))
def test_every_buffer_of_a_plan_has_a_colour_and_a_word(row: Row) -> None:
    check(subject(row, row.recorded["settings"]))


@pytest.mark.parametrize("in_flash", [False, True])
def test_every_buffer_of_a_network_in_affine8_has_them(in_flash: bool) -> None:
    check(Fqt(network_b(), FqtSettings(error_range="running"), in_flash))


def check(of: Method) -> None:
    kinds = {kind_of(buffer.name) for buffer in of.plan.memory(of.settings.batch).buffers}
    assert kinds and kinds <= set(KINDS)
    assert {GROUPS.get(kind, kind) for kind in kinds} <= set(WORDS)

"""Which instrument answers for which data sheet."""

from __future__ import annotations

from typing import Any

from .keithley_2450 import Keithley2450
from .keithley_dmm6500 import KeithleyDmm6500
from .n6705c import N6705C
from .rigol import RigolDP832A
from .truevolt import Truevolt

DIALECTS: dict[str, Any] = {
    "keithley-2450": Keithley2450,
    "keithley-dmm6500": KeithleyDmm6500,
    "keysight-34465a": Truevolt,
    "keysight-n6705c": N6705C,
    "rigol-dp832a": RigolDP832A,
}

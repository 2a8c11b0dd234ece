"""The Northwind PM10, a power meter that does not exist: its driver and its data sheet."""

from pathlib import Path

from hil.energy.meter_kind import MeterKind
from northwind_pm10.driver import NorthwindPM10

KIND = MeterKind(NorthwindPM10, Path(__file__).parent, visa=True)

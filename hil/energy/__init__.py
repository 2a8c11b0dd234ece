"""Energy from readings of a meter: windows, phases, uncertainty budget and checks."""

MLPERF_TINY = "mlperf-tiny"  # rules of energy windows (docs/energy.md)

"""How the runtimes that a user deploys with round each operator (docs/tflite.md)."""

from __future__ import annotations

DOUBLE, SINGLE = "double", "single"  # docs/arithmetic-tflite.md, section 3
XNNPACK = "xnnpack"
RUNTIMES: dict[str, dict[str, str]] = {
    "cmsis-nn": {},
    "litert": {"FULLY_CONNECTED": SINGLE},
    XNNPACK: dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "MEAN"), SINGLE),
}
"""By runtime, the operators that round `single`; all others round `double`."""
DEFAULT = "cmsis-nn"


def rounding_of(runtime: str, operator: str) -> str:
    """Return how a runtime rounds an operator."""
    return RUNTIMES[runtime].get(operator, DOUBLE)

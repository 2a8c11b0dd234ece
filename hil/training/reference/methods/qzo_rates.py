"""The learning rate of QZO-FF, every operation rounded to binary32 by itself (docs/arithmetic-qzo-ff.md, section 6)."""

from __future__ import annotations

import numpy as np

from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.reference.floats import F

PI = F(float.fromhex("0x1.921fb6p+1"))
SINE_TERMS = [
    F(float.fromhex(term))
    for term in ("0x1p+0", "-0x1.555556p-3", "0x1.111112p-7", "-0x1.a01a02p-13", "0x1.71de3ap-19", "-0x1.ae6456p-26")
]
SMALLEST_ROOT = float.fromhex("0x1.5798eep-27")  # e of AdamW, 1e-8


def rate(settings: QzoFfSettings, step: int) -> np.float32:
    """Return eta_t: warm-up, then constant, or half a cosine."""
    eta, eta_min, warmup, steps = F(settings.eta), F(settings.eta_min), settings.warmup, settings.steps
    if step < warmup:
        return eta * (F(step + 1) / F(warmup))
    if not steps:
        return eta
    if step >= steps:
        return eta_min
    x = F(step - warmup) / F(steps - warmup)
    r = (x - F(0.5)) * PI
    q = r * r
    p = SINE_TERMS[5]
    for term in SINE_TERMS[4::-1]:
        p = (p * q) + term
    h = F(0.5) - (F(0.5) * (r * p))
    return F(eta_min + ((eta - eta_min) * h))

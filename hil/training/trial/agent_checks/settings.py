"""Settings out of their limits or in conflict, in a wrong number, and of methods that do not train the network."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from hil.training.graph.node import W16A8Parameters
from hil.training.methods.settings import configure_fields, loops_of, only, sent, setting_tables
from hil.training.methods.tinytrain_costs import Costs
from hil.training.trial.agent_checks.refused import expect
from hil.training.trial.lockstep import LockStep

Changes = Mapping[str, Any]
UNKNOWN = 255  # the number of no training loop
NARROW = 127  # the largest weight of 8 bits
WIDTH = {"u8": 8, "u16": 16, "u32": 32, "f32": 32}
FLOAT = struct.Struct("<f")
PLAIN = {"optimizer": "plain", "normalise": 0, "sparse": "off"}
CONFLICTS: dict[str, tuple[tuple[Changes, str], ...]] = {
    "tflite8": (({"train": "bias", "train_bias": 0}, "train_bias"),),
    "poor-mans": (({"difference": "central", "perturb": "node"}, "difference"),),
    "tinytrain": (({"memory_budget": 1}, "memory_budget"),),
    "elasticzo": (
        ({"partition": 255}, "partition"), ({"perturb": "exact", "r_max": 64}, "perturb"),
        ({"loss": "float", "loss_fraction": 1}, "loss_fraction"),
    ),
    "elasticzo_fp32": (({"partition": 255}, "partition"),),
    "qzo_ff": (
        ({"eta": 0.5, "eta_min": 1.0}, "eta_min"), ({"steps": 1, "warmup": 1}, "steps"), ({"epsilon": 1.0}, "epsilon"),
        ({"rho": 1.0}, "rho"), ({"sparse": "threshold", "threshold": 2.0**20}, "threshold"),
    ),
    "w16a8": (
        ({"epsilon": 2.0**-40, "rho": 0.0, "sparse": "off"}, "epsilon"), ({"rho": 2.0**-40, "sparse": "off"}, "rho"),
        (PLAIN | {"eta": 2.0**-40, "eta_min": 0.0}, "eta"),
    ),
    "fqt": (({"lambda_min": 0.5, "lambda_max": 0.25}, "lambda_max"),),
    "quzo": (({"epsilon": 2.0**-40}, "epsilon"),),
}  # fmt: skip
"""Settings that do not go together, and the one that is refused, by table of settings, by training loop, and for
weights of 16 bits, which each setting must move."""


def check_settings(trial: LockStep) -> None:
    """Offer the agent settings that it must refuse; those that it has stay."""
    device, loop = trial.device, trial.p.method.loop
    table = sent(trial.settings.table)
    now = {name: getattr(trial.settings, name) for name in trial.settings.table}
    numbers = {name: table[name].number(value) for name, value in now.items()}
    numbers |= {"method": table["method"].number(loop), "slots": trial.p.slots, "first_step": trial.next_step}
    names = list(table)
    for name, number in _beyond(table):
        sends = configure_fields(trial.settings.table, numbers | {name: number})
        expect(device, ("bad_setting", names.index(name), _bits(table[name].type, number)), "configure", **sends)
    for changes, refused in _conflicts(trial, loop):
        own = numbers | {name: table[name].number(value) for name, value in changes.items()}
        error = ("bad_setting", names.index(refused), _bits(table[refused].type, own[refused]))
        expect(device, error, "configure", **configure_fields(trial.settings.table, own))
    own = numbers | {"slots": numbers["batch"] + 1}
    expect(
        device,
        ("bad_setting", names.index("slots"), own["slots"]),
        "configure",
        **configure_fields(trial.settings.table, own),
    )
    body = configure_fields(trial.settings.table, numbers)["settings"]
    expect(device, ("bad_setting", 0, UNKNOWN), "configure", method=UNKNOWN, settings=body)
    expect(device, ("bad_length", len(body), len(body) + 1), "configure", method=numbers["method"], settings=body[1:])
    trial.configure(trial.settings)


def _beyond(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield settings with numbers just beyond their limits, as the link has them."""
    for name, setting in table.items():
        if name == "method":
            continue
        if setting.type == "f32":
            yield name, float("nan")
            continue
        low, high = (0, max(setting.numbers)) if setting.words else setting.limits
        if high + 1 < 1 << WIDTH[setting.type]:
            yield name, high + 1
        if low > 0:
            yield name, low - 1


def _conflicts(trial: LockStep, loop: str) -> Iterator[tuple[Changes, str]]:
    for table in setting_tables():
        if loop in loops_of(table):
            yield from CONFLICTS.get(table, ())
    yield from CONFLICTS.get(loop, ())
    own = trial.p.method.network.layers[-1].own
    if loop == "qzo-ff" and isinstance(own, W16A8Parameters) and own.largest > NARROW:
        yield from CONFLICTS["w16a8"]
    if loop == "tinytrain":
        least = Costs(trial.p.method.network, trial.settings).least_work_budget
        if least > 1:
            yield {"work_budget": least - 1}, "work_budget"
    blocks = trial.settings.table.get("blocks")
    if blocks is not None:
        unused = set(range(blocks.limits[1].bit_length())) - {
            layer.block - 1 for layer in trial.p.method.network.layers
        }
        if unused:
            yield {"train": "all", "blocks": 1 << min(unused)}, "blocks"
    for name, (value, _) in only(loop).items():
        yield {name: next(word for word in trial.settings.table[name].words if word != value)}, name


def _bits(kind: str, number: Any) -> int:
    """Return a number as the word that the agent answers with."""
    if kind != "f32":
        return int(number)
    return int.from_bytes(FLOAT.pack(number), "little")

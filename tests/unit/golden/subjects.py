"""From the words of a row to what is trained: the one place of these tests that knows how the code of today is divided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from hil import boards
from hil.training.methods import GraphMethod, Method, find_method
from hil.training.methods.default_rates import format_of, row_of
from hil.training.methods.graph_method import SAVINGS
from hil.training.networks import build
from hil.training.trial.choose import method_of
from hil.trial import TrialSpec

from .rows import DATA, Row

BOARD, ROOM = "stm32h7b3", 1 << 30  # any board: with this much arena a subject takes its plainest form
KEPT = (  # buffers that a method keeps from step to step
    "velocity", "mask", "guide", "moments", "fisher", "selected", "statistics", "error_ranges",
)  # fmt: skip
NO_BITS = ("method", "partition", "consumed", "fused")  # they follow from the variant, or save memory
OF_TINYTRAIN = ("ranking", "memory_budget", "work_budget", "channels")  # without effect in the others of its table


def subject(row: Row, settings: Mapping[str, Any]) -> Method:
    """Return a row's subject in the plainest form: the network file in RAM, the whole batch held."""
    kind = find_method(row.method)
    by_format = row_of(kind, row.variant, format_of(build(row.network, 1)), settings)
    own = {name: setting.default for name, setting in kind.kind.table.items()}
    own |= {**(by_format.settings if by_format else {}), **kind.variants[row.variant]}
    others = {  # a trial refuses what has no effect: of a row with all settings the defaults are left out
        name: value for name, value in settings.items() if name not in ("batch", "seed") and value != own[name]
    }
    spec = TrialSpec(
        BOARD,
        row.variant,
        row.network,
        row.method,
        DATA,
        batch=settings["batch"],
        seed=settings["seed"],
        evaluate=0,
        settings=others,
    )
    return method_of(spec, boards.load(BOARD), ROOM)


def all_settings(of: Method) -> dict[str, Any]:
    """Return every setting that decides bits, by the name that the documents have for it."""
    others = NO_BITS if of.loop == "tinytrain" else NO_BITS + OF_TINYTRAIN
    return {name: value for name, value in asdict(of.settings).items() if name not in others}


def totals(of: Method) -> dict[str, int]:
    """Return the totals of the memory plan, in bytes (fixtures/golden/README.md)."""
    resident = of.plan.memory(of.settings.batch)
    kept = sum(buffer.size for buffer in resident.buffers if buffer.name.startswith(KEPT))
    return {
        "state": sum(tensor.size for tensor in of.plan.tensors) + kept,
        "resident": resident.total,
        "smallest": _smallest(of, resident.total),
    }


def _smallest(of: Method, resident: int) -> int:
    if isinstance(of, GraphMethod):
        savings = SAVINGS if of.settings.batch == 1 else SAVINGS[::2]
        forms = [replace(of, settings=replace(of.settings, **saving), in_flash=True) for saving in savings]
        return min(form.plan.memory(1).total for form in forms)
    if not of.request.streams():
        return resident
    return min(replace(of.plan, in_flash=in_flash).memory(1).total for in_flash in (False, of.in_flash_too))

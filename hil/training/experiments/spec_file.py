"""Read an experiment from a TOML file: rows and columns of settings (docs/experiments.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hil.dataclass_json import read_specification
from hil.errors import RigError, close_matches
from hil.training.data import load
from hil.training.experiments.elasticzo import FP32, PAPER_EPOCHS
from hil.training.experiments.exponents import METHOD, NETWORK, ExponentRun
from hil.training.experiments.float_runs import FloatRun
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.kinds import Run
from hil.training.experiments.qzo_runs import NAMED, QzoRun
from hil.training.experiments.table import ACCURACY, LOSS, Cell, PaperTable
from hil.training.methods import METHODS, GraphMethod, graph_method
from hil.training.methods.elasticzo_fp32 import ElasticZoFp32
from hil.training.methods.elasticzo_settings import Fp32Settings
from hil.training.methods.qzo_ff import QzoFf
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.networks import names

NAME = r"^[a-z0-9][a-z0-9.-]*$"  # part of the names of folders


class Cells(BaseModel):
    """Keys of a row, a column or the file; a row overrides a column, and a column overrides the file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    data: str | None = None
    network: str | None = None
    method: str | None = None
    variant: str | None = None
    epochs: int | None = Field(None, ge=1)
    batch: int | None = Field(None, ge=1, le=65535)
    eta: float | None = Field(None, gt=0)
    settings: dict[str, int | float | str] = Field(default_factory=dict)


class Named(Cells):
    """A row or a column."""

    name: str = Field(pattern=NAME)


class SpecFile(Cells):
    """The whole file."""

    name: str = Field(pattern=NAME)
    title: str
    measure: Literal["accuracy", "loss"] = "accuracy"
    row: list[Named] = Field(min_length=1)
    column: list[Named] = Field(min_length=1)


def read_spec(path: Path, seeds: int, epochs: int | None, batch: int | None) -> PaperTable:
    """Return the table that a TOML file describes; `epochs` and `batch` replace those in the file.

    Raises:
        RigError: no such file, a mistake in it, an unknown name, or a setting that the method does not have.
    """
    spec = _parsed(path)
    cells: dict[Cell, tuple[Run, ...]] = {}
    options = {key: value for key, value in (("epochs", epochs), ("batch", batch)) if value}
    for column in spec.column:
        for row in spec.row:
            given = _merged(spec, column, row) | options
            try:
                make = MAKERS.get(given["method"], _graph_run)
                runs = tuple(make(given, column.name, row.name, seed) for seed in range(1, seeds + 1))
                _check(runs[0])
            except RigError as error:
                raise RigError(f"{path}: row {row.name}, column {column.name}: {error}") from error
            cells[given["data"], column.name, row.name] = runs
    stage = tuple(dict.fromkeys(run for runs in cells.values() for run in runs))
    rows = tuple(row.name for row in spec.row)
    measure = ACCURACY if spec.measure == "accuracy" else LOSS
    differences = (f"An experiment of {path.name}, not of a paper.",)
    return PaperTable(spec.name, spec.title, (stage,), cells, rows, {}, differences, measure)


def _parsed(path: Path) -> SpecFile:
    spec = read_specification(SpecFile, path, "docs/experiments.md")
    for kind, named in (("row", spec.row), ("column", spec.column)):
        names = [one.name for one in named]
        if double := next((name for name in names if names.count(name) > 1), None):
            raise RigError(f"--spec {path}: two {kind}s are called {double!r}: give each its own name.")
    return spec


def _merged(*parts: Cells) -> dict[str, Any]:
    """Return the keys of all parts; a later part overrides an earlier one, and both override the defaults."""
    given: dict[str, Any] = {"data": "fashion-mnist-1k", "network": NETWORK, "method": METHOD, "epochs": 5, "batch": 20}
    for part in parts:
        settings = given.get("settings", {}) | part.settings
        given |= part.model_dump(include=set(Cells.model_fields), exclude_none=True) | {"settings": settings}
    return given


def _exponent_run(given: Mapping[str, Any], column: str, row: str, seed: int) -> ExponentRun:
    if given["network"] != NETWORK:
        cure = "leave network out, or name another method"
        raise RigError(f"{METHOD} trains {NETWORK}, not {given['network']!r}: {cure}.")
    variant = _known("variant", given.get("variant", ""), METHODS[METHOD].variants)
    if "eta" in given:
        raise RigError(f"{METHOD} has no learning rate: leave eta out.")
    settings = dict(given["settings"])
    scale = settings.pop("r_max", 7)
    kind = "int8star" if settings.pop("loss", "float") == "integer" else "int8"
    return ExponentRun(
        given["data"], kind, variant, seed, given["epochs"], batch=given["batch"], r_max=scale,
        given=tuple(settings.items()), tag=f"{column}-{row}",
    )  # fmt: skip


def _graph_run(given: Mapping[str, Any], column: str, row: str, seed: int) -> GraphRun:
    method = _known("method", given["method"], METHODS)
    network = _known("network", given["network"], names(GraphMethod.format))
    kind = graph_method(method)
    variant = _known("variant", given.get("variant", kind.default_variant), kind.variants)
    first = kind.variants[kind.default_variant]
    settings = {name: value for name, value in kind.variants[variant].items() if first.get(name) != value}
    settings |= given["settings"]
    cell, size = (given["data"], column, row, seed), (given["epochs"], given["batch"])
    return GraphRun(*cell, *size, network, method, tuple(settings.items()), eta=given.get("eta", 0.01))


def _float_run(given: Mapping[str, Any], column: str, row: str, seed: int) -> FloatRun:
    network = _known("network", given["network"], names(ElasticZoFp32.format))
    variant = _known("variant", given.get("variant", ElasticZoFp32.default_variant), ElasticZoFp32.variants)
    run = FloatRun(
        given["data"], FP32, variant, seed, given["epochs"], given["batch"], network, PAPER_EPOCHS,
        eta=given.get("eta", Fp32Settings.eta), given=tuple(given["settings"].items()), tag=f"{column}-{row}",
    )  # fmt: skip
    method = run.method(())
    if fault := method.request.fault_of_weights(method.settings):
        raise RigError(fault)  # as a trial would be refused
    return run


def _qzo_run(given: Mapping[str, Any], column: str, row: str, seed: int) -> QzoRun:
    systems = {network: pair for pair, network in NAMED.items()}
    backbone, system = systems[_known("network", given["network"], systems)]
    variant = _known("variant", given.get("variant", QzoFf.default_variant), QzoFf.variants)
    settings = dict(QzoFf.variants[variant]) | given["settings"]
    cell, size = (given["data"], column, row, seed), (given["epochs"], given["batch"])
    return QzoRun(
        *cell, *size, backbone, system, given=tuple(settings.items()), eta=given.get("eta", QzoFfSettings.eta)
    )


MAKERS: Mapping[str, Callable[[Mapping[str, Any], str, str, int], Run]] = {  # of methods whose runs are no GraphRun
    METHOD: _exponent_run,
    ElasticZoFp32.name: _float_run,
    QzoFf.name: _qzo_run,
}


def _known(what: str, name: str, known: Any) -> str:
    if name not in known:
        raise RigError(f"there is no {what} {name!r}: {close_matches(name, known)}")
    return name


def _check(run: Run) -> None:
    """Build the method once, to find a wrong setting before anything is trained."""
    images = len(load(run.data).train_images)
    if run.batch > images:
        held = f"the {images} training images of {run.data}"
        raise RigError(f"a batch of {run.batch} is larger than {held}: choose a smaller batch.")
    steps = run.per_epoch(images) * run.epochs
    run.check_steps(steps)
    run.learner(None, run.schedule(steps))

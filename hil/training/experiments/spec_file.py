"""Read an experiment from a TOML file: rows and columns of settings (docs/experiments.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hil.dataclass_json import read_specification
from hil.errors import RigError, close_matches
from hil.training.data import load
from hil.training.experiments.elasticzo import FP32, PAPER_EPOCHS
from hil.training.experiments.exponents import METHOD, NETWORK, ExponentRun
from hil.training.experiments.float_runs import FloatRun
from hil.training.experiments.fqt_runs import FqtRun
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.kinds import Run
from hil.training.experiments.quzo_runs import QuzoRun
from hil.training.experiments.qzo_runs import NAMED, QzoRun
from hil.training.experiments.run import Given
from hil.training.experiments.table import ACCURACY, LOSS, Cell, PaperTable
from hil.training.methods import GraphMethod, Method, find_method, graph_method
from hil.training.methods.elasticzo_fp32 import ElasticZoFp32
from hil.training.methods.elasticzo_settings import ElasticZoSettings, Fp32Settings
from hil.training.methods.fqt import Fqt
from hil.training.methods.fqt_settings import FqtSettings, configuration_of
from hil.training.methods.perturbed_scales import PerturbedScales
from hil.training.methods.quzo import Quzo
from hil.training.methods.qzo_ff import QzoFf
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.settings import OF_TRIAL
from hil.training.networks import names
from hil.training.trial import TrialSpec
from hil.training.trial.choose import check_weights, method_on_network

BOARD = "stm32h7b3"  # any: nothing of a cell depends on it
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
                its = AskedCell.of(given, column.name, row.name)
                make = MAKERS.get(its.asked.method, _graph_run)
                runs = tuple(make(its, seed) for seed in range(1, seeds + 1))
                _check_length(runs[0])
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


@dataclass(frozen=True)
class AskedCell:
    """A cell of the file: what is trained, and with which settings.

    Attributes:
        asked: the trial that the words of the cell mean, on any board.
        method: that of this trial, so that a setting means here what it means there.
        column, row: names of the cell.
        epochs: of the run.
    """

    asked: TrialSpec
    method: Method
    column: str
    row: str
    epochs: int

    @classmethod
    def of(cls, given: Mapping[str, Any], column: str, row: str) -> AskedCell:
        """Return the cell with these keys.

        Raises:
            RigError: what a trial refuses, or a key that stands among the settings.
        """
        kind, settings = find_method(given["method"]), dict(given["settings"])
        for name in ("batch", "method"):
            if name in settings:
                raise RigError(f"settings has {name}, which is a key of its own: write it outside of settings.")
        if "seed" in settings:
            raise RigError("settings has seed, which --seeds chooses: leave it out.")
        if "eta" in given:
            if "eta" not in kind.kind.table:
                raise RigError(f"{kind.name} has no learning rate: leave eta out.")
            if "eta" in settings:
                raise RigError("eta is given twice, as a key and in settings: leave one of them out.")
            settings["eta"] = given["eta"]
        asked = TrialSpec(
            BOARD, given.get("variant", kind.default_variant), given["network"], kind.name, given["data"],
            batch=given["batch"], evaluate=0, settings=settings,
        )  # fmt: skip
        method = method_on_network(asked)
        check_weights(method.request, method.settings)
        return cls(asked, method, column, row, given["epochs"])

    @property
    def cell(self) -> tuple[str, str, str]:
        """Data, column and row."""
        return self.asked.data, self.column, self.row  # type: ignore[return-value]

    @property
    def eta(self) -> float:
        """The learning rate."""
        return float(self.method.settings.eta)

    def beside(self, first: Any) -> Given:
        """Return the settings that the file gives, or that differ from `first` and act.

        Those that runs have in fields of their own are left out.
        """
        settings, facts, given = self.method.settings, self.method.facts, self.asked.settings
        changed = [name for name in settings.table if name in given or getattr(settings, name) != getattr(first, name)]
        acting = [name for name in changed if settings.unmet(name, facts) is None]
        return tuple((name, getattr(settings, name)) for name in acting if name not in (*OF_TRIAL, "eta"))


def _exponent_run(its: AskedCell, seed: int) -> ExponentRun:
    if its.asked.network != NETWORK:
        raise RigError(
            f"{METHOD} trains {NETWORK} here, not {its.asked.network!r}: leave network out, or name another method."
        )
    settings: ElasticZoSettings = its.method.settings
    given = {name: getattr(settings, name) for name in its.asked.settings if name not in ("r_max", "loss")}
    kind = "int8star" if settings.loss == "integer" else "int8"
    return ExponentRun(
        str(its.asked.data), kind, its.asked.variant, seed, its.epochs, batch=its.asked.batch, r_max=settings.r_max,
        given=tuple(given.items()), tag=f"{its.column}-{its.row}",
    )  # fmt: skip


def _graph_run(its: AskedCell, seed: int) -> GraphRun:
    method = its.asked.method
    network = _known("network", its.asked.network, names(GraphMethod.format))
    kind = graph_method(method)
    given = its.beside(kind.settings_of(kind.default_variant))
    return GraphRun(*its.cell, seed, its.epochs, its.asked.batch, network, method, given, eta=its.eta)


def _float_run(its: AskedCell, seed: int) -> FloatRun:
    given = its.beside(Fp32Settings(partition=0))
    return FloatRun(
        str(its.asked.data), FP32, its.asked.variant, seed, its.epochs, its.asked.batch, its.asked.network,
        PAPER_EPOCHS, eta=its.eta, given=given, tag=f"{its.column}-{its.row}",
    )  # fmt: skip


def _qzo_run(its: AskedCell, seed: int) -> QzoRun:
    systems = {network: pair for pair, network in NAMED.items()}
    backbone, system = systems[_known("network", its.asked.network, systems)]
    given = its.beside(QzoFfSettings())
    return QzoRun(*its.cell, seed, its.epochs, its.asked.batch, backbone, system, given=given, eta=its.eta)


def _fqt_run(its: AskedCell, seed: int) -> FqtRun:
    configuration = configuration_of(its.method.network.formats)
    assert configuration is not None  # the method was made
    given = its.beside(FqtSettings())
    return FqtRun(*its.cell, seed, its.epochs, its.asked.batch, its.asked.network, configuration, given, eta=its.eta)


def _quzo_run(its: AskedCell, seed: int) -> QuzoRun:
    given, by = its.beside(find_method(its.asked.method).kind()), its.asked.method
    return QuzoRun(*its.cell, seed, its.epochs, its.asked.batch, its.asked.network, by, given, eta=its.eta)


MAKERS: Mapping[str, Callable[[AskedCell, int], Run]] = {  # of methods whose runs are no GraphRun
    METHOD: _exponent_run,
    ElasticZoFp32.name: _float_run,
    QzoFf.name: _qzo_run,
    Fqt.name: _fqt_run,
    Quzo.name: _quzo_run,
    PerturbedScales.name: _quzo_run,
}


def _known(what: str, name: str, known: Any) -> str:
    if name not in known:
        raise RigError(f"there is no {what} {name!r}: {close_matches(name, known)}")
    return name


def _check_length(run: Run) -> None:
    images = len(load(run.data).train_images)
    if run.batch > images:
        held = f"the {images} training images of {run.data}"
        raise RigError(f"a batch of {run.batch} is larger than {held}: choose a smaller batch.")
    run.check_steps(run.per_epoch(images) * run.epochs)

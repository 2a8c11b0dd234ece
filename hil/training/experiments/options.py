"""Options of `hil experiment` that apply to one paper, and the table that they select."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from hil.arguments import positive_count
from hil.errors import RigError, close_matches
from hil.number_text import number
from hil.training.data.corruption.by_name import CORRUPTIONS
from hil.training.data.store import PARTS, data_folder, file_name, image_sets, known_sets
from hil.training.experiments.elasticzo_fp32_tables import CLOUDS, FP32
from hil.training.experiments.elasticzo_fp32_tables import PAPER_BATCH as FP32_BATCH
from hil.training.experiments.elasticzo_tables import ELASTIC_TABLES, PAPER_BATCH, ElasticzoRequest
from hil.training.experiments.exponents import LOSS
from hil.training.experiments.fqt_cost_figures import FIGURES
from hil.training.experiments.fqt_tables import FQT_DATA, FQT_TABLES, FqtRequest
from hil.training.experiments.pmt_runs import RATES, PmtRequest
from hil.training.experiments.pmt_tables import PMT_TABLES
from hil.training.experiments.pmt_transfer import NEW_CLASSES, PUBLISHED, default_pair, transfer_request
from hil.training.experiments.qzo_builder import QzoRequest
from hil.training.experiments.qzo_tables import QZO_TABLES
from hil.training.experiments.spec_file import read_spec
from hil.training.experiments.table import Table
from hil.training.graph.graph import Format
from hil.training.networks import NETWORKS, find_network, names
from hil.training.networks.published_heads import NEW_HEADS

WITH_FP32 = ("elasticzo-table1", "elasticzo-table2")
SEEDS, PAPER_SEEDS = 3, 5  # defaults; the second is of FQT, whose paper has five runs
TASKS = ("pmt-table10", "pmt-table11")  # a new task of a network
BOTH = ("pmt-figure10", "pmt-figure11")  # corruptions, or a new task of a network whose head is drawn
TASK_EPOCHS = {"pmt-table11": 20}  # of the paper, where they are not 50
OWNERS: Mapping[str, tuple[str, ...]] = {  # the experiments that have an option of add_paper_options
    "data": ("elasticzo-*", "qzo-few-shot", "qzo-ablation", "fqt-*", *TASKS, *BOTH),
    "columns": ("elasticzo-*",),
    "network": ("pmt-*", "qzo-*"),
    "corruptions": ("pmt-*", "qzo-ood"),
    "images": ("pmt-*", "qzo-ood", "qzo-ablation", "fqt-*"),
    "queries": ("pmt-*",),
    "tasks": ("qzo-few-shot",),
    "rates": (*WITH_FP32, "pmt-*", "qzo-*", "fqt-*"),
    "search_epochs": ("pmt-figure7", *BOTH, "pmt-table7", *TASKS),
    "steps": tuple(FIGURES),
}
TRAINING = (
    "spec",
    "epochs",
    "batch",
    "seeds",
    "resume",
    "certify_only",
    "scheduler",
)  # options of experiments that train


def add_paper_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only some experiments have."""
    add = parser.add_argument_group("options of some experiments").add_argument
    networks = [name for name in names(Format.TFLITE8) if NETWORKS[name].committed or NETWORKS[name].any_classes]
    networks += [name for name in NEW_HEADS if name not in networks]  # if their files are missing, it says where from
    rates = ",".join(f"{rate:g}" for rate in RATES)
    data = "data set; default: those that are there, qzo-* mnist; pmt-*: also yours, by path"
    add("--data", metavar="NAME", help=_of("data", data))
    columns = f"columns; default: {','.join(LOSS)}, for {' and '.join(WITH_FP32)} also {FP32}"
    add("--columns", metavar="LIST", help=_of("columns", columns))
    network = f"pre-trained network; default: pmt-* resnet-tiny, new tasks {PUBLISHED}, qzo-* lenet5-tflite"
    add("--network", choices=networks, help=_of("network", network))
    add("--corruptions", metavar="LIST", help=_of("corruptions", "corruptions; default: the table's"))
    add("--images", type=positive_count, metavar="N", help=_of("images", "training images; default: 1000, fqt-* 2000"))
    add("--queries", type=positive_count, metavar="Q", help=_of("queries", "for each layer; default: 100"))
    add("--tasks", type=positive_count, metavar="T", help=_of("tasks", "few-shot tasks for each seed; default: 20"))
    add("--steps", type=positive_count, metavar="N", help=_of("steps", "steps for latency and energy; default: 1000"))
    searched = f"learning rates to choose from; default of pmt-*: {rates}"
    add("--rates", metavar="LIST", help=_of("rates", searched))
    searching = "epochs of the runs that search a rate; default: --epochs"
    add("--search-epochs", type=positive_count, metavar="E", help=_of("search_epochs", searching))


def _said(option: str) -> str:
    return option.replace("_", "-")


def _of(option: str, text: str) -> str:
    return f"{text} ({', '.join(OWNERS[option])})"


def selected_table(options: argparse.Namespace) -> Table:
    """Return the table that the options select.

    Raises:
        RigError: an option of other experiments, an unknown name, or no data.
    """
    name = options.experiment
    if (name is None) == (options.spec is None):
        raise RigError("hil experiment needs either a name or --spec FILE: give one of them.")
    given = [option for option in OWNERS if getattr(options, option) is not None]
    if name is None:
        if given:
            raise RigError(f"--{_said(given[0])} cannot be combined with --spec: write it in the file.")
        return read_spec(options.spec, options.seeds or SEEDS, options.epochs, options.batch)
    for option in given:
        if not any(fnmatchcase(name, owner) for owner in OWNERS[option]):
            owners = ", ".join(OWNERS[option])
            raise RigError(f"--{_said(option)} is an option of {owners}, not of {name}: leave it out.")
    if options.data is not None and name not in (*TASKS, *BOTH):
        _check_set(options.data)
    if options.seeds is None:
        options.seeds = PAPER_SEEDS if name in FQT_TABLES else SEEDS
    if name in ELASTIC_TABLES:
        make, epochs = ELASTIC_TABLES[name]
        return make(_elastic(options, epochs))
    if name in PMT_TABLES:
        return PMT_TABLES[name](_pmt(options))
    if name in FQT_TABLES:
        return FQT_TABLES[name](FqtRequest(**_given(options, ("data", "seeds", "epochs", "batch", "images"))))
    return QZO_TABLES[name](_qzo(options))


def _check_set(name: str) -> None:
    """Raise RigError for a data set that no experiment has."""
    sets = tuple(dict.fromkeys((*known_sets(), *FQT_DATA)))
    if name not in sets:
        raise RigError(f"--data names {name!r}: {close_matches(name, sets)}")


def refuse_for_costs(options: argparse.Namespace, own: Sequence[str] = ()) -> None:
    """Raise RigError for an option of experiments that train, but those in `own`: this one does not."""
    name = options.experiment
    for option in (*OWNERS, *TRAINING):
        if getattr(options, option) and option not in own:
            raise RigError(f"--{_said(option)} is no option of {name}, which trains nothing: leave it out.")


def _elastic(options: argparse.Namespace, epochs: int) -> ElasticzoRequest:
    known = (FP32, *LOSS) if options.experiment in WITH_FP32 else tuple(LOSS)
    columns = _names("columns", options.columns, known) if options.columns else known
    if options.rates is not None and FP32 not in columns:
        raise RigError(f"--rates is of the column {FP32}, which --columns leaves out: leave it out too.")
    clouds = options.experiment == "elasticzo-table1" and FP32 in columns
    if not clouds:
        _refuse_clouds(options)
    return ElasticzoRequest(
        _data(options.data, (*image_sets(), CLOUDS) if clouds else tuple(image_sets())), columns, options.seeds,
        options.epochs or epochs, options.batch or PAPER_BATCH,
        fp32_batch=options.batch or FP32_BATCH, rates=() if options.rates is None else _rates(options.rates),
    )  # fmt: skip


def _refuse_clouds(options: argparse.Namespace) -> None:
    if options.data == CLOUDS:
        raise RigError(
            f"--data names {CLOUDS}, which only the column fp32 of elasticzo-table1 trains on: choose images."
        )


def _pmt(options: argparse.Namespace) -> PmtRequest:
    name, network = options.experiment, options.network
    given = _given(options, ("network", "seeds", "epochs", "batch", "images", "queries", "search_epochs"))
    drawn = network is not None and find_network(network).any_classes
    if name not in TASKS and (name not in BOTH or not (drawn or options.data)):
        return PmtRequest(**given)
    if options.corruptions is not None:
        raise RigError(f"--corruptions is given for {name} on a new task, which has none: leave it out.")
    epochs = TASK_EPOCHS.get(name, PmtRequest.paper_epochs)
    data = options.data or (default_pair() if name == "pmt-table11" else NEW_CLASSES)
    return transfer_request(data=data, **{"network": None, "epochs": epochs, "paper_epochs": epochs, **given})


def _qzo(options: argparse.Namespace) -> QzoRequest:
    if options.experiment == "qzo-few-shot" and options.batch is not None:
        raise RigError("--batch is given for qzo-few-shot, whose steps have all 25 support images: leave it out.")
    _refuse_clouds(options)
    return QzoRequest(**_given(options, ("data", "network", "seeds", "epochs", "batch", "images", "tasks")))


def _given(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options of these names that are given, with corruptions and rates."""
    given: dict[str, Any] = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.corruptions is not None:
        given["corruptions"] = _names("corruptions", options.corruptions, CORRUPTIONS)
    if options.rates is not None:
        given["rates"] = _rates(options.rates)
    return given


def _names(option: str, text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names in a comma-separated list, each once."""
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known:
            raise RigError(f"--{option} names {name!r}: {close_matches(name, known)}")
    return names


def _rates(text: str) -> tuple[float, ...]:
    try:
        rates = tuple(sorted({number(word) for word in text.split(",")}))
    except ValueError:
        rates = ()
    if not rates or not all(0 < rate <= 1 for rate in rates):
        raise RigError(f"--rates is {text!r}: give numbers above 0 and up to 1, separated by commas.")
    return rates


def _data(name: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the requested data set, or the known ones that are fetched."""
    if name is not None:
        return (name,)
    files = {one: [data_folder() / one / file_name(part) for part in PARTS] for one in known}
    found = tuple(one for one, its in files.items() if all(file.is_file() for file in its))
    if not found:
        commands = " or ".join(f"hil data fetch {one}" for one in image_sets())
        raise RigError(f"no data set is available: run `{commands}` first.")
    return found

"""Options of `hil experiment` that apply to one paper, and the table that they select."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from hil.arguments import positive_count
from hil.errors import RigError, close_matches
from hil.number_text import number
from hil.training.data.corruption.by_name import CORRUPTIONS
from hil.training.data.store import PARTS, data_folder, file_name, image_sets, known_sets
from hil.training.experiments.adaptation import PUBLISHED
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.elasticzo import CLOUDS, FP32
from hil.training.experiments.elasticzo import TABLES as WITH_FP32
from hil.training.experiments.exponents import LOSS
from hil.training.experiments.fqt import data_sets
from hil.training.experiments.fqt_costs import FIGURES
from hil.training.experiments.paper import paper
from hil.training.experiments.pmt import BOTH, TASKS
from hil.training.experiments.spec_file import read_spec
from hil.training.experiments.table import PaperTable
from hil.training.experiments.tables import TABLES
from hil.training.graph.formats import Format
from hil.training.networks import NETWORKS, names
from hil.training.networks.published_heads import NEW_HEADS

SEEDS = 3  # default of an experiment of the user's own
READINGS = tuple(name for name, one in paper("fqt").experiments.items() if one.columns)
OWNERS: Mapping[str, tuple[str, ...]] = {  # the experiments that have an option of add_paper_options
    "data": ("elasticzo-*", "qzo-few-shot", "qzo-ablation", "fqt-*", *TASKS, *BOTH),
    "columns": ("elasticzo-*", *READINGS),
    "network": ("pmt-*", "qzo-*", "quzo-*"),
    "corruptions": ("pmt-*", "qzo-ood", "quzo-*"),
    "images": ("pmt-*", "qzo-ood", "qzo-ablation", "quzo-*", "fqt-*"),
    "queries": ("pmt-*",),
    "tasks": ("qzo-few-shot",),
    "rates": (*WITH_FP32, "pmt-*", "qzo-*", "quzo-*", "fqt-*"),
    "search_epochs": ("pmt-figure7", *BOTH, "pmt-table7", *TASKS),
    "steps": tuple(FIGURES),
}
TRAINING = ("spec", "epochs", "batch", "seeds", "resume", "certify_only", "scheduler")  # options of what trains
NUMBERS = ("seeds", "epochs", "batch", "images", "queries", "tasks", "search_epochs")  # options of a request


def add_paper_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only some experiments have."""
    add = parser.add_argument_group("options of some experiments").add_argument
    networks = [name for name in names(Format.TFLITE8) if NETWORKS[name].committed or NETWORKS[name].any_classes]
    networks += [name for name in NEW_HEADS if name not in networks]  # if their files are missing, it says where from
    rates = ",".join(f"{rate:g}" for rate in paper("pmt").experiments["pmt-table4"].defaults["rates"])
    data = "data set; default: those that are there, qzo-* mnist; pmt-*: also yours, by path"
    add("--data", metavar="NAME", help=_of("data", data))
    columns = f"columns; default: {','.join(LOSS)}, for {' and '.join(WITH_FP32)} also {FP32}; fqt-*: all readings"
    add("--columns", metavar="LIST", help=_of("columns", columns))
    network = f"pre-trained network; default: pmt-* resnet-tiny, new tasks {PUBLISHED}, else lenet5-tflite"
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


def selected_table(options: argparse.Namespace) -> PaperTable:
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
    return TABLES[name](_request(options))


def _check_set(name: str) -> None:
    """Raise RigError for a data set that no experiment has."""
    sets = tuple(dict.fromkeys((*known_sets(), *data_sets())))
    if name not in sets:
        raise RigError(f"--data names {name!r}: {close_matches(name, sets)}")


def refuse_for_costs(options: argparse.Namespace, own: Sequence[str] = ()) -> None:
    """Raise RigError for an option of experiments that train, but those in `own`: this one does not."""
    name = options.experiment
    for option in (*OWNERS, *TRAINING):
        if getattr(options, option) and option not in own:
            raise RigError(f"--{_said(option)} is no option of {name}, which trains nothing: leave it out.")


def _request(options: argparse.Namespace) -> ExperimentRequest:
    """Return what the options request.

    Raises:
        RigError: options that exclude each other, an unknown name, or no data.
    """
    name = options.experiment
    given: dict[str, Any] = {one: getattr(options, one) or 0 for one in NUMBERS}
    request = ExperimentRequest(
        network=options.network or "", data=() if options.data is None else (options.data,),
        corruptions=_names("corruptions", options.corruptions, CORRUPTIONS) if options.corruptions is not None else (),
        rates=() if options.rates is None else _rates(options.rates), **given,
    )  # fmt: skip
    if name == "qzo-few-shot" and options.batch is not None:
        raise RigError("--batch is given for qzo-few-shot, whose steps have all 25 support images: leave it out.")
    known = _columns_of(name)
    columns = _names("columns", options.columns, known) if options.columns else known
    if options.rates is not None and name in WITH_FP32 and FP32 not in columns:
        raise RigError(f"--rates is of the column {FP32}, which --columns leaves out: leave it out too.")
    clouds = name == "elasticzo-table1" and FP32 in columns
    if options.data == CLOUDS and name.startswith(("elasticzo-", "qzo-")) and not clouds:
        only = f"only the column {FP32} of elasticzo-table1 trains on"
        raise RigError(f"--data names {CLOUDS}, which {only}: choose images.")
    request = replace(request, columns=columns)
    if not name.startswith("elasticzo-"):
        return request
    return replace(request, data=_data(options.data, (*image_sets(), *([CLOUDS] if clouds else []))))


def _columns_of(name: str) -> tuple[str, ...]:
    """Return the columns from which --columns chooses; none for an experiment without the option."""
    if name in READINGS:
        return tuple(column.kind for column in paper("fqt").experiments[name].columns)
    if not name.startswith("elasticzo-"):
        return ()
    return (FP32, *LOSS) if name in WITH_FP32 else tuple(LOSS)


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

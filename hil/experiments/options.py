"""Options of `hil experiment` that apply to one paper, and the table that they select."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from hil.arguments import positive_count
from hil.data.corruption.by_name import CORRUPTIONS
from hil.data.store import PARTS, data_folder, file_name, known_sets
from hil.errors import RigError, close_matches
from hil.experiments.elasticzo_tables import ELASTIC_TABLES, PAPER_BATCH, ElasticzoRequest
from hil.experiments.exponents import LOSS
from hil.experiments.pmt_runs import RATES, PmtRequest
from hil.experiments.pmt_tables import PMT_TABLES
from hil.experiments.qzo_builder import QzoRequest
from hil.experiments.qzo_tables import QZO_TABLES
from hil.experiments.spec_file import read_spec
from hil.experiments.table import Table
from hil.networks import NETWORKS

OWN_OPTIONS = {  # options of the experiments whose names begin so
    "elasticzo-": ("data", "columns"),
    "pmt-": ("network", "corruptions", "images", "queries", "rates"),
    "qzo-few-shot": ("data", "network", "rates", "tasks"),
    "qzo-ood": ("network", "corruptions", "images", "rates"),
    "qzo-ablation": ("data", "network", "images", "rates"),
}
ALL_OPTIONS = tuple(dict.fromkeys(option for its in OWN_OPTIONS.values() for option in its))


def add_paper_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that apply to the experiments of one paper."""
    elastic = parser.add_argument_group("elasticzo-*, qzo-*")
    default = "data set (default: elasticzo-* those that are fetched, qzo-* mnist)"
    elastic.add_argument("--data", choices=known_sets(), help=default)
    elastic.add_argument("--columns", metavar="LIST", help=f"columns (default: {','.join(LOSS)})")
    pmt = parser.add_argument_group("pmt-*, qzo-*")
    committed = [name for name, known in NETWORKS.items() if known.committed and not known.converted]
    default = "pre-trained network (default: pmt-* resnet-tiny, qzo-* lenet5-tflite)"
    pmt.add_argument("--network", choices=committed, help=default)
    pmt.add_argument("--corruptions", metavar="LIST", help="corruptions (default: the table's)")
    pmt.add_argument("--images", type=positive_count, metavar="N", help="training images (default: 1000)")
    pmt.add_argument("--queries", type=positive_count, metavar="Q", help="for each layer (default: 100)")
    pmt.add_argument("--tasks", type=positive_count, metavar="T", help="few-shot tasks for each seed (default: 20)")
    rates = ",".join(f"{rate:g}" for rate in RATES)
    pmt.add_argument("--rates", metavar="LIST", help=f"learning rates to choose from (default: pmt-* {rates})")


def selected_table(options: argparse.Namespace) -> Table:
    """Return the table that the options select.

    Raises:
        RigError: an option of the other paper, an unknown name, or no data.
    """
    name = options.experiment
    if (name is None) == (options.spec is None):
        raise RigError("hil experiment needs either a name or --spec FILE: give one of them.")
    if name is None:
        for option in ALL_OPTIONS:
            if getattr(options, option) is not None:
                raise RigError(f"--{option} cannot be combined with --spec: write it in the file.")
        return read_spec(options.spec, options.seeds, options.epochs, options.batch)
    mine = next(its for start, its in OWN_OPTIONS.items() if name.startswith(start))
    for option in ALL_OPTIONS:
        if getattr(options, option) is not None and option not in mine:
            owners = [f"{start}*" if start.endswith("-") else start for start, o in OWN_OPTIONS.items() if option in o]
            raise RigError(f"--{option} is an option of {', '.join(owners)}, not of {name}: leave it out.")
    if name in ELASTIC_TABLES:
        make, epochs = ELASTIC_TABLES[name]
        return make(_elastic(options, epochs))
    if name in PMT_TABLES:
        return PMT_TABLES[name](_pmt(options))
    if name == "qzo-few-shot" and options.batch is not None:
        raise RigError("--batch is given for qzo-few-shot, whose steps have all 25 support images: leave it out.")
    return QZO_TABLES[name](
        QzoRequest(**_given(options, ("data", "network", "seeds", "epochs", "batch", "images", "tasks")))
    )


def _elastic(options: argparse.Namespace, epochs: int) -> ElasticzoRequest:
    columns = _names("columns", options.columns, LOSS) if options.columns else tuple(LOSS)
    return ElasticzoRequest(
        _data(options.data), columns, options.seeds, options.epochs or epochs, options.batch or PAPER_BATCH
    )


def _pmt(options: argparse.Namespace) -> PmtRequest:
    return PmtRequest(**_given(options, ("network", "seeds", "epochs", "batch", "images", "queries")))


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
        rates = tuple(sorted({float(word) for word in text.split(",")}))
    except ValueError:
        rates = ()
    if not rates or not all(0 < rate <= 1 for rate in rates):
        raise RigError(f"--rates is {text!r}: give numbers above 0 and up to 1, separated by commas.")
    return rates


def _data(name: str | None) -> tuple[str, ...]:
    if name is not None:
        return (name,)
    files = {one: [data_folder() / one / file_name(part) for part in PARTS] for one in known_sets()}
    found = tuple(one for one, its in files.items() if all(file.is_file() for file in its))
    if not found:
        commands = " or ".join(f"hil data fetch {one}" for one in known_sets())
        raise RigError(f"no data set is available: run `{commands}` first.")
    return found

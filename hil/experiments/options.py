"""Options of `hil experiment` that apply to one paper, and the table that they select."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from hil.arguments import positive_count
from hil.data.corruption.by_name import CORRUPTIONS
from hil.data.store import PARTS, data_folder, file_name, image_sets, known_sets
from hil.errors import RigError, close_matches
from hil.experiments.elasticzo_fp32_tables import CLOUDS, FP32
from hil.experiments.elasticzo_fp32_tables import PAPER_BATCH as FP32_BATCH
from hil.experiments.elasticzo_tables import ELASTIC_TABLES, PAPER_BATCH, ElasticzoRequest
from hil.experiments.exponents import LOSS
from hil.experiments.pmt_runs import RATES, PmtRequest
from hil.experiments.pmt_tables import PMT_TABLES
from hil.experiments.spec_file import read_spec
from hil.experiments.table import Table
from hil.networks import NETWORKS

ELASTIC, OF_PMT = ("data", "columns"), ("network", "corruptions", "images", "queries")
BOTH = ("rates",)
WITH_FP32 = ("elasticzo-table1", "elasticzo-table2")


def add_paper_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that apply to the experiments of one paper."""
    elastic = parser.add_argument_group("elasticzo-*")
    elastic.add_argument("--data", choices=known_sets(), help="data set (default: those that are fetched)")
    elastic.add_argument("--columns", metavar="LIST", help=f"columns (default: {','.join(LOSS)}; tables also fp32)")
    pmt = parser.add_argument_group("pmt-*")
    committed = [name for name, known in NETWORKS.items() if known.committed]
    pmt.add_argument("--network", choices=committed, help="pre-trained network (default: resnet-tiny)")
    pmt.add_argument("--corruptions", metavar="LIST", help="corruptions of severity 5 (default: the table's)")
    pmt.add_argument("--images", type=positive_count, metavar="N", help="training images (default: 1000)")
    pmt.add_argument("--queries", type=positive_count, metavar="Q", help="for each layer (default: 100)")
    rates = ",".join(f"{rate:g}" for rate in RATES)
    of_both = parser.add_argument_group("pmt-* and column fp32 of elasticzo-table1 and -table2")
    of_both.add_argument("--rates", metavar="LIST", help=f"learning rates to choose from (default: pmt-* {rates})")


def selected_table(options: argparse.Namespace) -> Table:
    """Return the table that the options select.

    Raises:
        RigError: an option of the other paper, an unknown name, or no data.
    """
    name = options.experiment
    if (name is None) == (options.spec is None):
        raise RigError("hil experiment needs either a name or --spec FILE: give one of them.")
    if name is None:
        for option in (*ELASTIC, *OF_PMT, *BOTH):
            if getattr(options, option) is not None:
                raise RigError(f"--{option} cannot be combined with --spec: write it in the file.")
        return read_spec(options.spec, options.seeds, options.epochs, options.batch)
    others, owner = (OF_PMT, "pmt-*") if name in ELASTIC_TABLES else (ELASTIC, "elasticzo-*")
    for option in others:
        if getattr(options, option) is not None:
            raise RigError(f"--{option} is an option of {owner}, not of {name}: leave it out.")
    if name in ELASTIC_TABLES:
        make, epochs = ELASTIC_TABLES[name]
        return make(_elastic(options, epochs, name in WITH_FP32))
    return PMT_TABLES[name](_pmt(options))


def refuse_for_costs(options: argparse.Namespace) -> None:
    """Raise RigError for an option that elasticzo-costs does not have: it trains nothing."""
    for option in (*ELASTIC, *OF_PMT, *BOTH, "spec", "epochs", "batch"):
        if getattr(options, option) is not None:
            raise RigError(f"--{option} is no option of elasticzo-costs, which trains nothing: leave it out.")
    for option in ("resume", "certify_only"):
        if getattr(options, option):
            raise RigError(f"--{option.replace('_', '-')} is no option of elasticzo-costs: leave it out.")


def _elastic(options: argparse.Namespace, epochs: int, with_fp32: bool) -> ElasticzoRequest:
    known = (FP32, *LOSS) if with_fp32 else tuple(LOSS)
    columns = _names("columns", options.columns, known) if options.columns else known
    if options.rates is not None and FP32 not in columns:
        raise RigError("--rates is of the column fp32 of elasticzo-table1 and -table2, and of pmt-*: leave it out.")
    clouds = options.experiment == "elasticzo-table1" and FP32 in columns
    if options.data == CLOUDS and not clouds:
        raise RigError(
            f"--data names {CLOUDS}, which only the column fp32 of elasticzo-table1 trains on: choose images."
        )
    return ElasticzoRequest(
        _data(options.data, (*image_sets(), CLOUDS) if clouds else tuple(image_sets())), columns, options.seeds,
        options.epochs or epochs, options.batch or PAPER_BATCH,
        fp32_batch=options.batch or FP32_BATCH, rates=() if options.rates is None else _rates(options.rates),
    )  # fmt: skip


def _pmt(options: argparse.Namespace) -> PmtRequest:
    given: dict[str, Any] = {
        name: getattr(options, name)
        for name in ("network", "seeds", "epochs", "batch", "images", "queries")
        if getattr(options, name) is not None
    }
    if options.corruptions is not None:
        given["corruptions"] = _names("corruptions", options.corruptions, CORRUPTIONS)
    if options.rates is not None:
        given["rates"] = _rates(options.rates)
    return PmtRequest(**given)


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

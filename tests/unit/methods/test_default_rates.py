"""The defaults by format in methods.toml: searched, inside their grids, learning, and the same wherever a setting is left open."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.experiments.curve import held_out, read_curve, write_run
from hil.training.experiments.rate_search import FEWEST_IMAGES, above, below
from hil.training.experiments.spec_file import read_spec
from hil.training.experiments.train import Training
from hil.training.experiments.trial_runs import TrialRun
from hil.training.experiments.tune import _parser, searches_of
from hil.training.methods import METHODS
from hil.training.methods.default_rates import MeasuredRate, format_of, measured, row_of, rows
from hil.training.networks import KNOWN, build
from hil.training.trial.choose import method_on_network
from hil.trial import TrialSpec
from tools.keep_rates import PAGE, with_table

RATED = [name for name, kind in METHODS.house().items() if "eta" in kind.kind.table]
SEARCHES = [
    pytest.param(one, id="-".join((one.method, one.variant, one.network, *map(str, one.settings))))
    for one in measured()
]
CLASSES = 10  # of all sets that are searched
each_search = pytest.mark.parametrize("one", SEARCHES)
BUNDLED = [
    "lenet5-tflite", "resnet-tiny", "lenet5-float32", "lenet5-w16a8", "lenet5-8w8a", "fqt-cnn-uint8", "fqt-cnn-mixed",
    "fqt-cnn-float32", "mbednet-uint8",
]  # fmt: skip


def cells() -> Iterator[tuple[str, str, str]]:
    """Yield each method with a rate in every variant, on a bundled network of every format."""
    for method in RATED:
        for network in BUNDLED:
            for variant in METHODS[method].variants_on(KNOWN[network].formats):
                yield method, variant, network


def spec_of(method: str, variant: str, network: str, settings: dict[str, Any], **others: Any) -> TrialSpec:
    return TrialSpec("stm32h7b3", variant, network, method, evaluate=0, settings=settings, **others)


@pytest.mark.parametrize("cell", list(cells()), ids="-".join)
def test_every_method_has_a_default_on_every_format(cell: tuple[str, str, str]) -> None:
    method, variant, network = cell
    row = row_of(METHODS[method], variant, format_of(build(network, 1)))
    assert row is not None and row.settings["eta"] > 0


@pytest.mark.parametrize("method", list(METHODS.house()))
def test_every_row_applies_to_a_search_or_says_why_it_does_not_learn(method: str) -> None:
    searched = [one.row(METHODS[method]) for one in measured() if one.method == method]
    for row in rows(method):
        assert row.reason or any(row is one for one in searched), row.where
        for name, value in row.settings.items():
            METHODS[method].kind.table[name].check(value)


def learns(one: MeasuredRate) -> bool:
    """Whether a search gains more than a standard error, over its first weights and over drawing lots, also in loss."""
    gain = one.after - max(one.before, one.images / CLASSES)
    (loss,) = [loss for rate, _, loss, _ in one.rates if rate == one.chosen]
    return gain > math.sqrt(one.after * (one.images - one.after) / one.images) and loss < math.log(CLASSES)


@each_search
def test_a_default_was_chosen_inside_its_grid_and_learns(one: MeasuredRate) -> None:
    row = one.row(METHODS[one.method])
    assert row is not None and row.settings["eta"] == one.chosen
    assert all(row.settings[name] == one.settings.get(name, row.settings[name]) for name in row.settings)
    rates = [rate for rate, *_ in one.rates]
    assert one.seeds >= 3 and one.images >= FEWEST_IMAGES
    assert learns(one) is not bool(row.reason)
    assert one.inside and {below(one.chosen), one.chosen, above(one.chosen)} <= set(rates)
    assert {rate: right for rate, right, *_ in one.rates}[one.chosen] == one.after


@each_search
def test_the_command_of_a_search_begins_at_the_default(one: MeasuredRate) -> None:
    options = _parser().parse_args(one.command.split()[2:])
    (search,) = searches_of(options).values()
    assert search.rates == (below(one.chosen), one.chosen, above(one.chosen))
    base = search.base
    assert (base.method, base.variant, base.network, base.data) == (one.method, one.variant, one.network, one.data)
    assert (base.row_steps, base.batch, search.seeds) == (one.steps, one.batch, one.seeds)
    row = one.row(METHODS[one.method])
    assert row is not None and dict(base.given) == {
        name: value for name, value in one.settings.items() if row.settings.get(name) != value
    }


@each_search
def test_a_trial_a_table_and_a_search_take_the_same(one: MeasuredRate, tmp_path: Path) -> None:
    """And a setting that is given stays as it is."""
    chosen = method_on_network(spec_of(one.method, one.variant, one.network, dict(one.settings))).settings
    assert chosen.eta == one.chosen
    given = method_on_network(spec_of(one.method, one.variant, one.network, {**one.settings, "eta": 0.0625})).settings
    assert given.eta == 0.0625
    run = TrialRun(one.data, "tune", one.variant, 1, 1, 8, one.network, one.method, 1, tuple(one.settings.items()))
    assert run.on_network().settings == chosen
    words = ", ".join(f"{name} = {value!r}" for name, value in one.settings.items())
    path = tmp_path / "one.toml"
    path.write_text(
        f'name = "one"\ntitle = "One"\nbatch = 8\nmethod = "{one.method}"\nnetwork = "{one.network}"\n'
        f'variant = "{one.variant}"\nsettings = {{ {words} }}\n[[row]]\nname = "row"\n[[column]]\nname = "column"\n',
        encoding="utf-8",
    )
    of_table = read_spec(path, 1, None, None).runs[0].settings(0, ())
    assert all(getattr(of_table, name) == getattr(chosen, name) for name in ("eta", "epsilon") if hasattr(chosen, name))


def test_the_page_has_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_table(text) == text, "run: python tools/keep_rates.py"


def test_a_wrong_setting_that_decides_is_refused_as_any_other() -> None:
    with pytest.raises(RigError, match="setting qas is 'no': choose a whole number in 0..1"):
        method_on_network(spec_of("int8-bp", "qas", "lenet5-tflite", {"qas": "no"}))
    with pytest.raises(RigError, match="has no variant 'plian'"):
        method_on_network(spec_of("int8-bp", "plian", "lenet5-tflite", {}))


def test_the_settings_decide_and_not_the_name_of_the_variant() -> None:
    named = method_on_network(spec_of("int8-bp", "plain", "lenet5-tflite", {})).settings
    asked = method_on_network(spec_of("int8-bp", "qas", "lenet5-tflite", {"qas": 0})).settings
    assert (
        named == asked and named.eta != method_on_network(spec_of("int8-bp", "qas", "lenet5-tflite", {})).settings.eta
    )


def right(one: MeasuredRate, folder: Path, seed: int) -> tuple[int, int]:
    """Return the right held-out images before training with the defaults of a trial, and after it."""
    run = TrialRun(
        one.data, "tune", one.variant, seed, 1, one.batch, one.network, one.method, one.steps,
        tuple(one.settings.items()),
    )  # fmt: skip
    (folder / run.name).mkdir(parents=True)
    write_run(folder / run.name, run, load(run.data).sha256)
    list(Training(folder / run.name).epochs())
    first, *_, last = read_curve(folder / run.name)
    return held_out(first, run.name)[0], held_out(last, run.name)[0]


@pytest.mark.tier("nightly")
@each_search
def test_every_default_learns_what_is_recorded(one: MeasuredRate, tmp_path: Path) -> None:
    """Counts are exact, so that a change of the arithmetic or of a default shows."""
    counts = [right(one, tmp_path, seed) for seed in range(1, one.seeds + 1)]
    assert sum(before for before, _ in counts) == one.before
    assert sum(after for _, after in counts) == one.after

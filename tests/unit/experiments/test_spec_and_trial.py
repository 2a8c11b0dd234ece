"""A file of --spec, a TrialSpec and a run of a table mean the same: the same settings, or the same refusal."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hil.errors import RigError
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.spec_file import read_spec
from hil.training.experiments.table import PaperTable
from hil.training.experiments.tables import TABLES
from hil.training.methods import METHODS, Method
from hil.training.methods.settings import OF_TRIAL, MethodSetting
from hil.training.trial.choose import check_weights, method_on_network
from hil.trial import TrialSpec

BOARD, BATCH, TRIES = "stm32h7b3", 20, 100
NETWORKS = {
    "elasticzo-int8": "lenet5", "elasticzo-fp32": "lenet5-float32", "qzo-ff": "lenet5-w16a8", "fqt": "fqt-cnn-uint8",
}  # fmt: skip
OTHER_FORMATS = [("qzo-ff", "full", "lenet5-8w8a"), ("quzo", "full", "lenet5-w16a8")]  # with defaults of their own
OF_VARIANT = {"mixed": "fqt-cnn-mixed", "float32": "fqt-cnn-float32"}
VARIANTS = [
    (name, variant, OF_VARIANT.get(variant, NETWORKS.get(name, "lenet5-tflite")))
    for name, kind in METHODS.house().items()
    for variant in kind.variants
] + OTHER_FORMATS


def drawn(setting: MethodSetting, rng: random.Random) -> Any:
    """Return another value than the default that can be chosen."""
    for _ in range(TRIES):
        if setting.words:
            value: Any = rng.choice(setting.words)
        elif setting.limits is not None:
            low, high = setting.limits
            value = rng.randint(low, min(high, low + 300))
        else:
            value = (setting.default or 0.25) * rng.choice((0.5, 0.75, 2.0, 3.0))
        try:
            setting.check(value)
        except RigError:
            continue
        if value != setting.default:
            return value
    raise AssertionError(f"no other value of {setting.name}")


def changes(kind: type[Method], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield no setting, then each one alone."""
    yield {}
    for name, setting in kind.kind.table.items():
        if name not in OF_TRIAL:
            yield {name: drawn(setting, rng)}


def table(folder: Path, method: str, variant: str, network: str, settings: dict[str, Any]) -> PaperTable:
    """Return the table of a file with one cell."""
    words = ", ".join(f"{name} = {json.dumps(value)}" for name, value in settings.items())
    path = folder / "one.toml"
    path.write_text(
        f'name = "one"\ntitle = "One"\nepochs = 7\nbatch = {BATCH}\nmethod = "{method}"\nnetwork = "{network}"\n'
        f'[[row]]\nname = "row"\nvariant = "{variant}"\n[[column]]\nname = "column"\nsettings = {{ {words} }}\n',
        encoding="utf-8",
    )
    return read_spec(path, 2, None, None)


def acting(method: Method, settings: Any) -> dict[str, Any]:
    """Return all settings but those that do not act, as `wise` of a variant with a single layer."""
    return {name: value for name, value in vars(settings).items() if method.settings.unmet(name, method.facts) is None}


@pytest.mark.parametrize(("method", "variant", "network"), VARIANTS, ids=lambda word: word)
def test_a_cell_trains_with_the_settings_of_the_trial(tmp_path: Path, method: str, variant: str, network: str) -> None:
    for settings in changes(METHODS[method], random.Random(f"{method} {variant}")):
        spec = TrialSpec(BOARD, variant, network, method, batch=BATCH, seed=2, evaluate=0, settings=settings)
        try:
            asked = method_on_network(spec)
            check_weights(asked.request, asked.settings)
        except RigError as refused:
            with pytest.raises(RigError) as caught:
                table(tmp_path, method, variant, network, settings)
            assert str(refused) in str(caught.value)
            continue
        run = table(tmp_path, method, variant, network, settings).runs[1]
        repeated = method_on_network(run.trial(BOARD))
        assert acting(asked, run.settings(0, ())) == acting(asked, asked.settings), settings
        assert acting(asked, repeated.settings) == acting(asked, asked.settings), settings
        assert run.trial(BOARD).network == network


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("settings = { batch = 3 }", "settings has batch, which is a key of its own"),
        ("settings = { seed = 3 }", "settings has seed, which --seeds chooses"),
        ("eta = 0.1\nsettings = { eta = 0.2 }", "eta is given twice"),
    ],
)
def test_a_key_among_the_settings_is_refused(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "two.toml"
    path.write_text(
        f'name = "two"\ntitle = "Two"\nmethod = "int8-bp"\nnetwork = "lenet5-tflite"\n{line}\n'
        '[[row]]\nname = "row"\n[[column]]\nname = "column"\n',
        encoding="utf-8",
    )
    with pytest.raises(RigError, match=said):
        read_spec(path, 1, None, None)


@pytest.mark.parametrize("name", TABLES)
def test_a_run_of_a_table_has_the_settings_of_its_trial(name: str) -> None:
    """So no table gives a setting that has no effect, which a trial refuses."""
    of_elasticzo = {"data": ("fashion-mnist-1k",), "columns": ("int8", "int8star", "fp32"), "batch": 32}
    asked = ExperimentRequest(
        seeds=1, epochs=1, rates=(0.01,), **(of_elasticzo if name.startswith("elasticzo") else {})
    )
    try:
        runs = TABLES[name](asked).certified
    except RigError as missing:
        pytest.skip(str(missing))  # files of the user's own
    for run in {(run.variant, run.column): run for run in runs if run.on_board}.values():
        repeated = method_on_network(run.trial(BOARD))
        assert acting(repeated, run.settings(0, ())) == acting(repeated, repeated.settings), run.name

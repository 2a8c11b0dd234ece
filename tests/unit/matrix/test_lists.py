"""`hil methods` and `hil networks`: what they say of settings, variants and sizes is what a trial is held to."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache

import pytest

from hil.commands.main import main
from hil.errors import Blocked, RigError
from hil.training.commands.methods import METHOD_NAMES, NOT_CHOSEN, ListedMethod, methods
from hil.training.graph.node import WithBias
from hil.training.methods import METHODS
from hil.training.networks import build, names
from hil.trial import TrialSpec, does_not_fit

FIRST, SECOND = METHOD_NAMES[:2]  # one of each format
BOUNDED = [
    (name, field.name)
    for name in (FIRST, SECOND)
    for field in fields(METHODS[name].kind)
    if field.name not in NOT_CHOSEN
]
LARGE = "mps2-an500"


@cache
def listed(name: str) -> ListedMethod:
    """Return a method as the list has it: not at import, because every worker imports this file, and one runs it."""
    (method,) = methods([name])
    return method


def refuses(method: ListedMethod, **settings: object) -> bool:
    """Whether a trial with these settings is refused; one that does not fit is not."""
    network = method.variants[0].networks[0]
    try:
        does_not_fit(TrialSpec(LARGE, method.variants[0].name, network, method.name, batch=1, settings=settings))  # type: ignore[arg-type]
    except Blocked:
        return False
    except RigError as refused:
        return "where it has no effect" not in str(refused)
    return False


NEEDS = {"loss_fraction": {"loss": "integer"}}  # what a setting goes with, where its bounds are to be seen


@pytest.mark.parametrize(("name", "of"), BOUNDED)
def test_the_bounds_are_those_that_are_checked(name: str, of: str) -> None:
    method = listed(name)
    (setting,) = (each for each in method.settings if each.name == of)
    assert not refuses(method, **{setting.name: setting.default})
    if setting.least is not None and setting.most is not None:
        given = NEEDS.get(setting.name, {})
        assert not any(refuses(method, **given, **{setting.name: value}) for value in (setting.least, setting.most))
        assert all(refuses(method, **given, **{setting.name: value}) for value in (setting.least - 1, setting.most + 1))
    if setting.choices:
        assert setting.default in setting.choices and refuses(method, **{setting.name: "nothing-of-the-kind"})
    assert setting.values


def test_every_setting_of_a_method_is_listed() -> None:
    from hil.training.methods.elasticzo_settings import ElasticZoSettings
    from hil.training.methods.graph_settings import GraphSettings

    for name, kind in ((FIRST, ElasticZoSettings), (SECOND, GraphSettings)):
        settings = {setting.name for setting in listed(name).settings}
        assert settings == {field.name for field in fields(kind)} - {"batch", "seed", "partition", "method"}


def trains(spec: TrialSpec) -> bool:
    """Whether a trial neither lacks memory nor is refused."""
    try:
        return does_not_fit(spec) is None
    except RigError:
        return False


@pytest.mark.parametrize("name", METHOD_NAMES[1:])
def test_a_variant_trains_the_networks_that_it_names_and_no_others(name: str) -> None:
    method = listed(name)
    assert [variant.name for variant in method.variants] == list(METHODS[method.name].variants)
    for variant in method.variants:
        for network in names(METHODS[method.name].format):
            spec = TrialSpec(
                LARGE,
                variant.name,
                network,
                method.name,
                batch=1,
                settings=METHODS[method.name].cell.get("settings", {}),
            )
            assert trains(spec) == (network in variant.networks), (variant.name, network)


def test_the_list_of_networks_says_what_is_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["networks", "--json", "resnet-tiny"]) == 0
    (network,) = json.loads(capsys.readouterr().out)
    graph = build("resnet-tiny", 7)
    assert network["weights"] == sum(own.weights.size for own in graph.own.values())
    assert network["biases"] == sum(own.bias.size for own in graph.own_of(WithBias).values())
    assert (network["macs"], tuple(network["input"])) == (graph.macs, graph.in_shape)
    assert all(0 <= fits <= network["variants"] for fits in network["fits"].values())


def test_both_lists_are_for_people_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "int8-bp"]) == 0 and main(["networks", "lenet5"]) == 0
    said = capsys.readouterr().out
    assert "qas" in said and "momentum" in said and "28x28x1" in said and "variants fit" in said

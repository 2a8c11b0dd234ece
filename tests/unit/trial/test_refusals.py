"""A wrong request is refused in one sentence that names field, value and what is allowed; what is allowed is prepared."""

from __future__ import annotations

import io
import math
import os
import zipfile
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.networks import build
from hil.training.trial.lockstep_outcome import PHASES, LockStepOutcome, StepRow
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import prepare
from hil.trial import EnergyWindows, LatencySteps, Selection, TrialSpec

GOOD = TrialSpec("stm32h7b3", "cls1", evaluate=0)
GRAPH = TrialSpec("stm32h7b3", "adaptive", "resnet-tiny", "poor-mans-training", batch=1, evaluate=0)
KINDS = {
    TrialSpec: {"board": "stm32h7b3", "variant": "cls1", "evaluate": 0},
    EnergyWindows: {},
    LatencySteps: {},
    Selection: {},
}
WHOLE = {
    TrialSpec: ("batch", "seed", "steps", "evaluate", "evaluate_every", "probe_every", "slots", "first_step"),
    EnergyWindows: ("windows", "steps", "idle_ms"), LatencySteps: ("steps",), Selection: ("steps", "held_out"),
}  # fmt: skip
FROM_0 = ("seed", "evaluate", "evaluate_every", "first_step", "idle_ms")
EVERY_WHOLE = [(kind, name) for kind, names in WHOLE.items() for name in names]


def test_every_whole_number_of_a_trial_is_looked_at():
    for kind, names in WHOLE.items():
        assert {each.name for each in fields(kind) if each.type in ("int", "int | None")} == set(names)


def assert_one_sentence(error, *words):
    text = str(error.value)
    assert "\n" not in text and text.endswith((".", "?")), text
    for word in words:
        assert word in text, text


@pytest.mark.parametrize(("kind", "name"), EVERY_WHOLE, ids=lambda each: getattr(each, "__name__", each))
@settings(deadline=None)
@given(value=st.one_of(
    st.integers(max_value=-1), st.integers(min_value=2**32), st.booleans(), st.floats(), st.text(max_size=5), st.just([1]), st.just(np.int64(5)),
    st.complex_numbers(), st.binary(max_size=3), st.just(0),
))  # fmt: skip
def test_a_number_of_another_type_or_range_is_refused(kind, name, value):
    if value == 0 and type(value) is int and name in FROM_0:
        return  # none, or the first
    with pytest.raises(RigError) as error:
        kind(**(KINDS[kind] | {name: value}))
    assert_one_sentence(error, kind.__name__, f"{name} is {value!r}", "choose")


@pytest.mark.parametrize("name", ["uncertainty", "accuracy"])
@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, math.nan, math.inf, True, "1%", [0.1]])
def test_a_share_lies_between_0_and_1(name, value):
    with pytest.raises(RigError) as error:
        EnergyWindows(**{name: value})
    assert_one_sentence(error, f"{name} is {value!r}", "above 0 and below 1")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 0}, ("steps is 0", "1..4,294,967,295")),
        ({"steps": -1}, ("steps is -1",)),
        ({"steps": 2**32 - 1, "first_step": 2}, ("first_step", "4,294,967,295")),
        ({"seed": "one"}, ("seed is 'one'",)),
        ({"board": 5}, ("board is 5", "as text")),
        ({"data": None}, ("data is None",)),
        ({"settings": [("r_max", 7)]}, ("settings is", "dictionary")),
        ({"settings": {5: 7}}, ("the key 5",)),
        ({"schedule": "soon"}, ("schedule is 'soon'",)),
        ({"schedule": ((1, 2),)}, ("schedule has (1, 2)",)),
        ({"schedule": (("first", {"b_bp": 4}),)}, ("step is 'first'",)),
        ({"schedule": ((-1, {"b_bp": 4}),)}, ("step is -1",)),
        ({"checkpoint": 5}, ("checkpoint is 5", "path of an .npz")),
        ({"energy": 6}, ("energy is 6", "EnergyWindows")),
        ({"energy": {"windows": 6}}, ("EnergyWindows",)),
        ({"latency": 1000}, ("latency is 1000", "LatencySteps")),
        ({"selection": None}, ("selection is None", "Selection")),
        ({"slots": 9}, ("slots is 9", "1..8")),
        ({"network": ""}, ("network is ''", "as text")),
        ({"network": "n" * 101}, ("network is 'nnn", "at most 100 characters")),
        ({"settings": {"": 1}}, ("the key ''", "as text")),
        ({"settings": {"k" * 3000: 1}}, ("the key 'kkk", "at most 100 characters")),
        ({"evaluate_every": 5}, ("evaluate_every is 5", "evaluate is 0")),
        ({"energy": EnergyWindows(accuracy=0.5)}, ("energy asks for an accuracy", "evaluate is 0")),
    ],
)
def test_a_wrong_field_is_refused_where_the_trial_is_written(changes, words):
    with pytest.raises(RigError) as error:
        replace(GOOD, **changes)
    assert_one_sentence(error, *words)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("good", [GOOD, GRAPH], ids=lambda each: each.method)
def test_an_unknown_setting_is_answered_with_settings_that_are_taken(good):
    with pytest.raises(RigError) as error:
        prepare(replace(good, settings={"nothing-like-it": 1}))
    for name in str(error.value).partition("known are: ")[2].rstrip(".").split(", "):
        with pytest.raises(RigError) as refused:  # each is known, and none is a text
            prepare(replace(good, settings={name: "no value"}))
        assert (
            name in str(refused.value)
            and "has no setting" not in str(refused.value)
            and "field of the trial" not in str(refused.value)
        )


HUGE = 10**5000  # Python refuses to write it in decimal, and no float holds it


@pytest.mark.parametrize("build", [
    lambda: replace(GOOD, steps=HUGE), lambda: replace(GOOD, seed=-HUGE), lambda: replace(GOOD, board=HUGE), lambda: replace(GOOD, energy=HUGE),
    lambda: replace(GOOD, schedule=((HUGE, {}),)), lambda: replace(GOOD, schedule=(HUGE,)), lambda: EnergyWindows(uncertainty=HUGE),
    lambda: EnergyWindows(rules=HUGE), lambda: prepare(replace(GOOD, settings={"r_max": HUGE})), lambda: prepare(replace(GOOD, settings={"loss": HUGE})),
    lambda: prepare(replace(GOOD, settings={"seed": HUGE})), lambda: prepare(replace(GRAPH, settings={"eta": HUGE})),
    lambda: prepare(replace(GRAPH, settings={"momentum": -HUGE})), lambda: prepare(replace(GRAPH, schedule=((1, {"eta": HUGE}),))),
])  # fmt: skip
def test_a_number_of_any_length_is_refused_in_a_short_sentence(build):
    with pytest.raises(RigError) as error:
        build()
    assert_one_sentence(error)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: TrialSpec("stm32h7b3", "cls1", step=5), ("TrialSpec has no field 'step'", "did you mean steps")),
        (lambda: TrialSpec(variant="cls1"), ("TrialSpec", "'board'")),
        (lambda: TrialSpec("stm32h7b3", "cls1", board="rp2040"), ("TrialSpec", "'board'")),
        (lambda: replace(GOOD, batches=8), ("TrialSpec has no field 'batches'", "did you mean batch")),
        (lambda: EnergyWindows(window=3), ("EnergyWindows has no field 'window'", "did you mean windows")),
        (lambda: LatencySteps(1, True, 2), ("LatencySteps",)),
        (lambda: Selection(held=3), ("Selection has no field 'held'",)),
        (lambda: LatencySteps(layers=1), ("layers is 1", "True")),
    ],
)
def test_a_field_that_there_is_not_is_refused_like_a_wrong_value(build, words):
    with pytest.raises(RigError) as error:
        build()
    assert_one_sentence(error, *words)


def test_a_message_can_be_written_anywhere_whatever_bytes_a_path_has(tmp_path):
    path = tmp_path / os.fsdecode(b"w\xff\x1b\x00.npz")
    with pytest.raises(RigError) as error:
        prepare(replace(GOOD, checkpoint=path))
    assert str(error.value).encode().isascii() and str(error.value).isprintable()
    assert_one_sentence(error, "cannot be read", r"w\udcff\x1b\x00.npz")


@pytest.mark.parametrize("rules", ["mlperf", 5, None, np.array(["", ""])])
def test_rules_are_one_word(rules):
    with pytest.raises(RigError) as error:
        EnergyWindows(rules=rules)
    assert_one_sentence(error, "rules is", "mlperf-tiny")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"board": "stm32h7"}, ("'stm32h7'", "did you mean stm32h7b3")),
        ({"board": "../../etc"}, ("no board",)),
        ({"method": "elasticzo", "network": "lenet"}, ("no method 'elasticzo'", "did you mean elasticzo-")),
        ({"method": "poor-mans", "network": "resnet-tiny"}, ("no method 'poor-mans'", "poor-mans-training")),
        ({"network": "lenet"}, ("no network 'lenet'", "did you mean lenet5")),
        (
            {"network": "resnet-tiny"},
            ("no network 'resnet-tiny'", "poor-mans-training", "elasticzo-int8 trains lenet5"),
        ),
        ({"variant": "cls3"}, ("no variant 'cls3'", "did you mean cls")),
        ({"data": "fashion"}, ("no data set 'fashion'",)),
        ({"evaluate": 100_000}, ("evaluate is 100,000", "has 500 test images", "0..500")),
        ({"batch": 2000}, ("batch is 2,000", "1,000 training images")),
        ({"settings": {"batch": 4}}, ("settings has 'batch'", "batch=4")),
        ({"settings": {"seed": 4}}, ("settings has 'seed'",)),
        (
            {"method": "int8-bp", "network": "resnet-tiny", "variant": "qas", "settings": {"method": "bp"}},
            ("settings has 'method'",),
        ),
        ({"settings": {"r_max": True}}, ("r_max is True", "1..127")),
        ({"settings": {"r_max": "7"}}, ("r_max is '7'",)),
        ({"settings": {"loss": 5}}, ("loss is 5",)),
        ({"schedule": ((1, {"b_bp": "4"}),)}, ("b_bp is '4'",)),
    ],
)
def test_a_wrong_request_is_one_sentence_before_anything_is_touched(changes, words):
    with pytest.raises(RigError) as error:
        prepare(replace(GOOD, **changes))
    assert_one_sentence(error, *words)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eta", "fast"),
        ("eta", math.nan),
        ("eta", True),
        ("eta", None),
        ("eta", 1e-46),
        ("eta", -1e300),
        ("momentum", 1e300),
        ("momentum", "x"),
        ("momentum", math.nan),
        ("queries", 2.5),
    ],
)
def test_settings_of_graph_methods_have_their_types_too(name, value):
    spec = TrialSpec("stm32h7b3", "plain", "resnet-tiny", "int8-bp", batch=1, evaluate=0, settings={name: value})
    with pytest.raises(RigError) as error:
        prepare(spec)
    assert_one_sentence(error, f"setting {name} is {value!r}")


def test_held_out_samples_leave_some_to_train_on():
    spec = TrialSpec(
        "stm32h7b3",
        "selected",
        "resnet-tiny",
        "poor-mans-training",
        batch=1,
        evaluate=0,
        selection=Selection(held_out=1000),
    )
    with pytest.raises(RigError) as error:
        prepare(spec)
    assert_one_sentence(error, "held_out is 1,000", "at most 999")


def compared(steps, of):
    spec, cycles = replace(GOOD, steps=of), dict.fromkeys(PHASES, 1)
    rows = [StepRow(step, 1, 1, 1, 1, 1, 1, 1, True, True, 0, cycles) for step in range(steps)]
    outcome = Outcome(spec, compared=LockStepOutcome(prepare(spec), "virtual", 1_000_000, steps=rows))
    outcome.judge()
    return outcome


def test_the_judge_passes_nothing_of_which_a_step_was_not_compared():
    assert (compared(3, 3).verdict, compared(3, 3).reason) == ("pass", "")
    for steps in (0, 1, 2, 4):
        outcome = compared(steps, 3)
        assert (outcome.verdict, outcome.stage) == ("blocked", "judge") and f"{steps} of 3 steps" in outcome.reason


def archive():
    file = io.BytesIO()
    np.savez(file, **{f"w{i}": layer.weights for i, layer in enumerate(build("lenet5", 2).trained)})
    return file.getvalue()


ARCHIVE = archive()


def pickled():
    file = io.BytesIO()
    np.savez(file, **{f"w{i}": np.array([object()], dtype=object) for i in range(5)})
    return file.getvalue()


def encrypted():
    raw = bytearray(ARCHIVE)
    for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = raw.find(mark)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(mark, at + 1)
    return bytes(raw)


def array_file():
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


def unknown_compression():
    raw = bytearray(ARCHIVE)
    for mark, offset in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        at = raw.find(mark)
        while at >= 0:
            raw[at + offset] = 97
            at = raw.find(mark, at + 1)
    return bytes(raw)


def no_array():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for index in range(5):
            zipped.writestr(f"w{index}.npy", b"text")
    return file.getvalue()


WRONG_FILES = {
    "empty": b"", "text": b"w0,w1\n", "cut": ARCHIVE[: len(ARCHIVE) // 2], "pickle": b"\x80\x04N.", "pickled arrays": pickled(), "encrypted": encrypted(),
    "array": array_file(), "compression": unknown_compression(), "no arrays": no_array(), "mark": b"PK\3\4",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_checkpoint_that_is_none_is_one_sentence_with_its_name(tmp_path, name):
    path = tmp_path / "epoch.npz"
    path.write_bytes(WRONG_FILES[name])
    for given_as in (path, str(path)):
        with pytest.raises(RigError) as error:
            prepare(replace(GOOD, checkpoint=given_as))
        assert_one_sentence(error, "epoch.npz", "give an .npz")


def test_a_folder_and_a_missing_file_are_no_checkpoint(tmp_path):
    for path in (tmp_path, tmp_path / "missing.npz"):
        with pytest.raises(RigError, match="cannot be read"):
            prepare(replace(GOOD, checkpoint=path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(at=st.integers(0, len(ARCHIVE) - 1), value=st.integers(0, 255), cut=st.integers(0, 200))
def test_a_damaged_checkpoint_is_refused_or_holds_arrays_of_the_right_kind(tmp_path, at, value, cut):
    raw = bytearray(ARCHIVE)
    raw[at] = value
    (tmp_path / "epoch.npz").write_bytes(raw[: len(raw) - cut])
    try:
        found = prepare(replace(GOOD, checkpoint=tmp_path / "epoch.npz"))
    except RigError as error:
        assert "epoch.npz" in str(error) and "\n" not in str(error)
    else:
        assert all(layer.weights.dtype == np.int8 for layer in found.method.network.trained)


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.uint8, bool])
def test_a_checkpoint_of_another_type_is_refused(tmp_path, dtype):
    np.savez(
        tmp_path / "epoch.npz",
        **{f"w{i}": layer.weights.astype(dtype) for i, layer in enumerate(build("lenet5", 2).trained)},
    )
    with pytest.raises(RigError, match=r"epoch.npz has .* for conv1: it belongs to another network"):
        prepare(replace(GOOD, checkpoint=tmp_path / "epoch.npz"))

"""What is refused before a board is touched, and how much of a batch it gets to hold."""

from dataclasses import replace

import numpy as np
import pytest

from hil.errors import Blocked, RigError
from hil.training.data.idx import idx_bytes
from hil.training.graph.file import encode
from hil.training.graph.formats import Format
from hil.training.methods.elasticzo_memory import plan
from hil.training.methods.elasticzo_settings import VARIANTS
from hil.training.networks import NETWORKS, NamedNetwork, build
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import _memory_plan
from hil.trial import TrialSpec, does_not_fit


def spec(**others):
    return TrialSpec("stm32h7b3", others.pop("variant", "cls1"), **others)


def arena(prepared):
    return prepared.image.symbols["__arena_end"] - prepared.image.symbols["__arena_start"]


def test_a_batch_that_fits_is_held_whole():
    assert prepare(spec(batch=256)).slots == 256


def test_every_time_slot_of_the_plan_has_a_name():
    for variant in VARIANTS:
        made = _memory_plan(prepare(spec(variant=variant)))
        assert len(made["slots"]) == 1 + max(buffer["last"] for buffer in made["buffers"])


@pytest.mark.parametrize("batch", [256, 999])
def test_of_a_batch_that_does_not_fit_the_board_holds_as_much_as_it_can(batch):
    prepared = prepare(TrialSpec("rp2040", "cls1", batch=batch))
    assert 1 <= prepared.slots < batch
    assert (
        prepared.plan.total
        <= arena(prepared)
        < plan(prepared.method.network, prepared.settings, prepared.slots + 1).total
    )


def test_in_scope_batch_all_samples_must_fit():
    with pytest.raises(Blocked, match="arena"):
        prepare(spec(batch=256, settings={"scope": "batch"}))
    assert "arena" in does_not_fit(spec(batch=256, settings={"scope": "batch"}))
    assert does_not_fit(spec()) is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"slots": 9}, "slots is 9"),
        ({"slots": 4, "settings": {"scope": "batch"}}, "scope 'batch'"),
        ({"schedule": ((5, {"b_bp": 4}), (5, {"b_bp": 3}))}, "step 5 after step 5"),
        ({"schedule": ((5, {"batch": 4}),)}, "cannot change 'batch'"),
        ({"schedule": ((5, {"b_bp": 9}),)}, "setting b_bp is 9"),
        ({"settings": {"loss": "intger"}}, "did you mean integer"),
        ({"settings": {"perturb": "exact", "r_max": 64}}, "choose at most 63"),
    ],
)
def test_a_wrong_request_names_what_is_wrong(wrong, said):
    with pytest.raises(RigError, match=said):
        prepare(spec(**wrong))


def test_the_schedule_holds_from_its_step_on():
    prepared = prepare(spec(schedule=((2, {"b_bp": 4}), (5, {"b_bp": 3, "p_zero": 128}))))
    assert [prepared.settings_at(step).b_bp for step in range(7)] == [5, 5, 4, 4, 4, 3, 3]
    assert [prepared.settings_at(step).p_zero for step in (4, 5)] == [84, 128]


def test_a_checkpoint_gives_the_weights(tmp_path):
    other = build("lenet5", 2)
    np.savez(tmp_path / "epoch.npz", **{f"w{i}": layer.weights for i, layer in enumerate(other.trained)})
    assert prepare(spec(checkpoint=tmp_path / "epoch.npz")).blob == encode(other)


def test_a_checkpoint_of_another_network_is_refused(tmp_path):
    np.savez(tmp_path / "epoch.npz", **{f"w{i}": np.zeros((3, 3), np.int8) for i in range(5)})
    with pytest.raises(RigError, match="belongs to another network"):
        prepare(spec(checkpoint=tmp_path / "epoch.npz"))
    with pytest.raises(RigError, match="cannot be read"):
        prepare(spec(checkpoint=tmp_path / "missing.npz"))


def test_labels_for_which_the_network_has_no_class(tmp_path):
    labels = np.arange(16, dtype=np.uint8) % 11
    for split in ("train", "test"):
        (tmp_path / f"{split}-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros((16, 28, 28), np.uint8)))
        (tmp_path / f"{split}-labels-idx1-ubyte").write_bytes(idx_bytes(labels))
    with pytest.raises(RigError, match=r"has the label 10, lenet5 has 10 classes: number the classes 0\.\.9"):
        prepare(spec(data=f"idx:{tmp_path}", evaluate=0))


def features(path, shape, classes=2):
    rng = np.random.default_rng(5)
    count = 40 * classes
    with path.open("wb") as file:
        np.savez(file, x=rng.normal(size=(count, *shape)), y=np.arange(count) % classes)
    return path


def test_own_data_have_the_shape_of_the_network_and_its_range(tmp_path):
    path = features(tmp_path / "mine.npz", (784,))
    prepared = prepare(spec(data=path, evaluate=4))
    assert prepared.data.train_images.shape[1:] == (28, 28, 1) and len(prepared.data.card.range.scale) == 1
    (tmp_path / "card.toml").write_text('range = "network"')
    for network, method, variant, scale, zero in (
        ("lenet5", "elasticzo-int8", "cls1", 1 / 256, 0),  # p >> 1 with exponent -7
        ("lenet5-float32", "elasticzo-fp32", "cls1", float(np.float32(1 / 255)), 0),
    ):
        of_network = prepare(spec(data=str(path), evaluate=4, network=network, method=method, variant=variant)).data
        assert (of_network.card.range.scale, of_network.card.range.zero) == ((scale,), (zero,))


@pytest.mark.parametrize(
    ("shape", "classes", "said"),
    [
        ((30, 4), 2, r"the images of .*mine.npz are 30x1x4, lenet5 takes 28x28x1"),
        ((784,), 11, r"mine.npz has the label 10, lenet5 has 10 classes"),
    ],
)
def test_own_data_that_do_not_fit_the_network(tmp_path, shape, classes, said):
    with pytest.raises(RigError, match=said):
        prepare(spec(data=features(tmp_path / "mine.npz", shape, classes), evaluate=4))


def test_a_path_may_be_longer_than_a_name(tmp_path):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    assert prepare(spec(data=features(folder / "mine.npz", (784,)), evaluate=4)).data.card.file == "mine.npz"
    for wrong in ("", "x" * 5000, 7, None):
        with pytest.raises(RigError, match="TrialSpec: data is"):
            spec(data=wrong)


def test_a_network_in_bfp8_lies_nowhere_else():
    with pytest.raises(RigError, match=r"network_in is 'flash' with elasticzo-int8.*leave it out"):
        prepare(spec(network_in="flash"))


def test_a_network_that_no_board_would_take_is_refused(monkeypatch):
    """A layer of a user's own graph whose sums have no bound: its outputs could depend on the order of the sum."""

    def unbounded(name, seed):
        graph = build("lenet5-w16a8", seed)
        layers = [
            replace(layer, own=replace(layer.own, shift=-25)) if layer.name == "fc1" else layer
            for layer in graph.layers
        ]
        return replace(graph, name=name, layers=tuple(layers))

    monkeypatch.setitem(NETWORKS, "mine", NamedNetwork(unbounded, "fashion-mnist-1k", formats=(Format.W16A8,)))
    said = r"mine cannot be trained: .* the sums of fc1 could leave int32 .* 784 products .* use at most 128 inputs"
    with pytest.raises(RigError, match=said):
        prepare(TrialSpec("stm32h7b3", "full", "mine", "qzo-ff", evaluate=0))


def test_weights_of_a_checkpoint_that_no_board_would_take_are_refused(tmp_path):
    np.savez(tmp_path / "mine.npz", w0=np.full((10, 84), 5000, "<i2"))
    asked = TrialSpec(
        "stm32h7b3", "linear-probe", "lenet5-8w8a", "qzo-ff", evaluate=0, checkpoint=tmp_path / "mine.npz"
    )
    assert prepare(replace(asked, network="lenet5-w16a8"))
    with pytest.raises(RigError, match=r"lenet5-8w8a with the weights of .*mine.npz .* 5000, .* beyond w_max of 127"):
        prepare(asked)

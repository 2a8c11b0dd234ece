"""The NumPy form of docs/arithmetic-qzo-ff.md against its test vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xxhash
from network.w16a8_graphs import LABELS, PIXELS, text_network

from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import QzoFfTensor, update_steps
from hil.training.reference.floats import F
from hil.training.reference.formats.w16a8.tensor import W16A8Tensor
from hil.training.reference.methods.adam_moments import Decay, Moments
from hil.training.reference.methods.directions import direction, direction_pool, table
from hil.training.reference.methods.qzo_directions import DirectionGradient, Momentum, mask_of
from hil.training.reference.methods.qzo_ff import QzoFfReference
from hil.training.reference.methods.qzo_rates import SMALLEST_ROOT, rate

FILE = [0, 1, -1, 100, -32767, 32767, 5000, -5000, 7, -7]
UNIT = F(2.0**-15)


def digest(values: np.ndarray, kind: str = "int8") -> int:
    return xxhash.xxh32_intdigest(values.astype(np.dtype(kind).newbyteorder("<")).tobytes())


def z_of(number: int, size: int, step: int = 0, **others: object) -> np.ndarray:
    settings = QzoFfSettings(**others)
    pool = direction_pool(settings.distribution, settings.seed, step)
    return direction(pool, settings.seed, step, number, 0, size)


def tensor_of(settings: QzoFfSettings, values: list[int] = FILE, unit: np.float32 = UNIT) -> W16A8Tensor:
    tensor = W16A8Tensor(QzoFfTensor("fc1", 0, False, unit, 32767), np.array(values, "<i2"))
    tensor.configure(settings)
    tensor.clip()
    return tensor


@pytest.mark.parametrize(
    ("distribution", "of_table", "of_pool"), [("gaussian", 0x7F3EA811, 0xB8989072), ("binomial", 0xFD20F3D4, 0xC6AC4A6C)]
)  # fmt: skip
def test_table_and_pool(distribution: str, of_table: int, of_pool: int) -> None:
    assert digest(table(distribution)) == of_table
    pool = direction_pool(distribution, 1, 0)
    assert digest(pool[:256]) == of_pool
    assert distribution != "gaussian" or pool[0].tolist() == [-51, 26, 10, 15]
    assert np.array_equal(pool[256:], -pool[:256])


def test_table_of_the_text() -> None:
    """The rows of section 3, and the largest entries."""
    found = table("gaussian")
    assert found[128:160].tolist() == [
        0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10,
    ]  # fmt: skip
    assert found[-10:].tolist() == [54, 56, 57, 59, 61, 63, 65, 67, 71, 75, 81, 92][-10:]
    assert np.array_equal(found, -found[::-1])
    assert sorted(set(table("binomial").tolist())) == [-91, -68, -45, -23, 0, 23, 45, 68, 91]


def test_directions() -> None:
    expected = [
        (0, [-19, -3, 22, 17, -61, -14, 23, 18, -19, -43, -31, -54, 14, -36], 0x33D25456),
        (1, [-1, 32, 12, -18, 15, 6, -57, 11, -1, 50, -5, -38, -1, -10], 0xCFFC711E),
    ]
    for number, first, of_100 in expected:
        z = z_of(number, 100)
        assert z[:14].tolist() == first
        assert digest(z) == of_100
    assert z_of(2, 10).tolist() == [5, -17, -37, 40, 63, -26, -20, -10, 11, 0]


def test_perturbation() -> None:
    tensor, z = tensor_of(QzoFfSettings()), z_of(0, 10)
    assert tensor.known.epsilon_steps(QzoFfSettings()) == 33
    assert tensor.known.limit(QzoFfSettings()) == 32636
    rest = [0, 1, -1, 100, -32636, 32636, 5000, -5000, 7, -7]
    assert tensor.values.tolist() == rest
    tensor.moved(tensor.move_of(z), 1)
    assert (tensor.values - rest).tolist() == [-20, -3, 23, 18, -63, -14, 24, 19, -20, -44]
    assert tensor.values.tolist() == [-20, -2, 22, 118, -32699, 32622, 5024, -4981, -13, -51]
    tensor.moved(tensor.move_of(z), -2)
    assert tensor.values.tolist() == [20, 4, -24, 82, -32573, 32650, 4976, -5019, 27, 37]
    tensor.moved(tensor.move_of(z), 1)
    assert tensor.values.tolist() == rest


@pytest.mark.parametrize(
    ("sign", "after", "of_tensor"),
    [
        (1, [19, 4, -24, 83, -32574, 32636, 4976, -5018, 26, 37], 0x2203C14A),
        (-1, [-19, -2, 22, 117, -32636, 32622, 5024, -4982, -12, -51], 0x344FE4EA),
    ],
)
def test_update_by_one_direction(sign: int, after: list[int], of_tensor: int) -> None:
    z = z_of(0, 10)
    f = (F(0.001) * F(2.0**-5)) / UNIT
    assert float(f) == float.fromhex("0x1.0624dep+0")
    assert update_steps(z.astype(int), f).tolist() == [-19, -3, 23, 17, -62, -14, 24, 18, -19, -44]
    tensor = tensor_of(QzoFfSettings())
    tensor.lower_plain(DirectionGradient.of([sign], [z]), None, F(0.001))
    assert tensor.values.tolist() == after
    assert digest(tensor.stored, "int16") == of_tensor


def test_update_by_three_directions() -> None:
    signs, directions = [1, -1, 1], [z_of(number, 10) for number in range(3)]
    g = DirectionGradient.of(signs, directions)
    assert g.total.tolist() == [-13, -52, -27, 75, -13, -46, 60, -3, -7, -93]
    assert g.mean.tolist() == [-4, -17, -9, 25, -4, -15, 20, -1, -2, -31]
    tensor = tensor_of(QzoFfSettings(directions=3))
    tensor.lower_plain(g, None, F(0.001))
    assert tensor.values.tolist() == [4, 18, 8, 74, -32632, 32636, 4980, -4999, 9, 25]
    assert digest(tensor.stored, "int16") == 0xE174FDA8


def test_momentum() -> None:
    momentum = Momentum(10)
    momentum.follow(z_of(0, 10), 26, None)
    assert momentum.v.tolist() == [-494, -78, 572, 442, -1586, -364, 598, 468, -494, -1118]
    z = z_of(0, 10, step=1)
    assert z.tolist() == [-3, -35, -3, 15, 2, 57, -9, -51, -61, -38]
    assert momentum.guided(z, 128).tolist() == [-4, -35, -2, 16, -1, 56, -8, -50, -62, -40]
    momentum.v = np.array([32512, -32512] * 5)  # its limits: 127 steps of z
    assert momentum.guided(z, 256).tolist() == [124, -127, 124, -112, 127, -70, 118, -127, 66, -127]


def test_sharpness() -> None:
    settings = QzoFfSettings(rho=0.0005)
    tensor = tensor_of(settings)
    assert tensor.known.rho_steps(settings) == 16
    assert tensor.known.limit(settings) == 32572
    rest = tensor.values
    tensor.sharpened(z_of(1, 10), 1)
    assert (tensor.values - rest).tolist() == [-1, 16, 6, -9, 8, 3, -29, 6, -1, 25]
    tensor.moved(tensor.move_of(z_of(0, 10)), 1)
    assert tensor.values.tolist() == [-21, 14, 28, 109, -32627, 32561, 4995, -4975, -14, -26]


def test_normalisation() -> None:
    tensor, z = tensor_of(QzoFfSettings()), z_of(0, 10)
    squares, of_gradient = tensor.squares(), int((z.astype(int) ** 2).sum())
    assert (squares, of_gradient) == (2180227092, 8123)
    k = tensor.normalisation(DirectionGradient.of([1], [z]))
    assert float(k) == float.fromhex("0x1.03099ap-6")
    f = (F(0.001) * k) / UNIT
    assert float(f) == float.fromhex("0x1.094122p-1")
    assert update_steps(z.astype(int), f).tolist() == [-10, -2, 11, 9, -32, -7, 12, 9, -10, -22]
    assert tensor.factor(0, 5) == tensor.factor(5, 0) == 0


def test_masks() -> None:
    weights = np.array([5, -9, 9, 3, -9, 0, 9, 2])
    for keep, places in ((64, [1, 2]), (100, [1, 2, 4]), (160, [0, 1, 2, 4, 6])):
        mask = mask_of(np.abs(weights), QzoFfSettings(sparse="top", keep=keep), 0, 0)
        assert np.flatnonzero(mask).tolist() == places
    drawn = QzoFfSettings(sparse="random", keep=64)
    assert np.flatnonzero(mask_of(np.zeros(16), drawn, 0, 0)).tolist() == [0, 12]
    assert mask_of(np.zeros(1000), drawn, 0, 0).sum() == 239
    assert np.flatnonzero(mask_of(np.zeros(16), drawn, 3, 0)).tolist() == [0]
    threshold = QzoFfSettings(sparse="threshold", threshold=0.01)
    reference = QzoFfReference(text_network(), replace(threshold, last_layers=2))
    reference._begin()
    first = np.abs(reference.weights[0].ravel().astype(int)) >= 328
    assert np.array_equal(reference._masks[0], first)


def test_adamw() -> None:
    settings = QzoFfSettings(optimizer="adamw")
    tensor, decay, moments = (
        tensor_of(settings, [100]),
        Decay(settings.beta1, settings.beta2, SMALLEST_ROOT),
        Moments(1),
    )
    for g, m, v, y, after in (
        (-19, "-0x1.e6666ep-5", "0x1.20ccd2p-6", "-0x1.0624dep+5", 133),
        (22, "0x1.f5c298p-7", "0x1.4ac7b4p-5", "0x1.06a22cp+2", 129),
        (0, "0x1.c39588p-7", "0x1.3a3db8p-5", "0x1.9b4866p+1", 126),
        (92, "0x1.3319d4p-2", "0x1.cc8428p-2", "0x1.25a31ap+4", 108),
    ):
        decay.advance()
        h = tensor.real(DirectionGradient.of([1], [np.array([g], np.int16)]), None)
        x = moments.step(h, decay, F(0.001), None)
        assert [float(one) for one in (moments.m[0], moments.v[0], (x / UNIT)[0])] == [
            float.fromhex(one) for one in (m, v, y)
        ]
        tensor.lower_by(x)
        assert tensor.values.tolist() == [after]


@pytest.mark.parametrize(
    ("x", "root"),
    [("2", "0x1.6a09e6p+0"), ("0x1.99999ap-4", "0x1.43d136p-2"), ("0x1.05564p-128", "0x1.02a79ap-64"), ("0", "0")],
)
def test_square_roots(x: str, root: str) -> None:
    found = np.sqrt(np.array([float.fromhex(x)] * 9, F))
    assert [float(one) for one in found] == [float.fromhex(root)] * 9


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (F(2e-5), 50),
        (F(0.6 / 126), 0),
        (F(F(2.0**-15) * F(1 / 255)), 8356),
    ],
)
def test_steps_of_epsilon(unit: np.float32, expected: int) -> None:
    assert QzoFfTensor("fc1", 0, False, unit, 32767).epsilon_steps(QzoFfSettings()) == expected


def test_schedule() -> None:
    settings = QzoFfSettings(eta=0.001, eta_min=0.00001, warmup=20, steps=100)
    expected = {
        0: "0x1.a36e3p-15",
        19: "0x1.0624dep-10",
        20: "0x1.0624dcp-10",
        21: "0x1.060b4p-10",
        50: "0x1.6c1498p-11",
        60: "0x1.08c3f6p-11",
        99: "0x1.5c5998p-17",
        100: "0x1.4f8b58p-17",
        4_000_000_000: "0x1.4f8b58p-17",
    }
    assert {step: float(rate(settings, step)) for step in expected} == {
        step: float.fromhex(value) for step, value in expected.items()
    }
    assert rate(QzoFfSettings(), 5) == F(0.001)


def trained(steps: int, **settings: object) -> tuple[QzoFfReference, list[tuple[object, ...]]]:
    reference = QzoFfReference(text_network(), QzoFfSettings(epsilon=0.01, eta=0.01, batch=2, **settings))
    found = []
    for _ in range(steps):
        done = reference.step(PIXELS, LABELS)
        step = xxhash.xxh32_intdigest(np.array(done.digests, "<u4").tobytes())
        found.append((done.loss_plus.hex(), done.loss_minus.hex(), done.sign, done.digests, step))
    return reference, found


def test_two_whole_steps() -> None:
    reference, (first, second) = trained(2)
    assert first == (hexed("0x1.815c4ep-1"), hexed("0x1.8e5fdep-1"), -1, (0x3B47C5B3, 0x40326E2D), 0x7B7B0C42)
    assert second == (hexed("0x1.74e608p-1"), hexed("0x1.9fdcb8p-1"), -1, (0xD8D6C3D2, 0x6B60E976), 0x41DC8E1C)
    assert [weights.ravel().tolist() for weights in reference.weights] == [
        [8774, -12389, 30194, 828, -20605, 15441, 8144, -7338, 3180, 21171, -31465, 10836],
        [29969, -9210, 11877, -24693, 18215, -6011],
    ]


def test_two_whole_steps_with_enhancements() -> None:
    _, (first, second) = trained(2, directions=2, rho=0.02, guide=128, smoothing=26)
    assert first == (hexed("0x1.8f5884p+0"), hexed("0x1.837716p+0"), 0, (0xBC076E6C, 0x688A2178), 0x08921C6B)
    assert second == (hexed("0x1.7825d4p+0"), hexed("0x1.8c949cp+0"), -1, (0x67833B81, 0x726FC5C4), 0x9AF8B76A)


def test_losses_of_every_pass() -> None:
    """The weights of the passes give the losses that the text has for sharpness and for both directions."""
    reference, _ = trained(0, directions=2, rho=0.02, guide=128, smoothing=26)
    before = reference.weights
    reference.step(PIXELS, LABELS)
    losses = []
    for weights in reference.passes(before, 0):
        network = reference._network
        kept = [tensor.values for tensor in network.tensors]
        for tensor, its in zip(network.tensors, weights, strict=True):
            tensor.values = its.astype(np.int32)
        first, second = network.losses(network.prefix(PIXELS), LABELS)
        losses.append(float(first + second))
        for tensor, its in zip(network.tensors, kept, strict=True):
            tensor.values = its
    assert losses == [
        float.fromhex(loss)
        for loss in (
            "0x1.84e0bap-1", "0x1.8ad76cp-1", "0x1.805818p-1", "0x1.8ad76cp-1", "0x1.9e58fp-1", "0x1.7c16cp-1",
        )
    ]  # fmt: skip


def hexed(value: str) -> str:
    return float.fromhex(value).hex()

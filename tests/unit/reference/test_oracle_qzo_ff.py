"""The oracle of QZO-FF against the test vectors of docs/arithmetic-qzo-ff.md, section 12."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
import xxhash

from reference.oracle_graphs import own_of_text, two_layers
from tests.oracle import qzo_directions, qzo_ff
from tests.oracle.numbers import F32
from tests.oracle.qzo_ff import PlainQzoFf, Tensor

UNIT = F32(2.0**-15)
FILE = [0, 1, -1, 100, -32767, 32767, 5000, -5000, 7, -7]
IMAGES = np.array([[200, 17, 90, 255], [3, 240, 128, 60]], np.uint8)
LABELS = [0, 1]


@dataclass(frozen=True)
class Chosen:
    """Settings by the names of section 9, with its defaults."""

    directions: int = 1
    epsilon: float = 0.001
    rho: float = 0.0
    eta: float = 0.001
    eta_min: float = 0.0
    warmup: int = 0
    steps: int = 0
    optimizer: str = "plain"
    beta1: float = 0.9
    beta2: float = 0.95
    distribution: str = "gaussian"
    last_layers: int = 64
    train_bias: int = 0
    guide: int = 0
    guide_from: int = 0
    smoothing: int = 26
    sparse: str = "off"
    keep: int = 26
    threshold: float = 0.0
    normalise: int = 0
    seed: int = 1


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def tensor(settings: Chosen, values: list[int] = FILE) -> PlainQzoFf:
    """Return a method whose one trained tensor has some weights, at rest; `_try` is not for it."""
    method = PlainQzoFf(two_layers(), settings, own_of_text())
    one = Tensor.of(list(values), UNIT, 32767, settings)
    method.layers = [[one]]
    method._rest()
    return method


def updated(method: PlainQzoFf, signs: list[int], t: int = 0) -> list[int]:
    """Update from the signs of the directions of a step, as section 5 sums them; return the weights."""
    z = [method._directions(t, i)[0] for i in range(len(signs))]
    method.sums = [[sum(s * z_i for s, z_i in zip(signs, of, strict=True)) for of in zip(*z, strict=True)]]
    method._update(t)
    return method.tensors[0].values


def xxh(values: list[int], type: str = "i1") -> int:
    return xxhash.xxh32_intdigest(np.array(values, f"<{type}").tobytes())


@pytest.mark.parametrize(
    ("distribution", "table", "pool"),
    [("gaussian", 0x7F3EA811, 0xB8989072), ("binomial", 0xFD20F3D4, 0xC6AC4A6C)],
)
def test_table_and_pool(distribution: str, table: int, pool: int) -> None:
    entries = qzo_directions.pool(Chosen(distribution=distribution), 0)
    assert xxh(qzo_directions.table(distribution)) == table
    assert xxh([number for entry in entries for number in entry]) == pool
    if distribution == "gaussian":
        assert entries[0] == [-51, 26, 10, 15]


@pytest.mark.parametrize(
    ("i", "said", "digest"),
    [
        (0, "-19 -3 22 17 -61 -14 23 18 -19 -43 -31 -54 14 -36", 0x33D25456),
        (1, "-1 32 12 -18 15 6 -57 11 -1 50 -5 -38 -1 -10", 0xCFFC711E),
    ],
)
def test_directions(i: int, said: str, digest: int) -> None:
    assert qzo_directions.direction(Chosen(), 0, i, 0, 14) == numbers(said)
    assert xxh(qzo_directions.direction(Chosen(), 0, i, 0, 100)) == digest


def test_perturbation() -> None:
    method = tensor(Chosen())
    (one,), (z,) = method.tensors, method._directions(0, 0)
    d = [qzo_ff.half_away(one.eps_q * z_i, 5) for z_i in z]
    assert (one.eps_q, one.limit) == (33, 32636)
    assert one.values == numbers("0 1 -1 100 -32636 32636 5000 -5000 7 -7")
    assert d == numbers("-20 -3 23 18 -63 -14 24 19 -20 -44")
    plus, minus = ([w + side * d_i for w, d_i in zip(one.values, d, strict=True)] for side in (1, -1))
    assert plus == numbers("-20 -2 22 118 -32699 32622 5024 -4981 -13 -51")
    assert minus == numbers("20 4 -24 82 -32573 32650 4976 -5019 27 37")


@pytest.mark.parametrize(
    ("sign", "said", "digest"),
    [
        (1, "19 4 -24 83 -32574 32636 4976 -5018 26 37", 0x2203C14A),
        (-1, "-19 -2 22 117 -32636 32622 5024 -4982 -12 -51", 0x344FE4EA),
    ],
)
def test_an_update(sign: int, said: str, digest: int) -> None:
    f = (F32(0.001) * F32(2.0**-5)) / UNIT
    assert float(f) == float.fromhex("0x1.0624dep+0")
    z = tensor(Chosen())._directions(0, 0)[0]
    assert [qzo_ff.moved_by(z_i, f) for z_i in z] == numbers("-19 -3 23 17 -62 -14 24 18 -19 -44")
    found = updated(tensor(Chosen()), [sign])
    assert (found, xxh(found, "i2")) == (numbers(said), digest)


def test_an_update_by_three_directions() -> None:
    method = tensor(Chosen(directions=3))
    assert method._directions(0, 2)[0] == numbers("5 -17 -37 40 63 -26 -20 -10 11 0")
    found = updated(method, [1, -1, 1])
    assert method.sums[0] == numbers("-13 -52 -27 75 -13 -46 60 -3 -7 -93")
    g = [qzo_ff.sign(total) * ((abs(total) + 1) // 3) for total in method.sums[0]]
    assert g == numbers("-4 -17 -9 25 -4 -15 20 -1 -2 -31")
    assert (found, xxh(found, "i2")) == (numbers("4 18 8 74 -32632 32636 4980 -4999 9 25"), 0xE174FDA8)


def test_momentum_guided_sampling() -> None:
    method = tensor(Chosen(guide=128, guide_from=1))
    updated(method, [1])
    assert method.tensors[0].v == numbers("-494 -78 572 442 -1586 -364 598 468 -494 -1118")
    assert qzo_directions.direction(Chosen(), 1, 0, 0, 10) == numbers("-3 -35 -3 15 2 57 -9 -51 -61 -38")
    assert method._directions(1, 0)[0] == numbers("-4 -35 -2 16 -1 56 -8 -50 -62 -40")


def test_sharpness_aware_perturbation() -> None:
    method = tensor(Chosen(rho=0.0005))
    one = method.tensors[0]
    assert (one.rho_q, one.limit) == (16, 32572)
    z, z_m = (method._directions(0, i)[0] for i in (0, 1))
    a = [qzo_ff.half_away(one.rho_q * z_i, 5) for z_i in z_m]
    assert a == numbers("-1 16 6 -9 8 3 -29 6 -1 25")
    moved = [w + a_i + qzo_ff.half_away(33 * z_i, 5) for w, a_i, z_i in zip(one.values, a, z, strict=True)]
    assert moved == numbers("-21 14 28 109 -32627 32561 4995 -4975 -14 -26")


def test_kernel_wise_normalisation() -> None:
    method = tensor(Chosen(normalise=1))
    (one,), (z,) = method.tensors, method._directions(0, 0)
    assert (sum(w * w for w in one.values), sum(g * g for g in z)) == (2180227092, 8123)
    root = qzo_ff.sqrt32(qzo_ff.rounded(2180227092) / qzo_ff.rounded(8123))
    k = method._step_of_g(one, z)
    f = (F32(0.001) * k) / UNIT
    said = ["0x1.03099ap+9", "0x1.03099ap-6", "0x1.094122p-1"]
    assert [float(x) for x in (root, k, f)] == [float.fromhex(x) for x in said]
    assert [qzo_ff.moved_by(g, f) for g in z] == numbers("-10 -2 11 9 -32 -7 12 9 -10 -22")


@pytest.mark.parametrize(("keep", "places"), [(64, [1, 2]), (100, [1, 2, 4]), (160, [0, 1, 2, 4, 6])])
def test_the_largest_weights(keep: int, places: list[int]) -> None:
    chosen = qzo_directions.mask(Chosen(sparse="top", keep=keep), 0, [5, -9, 9, 3, -9, 0, 9, 2], UNIT)
    assert [place for place, selected in enumerate(chosen) if selected] == places


def test_random_weights() -> None:
    settings = Chosen(sparse="random", keep=64)
    first = qzo_directions.mask(settings, 0, [0] * 1000, UNIT)
    assert [place for place in range(16) if first[place]] == [0, 12]
    assert sum(first) == 239
    third = qzo_directions.mask(settings, 3, [0] * 16, UNIT)
    assert [place for place in range(16) if third[place]] == [0]


def test_weights_beyond_a_threshold() -> None:
    chosen = qzo_directions.mask(Chosen(sparse="threshold", threshold=0.01), 0, [327, 328, -327, -328], UNIT)
    assert chosen == [False, True, False, True]


def test_adamw() -> None:
    said = [
        (-19, "-0x1.e6666ep-5", "0x1.20ccd2p-6", "-0x1.0624dep+5", 133),
        (22, "0x1.f5c298p-7", "0x1.4ac7b4p-5", "0x1.06a22cp+2", 129),
        (0, "0x1.c39588p-7", "0x1.3a3db8p-5", "0x1.9b4866p+1", 126),
        (92, "0x1.3319d4p-2", "0x1.cc8428p-2", "0x1.25a31ap+4", 108),
    ]
    method = tensor(Chosen(optimizer="adamw"), [100])
    for t, (g, m1, m2, y, after) in enumerate(said):
        again = copy.deepcopy(method)
        again.sums = [[g]]
        again._update(t)
        method.p1, method.p2 = again.p1, again.p2
        found = method._adamw(method.tensors[0], 0, g, F32(2.0**-5), F32(0.001))
        assert float(found) == float.fromhex(y)
        method, one = again, again.tensors[0]
        assert [float(one.m1[0]), float(one.m2[0])] == [float.fromhex(m1), float.fromhex(m2)]
        assert one.values == [after]


@pytest.mark.parametrize(
    ("x", "root"),
    [("2", "0x1.6a09e6p+0"), ("0x1.99999ap-4", "0x1.43d136p-2"), ("0x1.05564p-128", "0x1.02a79ap-64")],
)
def test_roots(x: str, root: str) -> None:
    assert float(qzo_ff.sqrt32(F32(float.fromhex(x)))) == float.fromhex(root)


def test_roots_are_rounded_correctly() -> None:
    words = np.random.default_rng(1).integers(0, 0x7F800000, 2000, np.uint32).view(np.float32)
    assert [qzo_ff.sqrt32(x) for x in words] == list(np.sqrt(words))


@pytest.mark.parametrize(
    ("unit", "said"),
    [(F32(2e-5), 50), (F32(0.6 / 126), 0), (F32(1 / 255) * UNIT, 8356)],
)
def test_eps_q(unit: np.float32, said: int) -> None:
    assert Tensor.of([], unit, 32767, Chosen()).eps_q == said


@pytest.mark.parametrize(
    ("t", "said"),
    [
        (0, "0x1.a36e3p-15"),
        (19, "0x1.0624dep-10"),
        (20, "0x1.0624dcp-10"),
        (21, "0x1.060b4p-10"),
        (50, "0x1.6c1498p-11"),
        (60, "0x1.08c3f6p-11"),
        (99, "0x1.5c5998p-17"),
        (100, "0x1.4f8b58p-17"),
    ],
)
def test_the_schedule(t: int, said: str) -> None:
    found = qzo_ff.rate(Chosen(eta_min=0.00001, warmup=20, steps=100), t)
    assert float(found) == float.fromhex(said)


def whole(digests: tuple[int, ...]) -> int:
    return xxhash.xxh32_intdigest(b"".join(one.to_bytes(4, "little") for one in digests))


def hexes(pair: tuple[np.float32, np.float32]) -> list[float]:
    return [float(one) for one in pair]


def from_hex(text: str) -> list[float]:
    return [float.fromhex(word) for word in text.split()]


STEPS = Chosen(epsilon=0.01, eta=0.01)


def test_two_whole_steps() -> None:
    method = PlainQzoFf(two_layers(), STEPS, own_of_text())
    for t, (losses, digests, step) in enumerate((
        ("0x1.815c4ep-1 0x1.8e5fdep-1", (0x3B47C5B3, 0x40326E2D), 0x7B7B0C42),
        ("0x1.74e608p-1 0x1.9fdcb8p-1", (0xD8D6C3D2, 0x6B60E976), 0x41DC8E1C),
    )):  # fmt: skip
        plus, minus, _ = method.step(t, IMAGES, LABELS)
        assert hexes((plus, minus)) == from_hex(losses)
        assert (method.digests(), whole(method.digests())) == (digests, step)
    first, last = (tensor.values for tensor in method.tensors)
    assert first == numbers("8774 -12389 30194 828 -20605 15441 8144 -7338 3180 21171 -31465 10836")
    assert last == numbers("29969 -9210 11877 -24693 18215 -6011")


def test_two_whole_steps_with_sharpness_and_guided_sampling() -> None:
    method = PlainQzoFf(two_layers(), replace(STEPS, directions=2, rho=0.02, guide=128), own_of_text())
    plus, minus, sign = method.step(0, IMAGES, LABELS)
    assert [hexes(pair) for pair in method.losses] == [
        from_hex("0x1.84e0bap-1 0x1.8ad76cp-1"),
        from_hex("0x1.805818p-1 0x1.8ad76cp-1"),
        from_hex("0x1.9e58fp-1 0x1.7c16cp-1"),
    ]
    assert hexes((plus, minus)) == from_hex("0x1.8f5884p+0 0x1.837716p+0")
    assert (sign, method.digests(), whole(method.digests())) == (0, (0xBC076E6C, 0x688A2178), 0x08921C6B)
    plus, minus, sign = method.step(1, IMAGES, LABELS)
    assert hexes((plus, minus)) == from_hex("0x1.7825d4p+0 0x1.8c949cp+0")
    assert (sign, method.digests(), whole(method.digests())) == (-1, (0x67833B81, 0x726FC5C4), 0x9AF8B76A)

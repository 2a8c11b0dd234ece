"""The oracle of FQT against the test vectors of docs/arithmetic-fqt.md, section 13."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hil.training.methods.fqt_settings import FqtSettings
from tests.oracle import fqt
from tests.oracle.affine8_backward import StepFailed
from tests.oracle.affine8_network import Network, step_digest
from tests.oracle.fqt import PlainFqt
from tests.oracle.numbers import F32

from .oracle_affine8_networks import hexed, in_float32, network_a, network_b, text_samples

SETTINGS = FqtSettings(eta=0.01)


def stepped(method: PlainFqt) -> float:
    """Run a step on both samples of the text."""
    return method.step(*text_samples(method.network))


@pytest.mark.parametrize(
    ("loss", "largest", "chosen", "channels", "said", "k"),
    [
        (0.5, 2, {"lambda_min": 0.1}, 10, "3EA66666", 3),
        (0.5, 2, {"lambda_min": 0.1}, 8, "3EA66666", 2),
        (0, 2, {"lambda_min": 0.1}, 9, "3DCCCCCD", 1),
        (0.5, 2, {"lambda_min": 0.7, "lambda_max": 0.7}, 10, "3F333333", 7),
        (0.5, 2, {"lambda_min": 0.1, "rate": "difference"}, 10, "3F800000", 10),
        (1.9, 2, {"lambda_min": 0.1, "rate": "difference"}, 30, "3E428F5E", 5),
    ],
)
def test_the_share_of_channels(loss: float, largest: float, chosen: dict, channels: int, said: str, k: int) -> None:
    found = fqt.share(replace(SETTINGS, **chosen), F32(loss), F32(largest))
    assert (hexed([found]), fqt.count_of(found, channels)) == (said, k)


def test_the_largest_norms() -> None:
    assert [fqt.largest_norms([5, 9, 9, 0, 7], k) for k in (1, 2, 3)] == [[1], [1, 2], [1, 2, 4]]


NETWORKS = {"A": network_a, "B": network_b, "C": lambda rounding="nearest": network_a(rounding, cast=True)}
STEPS = """\
A |
  401F3DD0 35B5AC70 093A7B72 F34552BF 188650E7 EF958C48
  4007F576 84C86FF2 208A9B4D AADE16A0 3168A438 0610B094
A floor |
  401F0F8C 923FDA06 54CD7B30 B2C7406E 72AC6756 A7E83D9C
  4007EFBC 4EBA480A 56BAF99E D7F6BAB8 7570D580 33E65BD9
A float32 |
  401F256E E568F749 D87E11B6 19B63A77 470676DA 2BC641C6
  40066A31 7ED35162 6A52E52C 8186C558 B430055F 495708AF
C |
  401F4328 F35C6A98 E77D1C33 7FF404AC 04E93BA9 6CF7ED6B
  4006B426 43710FA7 30F58532 0F145C0B 2126FA03 5550203E
A | standardise batch
  401F3DD0 F147679F 093A7B72 0AFB9AE6 188650E7 3EB12C05
  4014BFCA B831C2BE 939F493B 2E071FA3 BED4A663 71EFFB70
A | standardise off, gradient mean, eta 0.05
  401F3DD0 7478B19C AF2ACA92 0273A87D 6757484A F2EE8B43
  4008DD79 ED68C7A8 B038FA9B 233FDA8E FCE27039 7CCFFCF5
A | error_range running
  401F3DD0 1C09062C 523C1271 F34552BF 188650E7 A4951C91
  40082CDC 60897C07 71EDBF36 0F5704DD BFB80755 8F27974B
A | statistics_momentum 0.6, range_momentum 0, range_growth 0
  401F3DD0 705AC376 093A7B72 AE1645B2 188650E7 1DF13D37
  4004FA4F 888800A4 250C88ED 0DB70DBC 114288EC A6CBD4BC
A | last_layers 1, train_bias 0
  401F3DD0 F34552BF 7374687E
  400BC78A A15C0438 90A33BAA
A | lambda_min 0.1, lambda_max 0.8, sparse_head 1
  401F3DD0 5311EE1A 799DF57C 4736A539 489AC65C B0827620
  4016890C D5735F95 0FA6FB4F 3DC0E9B2 79822173 E3684FDA
B |
  400D77DC 3C701F63 DE80F25D D19F1927 DF0E4881 50D3C1D7
  4008E46D 864A690D F4BA17D6 10D59C7F C12EA1AB 402C2EA1
B floor |
  400E033A 62410748 0C89341D C6637009 992DD97F 2CC6943E
  4007EB0A 6DA5C4A2 A06F3111 D5A32484 C8C67197 26E439BC
B float32 |
  400DD0AE B0B040B0 B9F45745 95D198B9 770290F6 160C5463
  40085DCB 93636C8B BCFF9F7F F0F8EC90 E9A92050 D887446B
B | lambda_min 0.4, lambda_max 0.4
  400D77DC C8BCDE2F A6804CBE D19F1927 DF0E4881 90103E3B
  40093842 40CDAAD6 662BBDA0 939C1080 201A1EAF 24D67B5D
B | lambda_min 0.3, lambda_max 0.9, rate difference
  400D77DC A2CB6065 19030E32 D19F1927 DF0E4881 B2C16585
  40097270 575869AE 0C174C3D FD9E4E6D BCD316E0 B39B9927
B float32 | lambda_min 0.4, lambda_max 0.4
  400DD0AE E3C0772A 446C8C28 95D198B9 770290F6 1230C23D
  4009696B B3AE3BB3 E724615C 11588769 6C830896 9C9929FD
B | error_range running, last_layers 5
  400D77DC DA03AEA1 025EAE98 D19F1927 DF0E4881 45B4AE62
  4008FDB3 EA533977 16B41F22 AB335B39 86ABF133 E66AA51E""".splitlines()


def network_of(name: str) -> Network:
    """Return a network of the text by its name and what follows it."""
    letter, *more = name.split()
    if more == ["float32"]:
        return in_float32(NETWORKS[letter]())
    return NETWORKS[letter](*more)


def settings_of(text: str) -> FqtSettings:
    """Return the settings of a row of the text."""
    chosen = dict(one.split() for one in text.split(",") if one.strip())
    types = {name: type(value) for name, value in vars(SETTINGS).items()}
    return replace(SETTINGS, **{name: types[name](value) for name, value in chosen.items()})


@pytest.mark.parametrize("lines", [STEPS[i : i + 3] for i in range(0, len(STEPS), 3)], ids=lambda lines: lines[0])
def test_two_steps(lines: list[str]) -> None:
    name, settings = lines[0].split("|")
    expected = [line.strip() for line in lines[1:]]
    method = PlainFqt(network_of(name), settings_of(settings))
    for said in expected:
        loss, digests = stepped(method), method.digests()
        ends = digests if len(digests) == 1 else (*digests[:2], *digests[-2:])
        assert " ".join([hexed([loss]), *(f"{one:08X}" for one in (*ends, step_digest(digests)))]) == said


def test_kept_channels_of_a() -> None:
    method = PlainFqt(network_a(), replace(SETTINGS, lambda_min=0.1, lambda_max=0.8, sparse_head=1))
    shares = ("3F4CCCCD 3EE5A84F", "3F413DF6 3EDF6C0F")
    for said in shares:
        stepped(method)
        assert method.kept == [{0: [0], 2: [0, 2]}, {0: [1], 2: [1]}]
        assert hexed(method.shares) == said


@pytest.mark.parametrize("in_float", [False, True])
def test_kept_channels_of_b(in_float: bool) -> None:
    network = in_float32(network_b()) if in_float else network_b()
    method = PlainFqt(network, replace(SETTINGS, lambda_min=0.4, lambda_max=0.4))
    for said in ([[1, 2, 1, 2, 3, 0], [1, 2, 1, 2, 3, 1]], [[1, 2, 1, 2, 1, 0], [0, 2, 1, 2, 3, 1]]):
        stepped(method)
        for kept, one in zip(method.kept, said, strict=True):
            assert kept == {**{i: [o] for i, o in zip((0, 2, 4, 5, 7, 9), one, strict=True)}, 11: [0, 1, 2]}


A_STEPS = [
    (
        {
            0: ("3B62DE14", -26, [-128, -81, -44, -7, 38, 83, 123, -127, -85], "3BA290BC 3EBCD385", (-128, 119),
                "00000000 3FA7ABAC", "BD291EDC 3DC5E80A 3E24B1E2 3DFBEE2A"),
            2: ("3B797D9A", -1, [-112, -73, -35, 6, 39, 79, 115, -107, -73], "3E83469B 3B0B9C1F 3EBB9BA2", (-120, 122),
                "BD780808 3F6FAEAF", "BE4F9596 3E447E10 BD8C39B6 3DFD4758 3E8BA8C2 3DD5BEC6"),
        }
    ),
    (
        {
            0: ("3B66898C", -27, [-128, -77, -44, -12, 35, 82, 120, -127, -87], "3C090E72 3EBB9708", (-128, 115),
                "00000000 3FA72D6D", "BCCAA2A0 3DBB9078 3DFE7972 3DDE74EA"),
            2: ("3B790B89", -2, [-112, -73, -35, 9, 38, 80, 114, -106, -75], "3E861282 3B54048D 3EB844DE", (-89, 127),
                "BD508316 3F87CA4A", "BE3F8B42 3E39572B BD56F242 3DF54722 3E755BCA 3DA73F4E"),
        }
    ),
]  # fmt: skip


def test_what_moves_in_a() -> None:
    method = PlainFqt(network_a(), SETTINGS)
    for expected in A_STEPS:
        stepped(method)
        for index, (s_w, z_w, weights, bias, seen, ends, statistics) in expected.items():
            layer = method.network.layers[index]
            assert (hexed([layer.s_w]), layer.z_w, layer.weights[:9]) == (s_w, z_w, weights)
            assert (hexed(layer.bias), hexed([layer.low, layer.high])) == (bias, ends)
            assert method.observed[index] == seen
            channels = method.statistics[index]
            assert hexed([one for c in channels for one in (c.mean, c.square)]) == statistics


B_STEPS = [
    (
        "3C701F63 DE80F25D 9EE767B3 BF106CF4 80342FBE 92B4989E 2D7677FB 9D2EA850 9D43EEAA C5342DF1 9DEB7D37 8C2F6154 "
        "646E15DF 737002B3 0E57EF6C D19F1927 DF0E4881",
        "BFE7D7D8 403FC6C7 BF4A0000 403BF0F1 00000000 3FD7F272 00000000 3EBF5757 00000000 3EDEA0A1 "
        "BD600000 3EDFE3E4 BE3CE4E5 3EBFDBDC BF760000 40698000 00000000 400FB7B8 BEBE4C4C 3EDF0D0D",
    ),
    (
        "864A690D F4BA17D6 E0B2CB65 DE04FB0D D0395855 1CA673AC 3BA44EDF FD1FEAD3 17148112 427BC5E8 E867F7DD B1D52AEE "
        "F6097D8E 8BA4594C 496C4DD7 10D59C7F C12EA1AB",
        "BFE7AE99 403F7ADE BF4373F2 403BB534 00000000 3FF2F0C0 00000000 3EBD831E 00000000 3EDCB7B9 "
        "BD520000 3EDF1BE4 BE3A1205 3EBFBA15 BF6EB919 40677CB5 00000000 400F819D BEF1F777 3EDE13FF",
    ),
]


def test_what_moves_in_b() -> None:
    method = PlainFqt(network_b(), SETTINGS)
    for digests, ends in B_STEPS:
        stepped(method)
        assert [f"{one:08X}" for one in method.digests()] == digests.split()
        layers = [method.network.layers[index] for index in (0, 1, 2, 4, 5, 6, 7, 8, 9, 11)]
        assert hexed([one for layer in layers for one in (layer.low, layer.high)]) == ends


def test_a_failure() -> None:
    network = network_a()
    last = network.layers[2]
    last.weights = [last.z_w] * len(last.weights)
    method = PlainFqt(network, replace(SETTINGS, eta=2.0**-40))
    before = method.digests()
    with pytest.raises(StepFailed) as failed:
        stepped(method)
    assert (failed.value.layer, failed.value.cause) == (2, 1)
    assert method.digests() == before

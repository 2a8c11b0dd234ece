"""methods.toml against what is made from it: the generated texts, the classes of the settings, the request `configure`."""

from __future__ import annotations

import struct
from dataclasses import MISSING, fields, replace
from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.methods import METHODS, Method
from hil.training.methods.elasticzo_settings import ElasticZoSettings, Fp32Settings
from hil.training.methods.generate import bounds, main, texts
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.settings import COMMON, MethodSettings, described, sent

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("path", texts())
def test_the_generated_texts_are_in_step(path: str) -> None:
    assert texts()[path] == (ROOT / path).read_text(encoding="utf-8"), "run: python -m hil.training.methods.generate"


def test_the_generator_writes_all_texts(tmp_path: Path) -> None:
    assert main(["generate", str(tmp_path)]) == 0
    assert {path: (tmp_path / path).read_text(encoding="utf-8") for path in texts()} == texts()


@pytest.mark.parametrize("kind", METHODS.values(), ids=lambda kind: kind.name)
def test_the_settings_have_the_names_and_defaults_of_the_table(kind: type[Method]) -> None:
    found = {field.name: None if field.default is MISSING else field.default for field in fields(kind.kind)}
    assert found == {name: setting.default for name, setting in kind.kind.table.items()}
    assert all(setting.doc for setting in kind.kind.table.values())


def test_every_method_has_a_number() -> None:
    assert {kind.loop for kind in METHODS.values()} == set(described(COMMON)["method"].words)


def test_the_bytes_of_configure() -> None:
    chosen = ElasticZoSettings(partition=2, loss="integer", loss_fraction=4, batch=300, seed=9)
    assert chosen.request_fields("elasticzo-int8", 3, 70_000) == {
        "method": 3,
        "settings": struct.pack("<HHII", 300, 3, 9, 70_000) + bytes([2, 1, 5, 84, 7, 1, 0, 0, 0, 4]),
    }
    graph = GraphSettings(method="bp", train="pointwise", blocks=4, eta=0.1, seed=7, fused=1, momentum=-0.0)
    assert graph.request_fields("bp", 1, 5) == {
        "method": 2,
        "settings": struct.pack("<HHII", 1, 1, 7, 5)
        + bytes([3, 4, 1, 2, 0, 0, 0, 1, 1, 0, 10])
        + struct.pack("<fBBf", 0.1, 0, 1, 0.0)
        + struct.pack("<HIHH", 1, 2**20, 38, 128),
    }
    real = Fp32Settings(partition=3, epsilon=0.002, eta=0.05, g_clip=2, batch=32, seed=9)
    assert real.request_fields("elasticzo-fp32", 2, 6) == {
        "method": 4,
        "settings": struct.pack("<HHIIBfff", 32, 2, 9, 6, 3, 0.002, 0.05, 2),
    }


REAL = [(GraphSettings(), "eta"), (GraphSettings(), "momentum")]
REAL += [(Fp32Settings(partition=0), name) for name in ("epsilon", "eta", "g_clip")]


@pytest.mark.parametrize(("settings", "name"), REAL)
def test_the_limits_of_a_real_number_are_those_of_its_bits(settings: MethodSettings, name: str) -> None:
    setting = settings.table[name]
    least, most = (float(np.uint32(bits).view(np.float32)) for bits in bounds(setting))
    assert replace(settings, **{name: least}) and replace(settings, **{name: most})
    for beyond in (np.nextafter(np.float32(least), np.float32(-1)), np.nextafter(np.float32(most), np.float32(np.inf))):
        with pytest.raises(RigError, match=f"setting {name} is"):
            setting.check(float(beyond))


def test_a_method_has_its_number_whatever_table_names_it() -> None:
    every = described(COMMON)["method"]
    for word in GraphSettings.table["method"].words:
        assert GraphSettings.table["method"].number(word) == every.number(word)
    assert list(sent(GraphSettings.table))[: len(described(COMMON))] == list(described(COMMON))

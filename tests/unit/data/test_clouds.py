"""Point clouds: drawn on the surface of a mesh, centred and scaled; the data set is split by shape."""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import clouds, download_routes, furniture
from hil.training.data.clouds import POINTS, as_bytes, drawn, read_obj
from hil.training.data.furniture import CATALOGUES, CLASSES, LIST, class_of, read_clouds
from hil.training.data.store import PARTS

SQUARE = b"# a square and a small triangle\nv 0 0 0\nv 2 0 0 1 1 1\nv 2 2 0\nv 0 2 0\nvn 0 0 1\nf 1/1/1 2/2/2 3//3 4\n"


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def test_a_polygon_is_a_fan_of_triangles() -> None:
    vertices, faces = read_obj(SQUARE)
    np.testing.assert_array_equal(vertices, [[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]])
    np.testing.assert_array_equal(faces, [[0, 1, 2], [0, 2, 3]])


@pytest.mark.parametrize(
    "text, said",
    [
        (b"v 0 0 zero\nf 1 1 1\n", "cannot be read"),
        (b"v 0 0 0\nf 1 2 3\n", "vertices that do not exist"),
        (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\n", "vertices that do not exist"),
        (b"v 0 0 0\nv 1 0 nan\nv 0 1 0\nf 1 2 3\n", "vertices that do not exist"),
        (b"v 0 0 0\n", "no faces"),
    ],
)
def test_a_damaged_mesh_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(RigError, match=said):
        read_obj(text)


def test_points_lie_on_the_surface_by_area() -> None:
    vertices = np.array([[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 5], [1, 0, 5], [0, 1, 5]], np.float64)
    points = drawn(vertices, np.array([[0, 1, 2], [3, 4, 5]]), rng())
    assert points.shape == (POINTS, 3) and set(points[:, 2].tolist()) == {0.0, 5.0}
    assert (points[:, :2] >= 0).all() and (
        points[:, 0] + points[:, 1] <= np.where(points[:, 2] > 0, 1, 3) + 1e-12
    ).all()
    assert 0.85 < (points[:, 2] == 0).mean() < 0.95, "nine tenths of the area"
    np.testing.assert_array_equal(points, drawn(vertices, np.array([[0, 1, 2], [3, 4, 5]]), rng()))
    with pytest.raises(RigError, match="no area"):
        drawn(np.zeros((3, 3)), np.array([[0, 1, 2]]), rng())


def test_bytes_stand_for_a_centred_cloud_of_radius_1() -> None:
    points = rng(2).random((POINTS, 3)) * (1, 2, 3) + 7
    cloud = as_bytes(points)
    assert cloud.shape == (16, 16, 3) and cloud.dtype == np.uint8
    back = (cloud.reshape(-1, 3) - 128.0) / 128
    assert np.abs(back.mean(axis=0)).max() < 0.004 and 0.98 < np.sqrt((back**2).sum(1)).max() < 1.02
    scaled = (points - points.mean(axis=0)) / np.sqrt(((points - points.mean(axis=0)) ** 2).sum(1)).max()
    assert np.abs(back - scaled).max() < 0.01, "point k is row k div 16, column k mod 16"
    assert hashlib.sha256(cloud.tobytes()).hexdigest().startswith(PINNED)


PINNED = "1ef56bda156d495e"


def test_classes_by_words_of_the_names() -> None:
    said = {
        "Oak chair": "chair", "Desk lamp": "lamp", "Bedside table": "table", "Glass door cabinet": "cabinet",
        "Sitting girl": "person", "Double French window": "opening", "Table fan": None, "Spoon": None, "SUV": "vehicle",
    }  # fmt: skip
    assert {name: class_of(name) for name in said} == said
    assert len(CLASSES) == 10


def catalogues(folder: Path, shapes: int = 6, **changed: bytes) -> Path:
    """Write five small catalogues; the first has `shapes` shapes of each class, every other one has one."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, catalogue in enumerate(CATALOGUES):
        with zipfile.ZipFile(folder / f"{catalogue}.sh3f", "w") as archive:
            lines = []
            for label, words in enumerate(CLASSES.values()):
                for shape in range(shapes if place == 0 else 1):
                    number = label * shapes + shape + 1
                    model = f"all/{number}/shape.obj"
                    lines += [f"name#{number}={min(words).capitalize()} {shape}", f"model#{number}=/{model}"]
                    lines += [f"modelRotation#{number}=0 0 1 0 1 0 -1 0 0"] if shape == 1 else []
                    archive.writestr(model, SQUARE + b"v %d %d 5\nf 1 2 5\n" % (label, shape + 10 * place))
            archive.writestr(LIST, changed.get(catalogue, "\n".join(lines).encode()))
    return folder


def test_the_set_is_split_by_shape(tmp_path: Path) -> None:
    folder = catalogues(tmp_path / "usr/share/models")
    train, train_labels, test, test_labels = read_clouds(folder)
    assert train.shape == (80, 16, 16, 3) and test.shape == (20, 16, 16, 3), "two of ten"
    np.testing.assert_array_equal(np.bincount(train_labels), [8] * 10)
    np.testing.assert_array_equal(np.bincount(test_labels), [2] * 10)
    assert set(train_labels[-20:]) != {9}, "in a drawn order"
    assert not {cloud.tobytes() for cloud in train} & {cloud.tobytes() for cloud in test}
    parts = download_routes.from_models("models", "usr/share/models", tmp_path)
    assert list(parts) == list(PARTS) and parts[PARTS[0]].endswith(train.tobytes())


def test_catalogues_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RigError, match="fewer than 5 shapes of the class lamp: take another version of the package"):
        read_clouds(catalogues(tmp_path / "few", Scopia=b"", **{"BlendSwap-CC-0": b""}))
    folder = catalogues(tmp_path / "all")
    with monkeypatch.context() as patch:
        patch.setattr(furniture, "LARGEST_MODEL", 50)
        with pytest.raises(RigError, match=r"shape\.obj has more than 50 bytes"):
            read_clouds(folder)
    with monkeypatch.context() as patch:
        patch.setattr(clouds, "FACE", re.compile(rb"^(no face)$"))
        with pytest.raises(RigError, match=r"all/\d+/shape.obj of BlendSwap-CC-0: its mesh"):
            read_clouds(folder)
    (folder / f"{CATALOGUES[3]}.sh3f").write_bytes(b"no archive")
    with pytest.raises(RigError, match=r"Reallusion\.sh3f cannot be read"):
        read_clouds(folder)

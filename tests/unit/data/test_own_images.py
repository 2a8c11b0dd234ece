"""A folder of images by class: how it is split, what a network gets of it, and what is refused in one sentence."""

from __future__ import annotations

import hashlib
import io
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.own import NetworkInput, image_folder
from hil.training.data.warping import resized

Image = pytest.importorskip("PIL.Image", reason="images need the extra `images`")
RNG = np.random.Generator(np.random.PCG64(20))
TINY = NetworkInput((8, 8, 1))


def save(path: Path, pixels: np.ndarray, **options: object) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path.read_bytes()


def photos(
    folder: Path, classes: tuple[str, ...] = ("cat", "dog"), count: int = 30, size: tuple[int, ...] = (8, 8)
) -> dict[bytes, np.ndarray]:
    """Write images of noise, and return their pixels by the SHA-256 of their files."""
    found = {}
    for name in classes:
        for number in range(count):
            pixels = RNG.integers(0, 256, size, np.uint8)
            found[hashlib.sha256(save(folder / name / f"{number}.png", pixels)).digest()] = pixels
    return found


def test_every_image_is_in_the_part_and_the_place_that_its_bytes_draw(tmp_path: Path) -> None:
    written = photos(tmp_path)
    data = load(tmp_path, TINY)
    draws = {hashlib.sha256(bytes(8) + content).digest(): content for content in written}
    tests = [draw for draw in sorted(draws) if int.from_bytes(draw[:8], "big") % 100 < 20]
    trains = [draw for draw in sorted(draws) if draw not in tests]
    for images, wanted in ((data.train_images, trains), (data.test_images, tests)):
        np.testing.assert_array_equal(images[..., 0], [written[draws[draw]] for draw in wanted])


def test_adding_images_moves_no_others(tmp_path: Path) -> None:
    photos(tmp_path)
    before = load(tmp_path, TINY)
    photos(tmp_path, ("cow",), 20)
    (tmp_path / "cat/0.png").rename(tmp_path / "cat/zero.png")
    after = load(tmp_path, TINY)
    for mine, whole in ((before.train_images, after.train_images), (before.test_images, after.test_images)):
        seen = {image.tobytes() for image in mine}
        assert [image.tobytes() for image in mine] == [image.tobytes() for image in whole if image.tobytes() in seen]


def test_own_parts_stay_and_the_digest_is_over_paths_and_files(tmp_path: Path) -> None:
    photos(tmp_path / "train", count=6)
    photos(tmp_path / "test", ("dog",), 3)
    data = load(tmp_path, TINY)
    assert [(one.name, one.train, one.test) for one in data.card.classes] == [("cat", 6, 0), ("dog", 6, 3)]
    whole = hashlib.sha256()
    for path in sorted(tmp_path.rglob("*.png"), key=lambda one: (one.parts[-3] != "train", one.parts[-2], one.name)):
        whole.update(
            path.relative_to(tmp_path).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest()
        )
    assert data.card.sha256 == whole.hexdigest()


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.JPG", "a.jpeg"])
def test_formats_sizes_and_colours(tmp_path: Path, name: str) -> None:
    colour = np.repeat(np.repeat(RNG.integers(0, 256, (2, 3, 3), np.uint8), 8, 0), 8, 1)
    lossless = name[-3:] in ("png", "bmp")
    options = {} if lossless else {"quality": 100, "subsampling": 0}
    for part in ("train", "test"):
        save(tmp_path / part / "x" / name, colour, **options)
        save(tmp_path / part / "y/grey.png", np.full((5, 7), 90, np.uint8))
    data = load(tmp_path, NetworkInput((6, 4, 3)))
    got = data.test_images[data.test_labels == 0][0].astype(int)
    assert np.abs(got - resized(colour[None], 6, 4, 3)[0]).max() <= (0 if lossless else 12)
    assert np.all(data.test_images[data.test_labels == 1] == 90)


def test_grey_is_the_luma_of_rec_601(tmp_path: Path) -> None:
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], np.uint8)
    save(tmp_path / "train/a/0.png", colours)
    save(tmp_path / "train/b/0.png", colours[:, ::-1])
    save(tmp_path / "test/a/0.png", colours)
    got = load(tmp_path, NetworkInput((1, 4, 1))).test_images.ravel().tolist()
    assert np.abs(np.array(got) - [0.299 * 255, 0.587 * 255, 0.114 * 255, 255]).max() < 1


def test_without_a_network_all_images_have_one_size(tmp_path: Path) -> None:
    photos(tmp_path, size=(5, 6, 3))
    assert load(tmp_path).train_images.shape[1:] == (5, 6, 3)
    assert load(f"{tmp_path}@8x8x1").train_images.shape[1:] == (8, 8, 1)
    save(tmp_path / "dog/large.png", np.zeros((9, 6, 3), np.uint8))
    with pytest.raises(RigError, match=r"large\.png is 9x6x3, the first image 5x6x3: .*FOLDER@28x28x1"):
        load(tmp_path)
    assert load(f"{tmp_path}/@8x8x1+fog-2").card.changes == "@8x8x1+fog-2"


def test_a_size_in_the_name_is_read_at_once_and_corruptions_follow(tmp_path: Path) -> None:
    photos(tmp_path, size=(20, 20))
    name = f"{tmp_path}@16x16x1"
    plain = load(name, TINY)
    np.testing.assert_array_equal(load(f"{name}@8x8x1", TINY).train_images, resized(plain.train_images, 8, 8, 1))


def _png_header(width: int, height: int) -> bytes:
    """A PNG of a size that its bytes do not have."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))  # noqa: E731
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


def _sixteen_bits() -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.zeros((4, 4), np.uint16)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("cat/bad.png", b"no image", r"cat/bad\.png cannot be read as PNG, JPEG or BMP"),
        ("cat/cut.png", None, r"cat/cut\.png cannot be read"),
        ("cat/wide.png", _png_header(20000, 4000), r"cat/wide\.png has 20,000 x 4,000 pixels"),
        ("cat/bomb.png", _png_header(60000, 60000), r"cat/bomb\.png "),
        ("cat/deep.png", _sixteen_bits(), r"cat/deep\.png has pixels of mode I;16: convert it to 8 bits"),
        ("cat/a.gif", b"GIF89a", r"cat/a\.gif does not end in \.png"),
        ("loose.png", b"", r"the image 'loose\.png' in no class"),
        ("cat/kittens/a.png", b"", r"cat has the folder 'kittens' in a class"),
        ("train/cat/a.png", b"", r"has the folder train, but no test"),
        ("empty/", b"", r"empty has no images"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, data: bytes | None, said: str) -> None:
    photos(tmp_path, count=8)
    if name.endswith("/"):
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data if data is not None else (tmp_path / "cat/0.png").read_bytes()[:70])
    with pytest.raises(RigError, match=said) as refused:
        load(tmp_path, TINY)
    assert "\n" not in str(refused.value) and "0x" not in str(refused.value)


def test_a_class_needs_others_and_training_images(tmp_path: Path) -> None:
    photos(tmp_path / "one", ("cat",))
    with pytest.raises(RigError, match="one class only, 'cat'"):
        load(tmp_path / "one", TINY)
    photos(tmp_path / "two/train", ("cat", "dog"), 2)
    photos(tmp_path / "two/test", ("cow",), 2)
    with pytest.raises(RigError, match="no training sample of class 'cow': add images"):
        load(tmp_path / "two", TINY)
    (tmp_path / "none").mkdir()
    with pytest.raises(RigError, match="no folders of classes"):
        load(tmp_path / "none", TINY)


def test_limits_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photos(tmp_path, count=8)
    with pytest.raises(RigError, match=r"have 1 or 3 channels, the network takes 6"):
        load(tmp_path, NetworkInput((128, 1, 6)))
    monkeypatch.setattr(image_folder, "LARGEST", 1000)
    with pytest.raises(RigError, match=r"has 16 images, at 8x8x1 more than 1,000 bytes"):
        load(tmp_path, TINY)
    monkeypatch.setattr(image_folder, "MOST_FILES", 15)
    with pytest.raises(RigError, match="more than 15 files"):
        load(tmp_path, TINY)


def test_without_pillow_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photos(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(RigError, match=r"Pillow, which is not installed: pip install 'trainrig\[images\]'"):
        load(tmp_path, TINY)


def test_hidden_files_and_the_card_are_no_images(tmp_path: Path) -> None:
    photos(tmp_path, ("0", "2", "10"))
    (tmp_path / ".DS_Store").write_text("")
    (tmp_path / "card.toml").write_text('licence = "CC BY 4.0"')
    (tmp_path / "2/.hidden").write_text("")
    card = load(tmp_path, TINY).card
    assert card.licence == "CC BY 4.0" and [one.label for one in card.classes] == [0, 2, 10]

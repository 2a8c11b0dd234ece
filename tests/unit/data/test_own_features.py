"""Own features from .npz and .csv: what becomes of them, and what is refused in one sentence."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.own import NetworkInput, csv_file
from hil.training.data.own.byte_range import as_bytes, range_of
from hil.training.data.own.features import shape_of
from hil.training.data.own.split import digests, split
from tests.bombs import in_little_memory

RNG = np.random.Generator(np.random.PCG64(19))
FLOATS = st.floats(-1e6, 1e6, width=32)


def npz(path: Path, **members: object) -> str:
    with path.open("wb") as file:
        np.savez(file, **members)  # type: ignore[arg-type]
    return str(path)


def series(count: int = 60) -> dict[str, np.ndarray]:
    values = RNG.normal(0, 3, (count, 16, 2)).astype(np.float32)
    return {"x": values, "y": np.arange(count) % 3}


# --- the split


@given(st.lists(st.binary(max_size=8), max_size=60, unique=True), st.integers(0, 2**32 - 1), st.integers(1, 99))
def test_adding_samples_moves_no_others(contents: list[bytes], seed: int, percent: int) -> None:
    """The parts of some samples are those of all, without the others, in the same order."""
    hashes = [hashlib.sha256(content).digest() for content in contents]
    few = hashes[::2]
    for mine, whole in zip(split(few, seed, percent), split(hashes, seed, percent), strict=True):
        assert [few[at] for at in mine] == [hashes[at] for at in whole if hashes[at] in few]


@given(st.lists(st.binary(max_size=4), max_size=60), st.randoms(use_true_random=False))
def test_the_order_of_a_file_does_not_matter_and_the_same_content_is_in_one_part(contents: list[bytes], rng) -> None:  # type: ignore[no-untyped-def]
    hashes = [hashlib.sha256(content).digest() for content in contents]
    other = list(hashes)
    rng.shuffle(other)
    first, second = ([[one[at] for at in part] for part in split(one, 7, 30)] for one in (hashes, other))
    assert first == second
    assert not set(first[0]) & set(first[1])
    assert sorted(first[0] + first[1]) == sorted(hashes)


def test_the_rule_is_the_one_that_the_card_states() -> None:
    """By hand, from the words of docs/data.md."""
    contents = [hashlib.sha256(bytes([n])).digest() for n in range(200)]
    draws = [hashlib.sha256((3).to_bytes(8, "little") + content).digest() for content in contents]
    wanted = {n for n in range(200) if int(draws[n][:8].hex(), 16) % 100 < 20}
    train, test = split(contents, 3, 20)
    assert set(test.tolist()) == wanted and 20 <= len(wanted) <= 60
    assert train.tolist() == sorted(set(range(200)) - wanted, key=lambda n: draws[n])


def test_the_content_of_a_sample_has_one_byte_order() -> None:
    values = RNG.normal(size=(3, 4)).astype("<f4")
    assert digests(values) == digests(values.astype(">f4")) == digests(np.asfortranarray(values))
    assert digests(values)[1] == hashlib.sha256(values[1].tobytes()).digest()


# --- bytes


@given(arrays.arrays(np.float32, (5, 2, 1, 3), elements=FLOATS))
def test_bytes_are_within_a_step_of_the_numbers_and_in_their_order(values: np.ndarray) -> None:
    by = range_of(values)
    made = as_bytes(values, by)
    scale, zero = np.array(by.scale), np.array(by.zero)
    assert np.all(scale > 0)
    back = scale * (made.astype(float) - zero)
    assert np.all(np.abs(back - values) <= scale * 1.0000001)
    for channel in range(3):
        one, of_one = values[..., channel].ravel(), made[..., channel].ravel()
        assert np.all(np.diff(of_one[np.argsort(one)].astype(int)) >= 0)
        if one.max() - one.min() > 1e-3:
            assert (of_one.min(), of_one[np.argmin(one)]) == (0, 0) and of_one.max() >= 254


def test_test_samples_do_not_decide_the_range(tmp_path: Path) -> None:
    x, y = RNG.normal(size=(20, 8, 1)), np.arange(20) % 2
    near, far = (
        load(npz(tmp_path / f"{name}.npz", train_x=x, train_y=y, test_x=x * by, test_y=y))
        for name, by in (("near", 1), ("far", 1000))
    )
    np.testing.assert_array_equal(near.train_images, far.train_images)
    assert near.card.range == far.card.range
    assert set(np.unique(far.test_images)) == {0, 255} or far.test_images.mean() != near.test_images.mean()


def test_a_network_may_give_the_range(tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text('range = "network"\n')
    x = np.array([[-1.0, 0.0], [0.5, 1.0], [-0.25, 3.0], [0.0, 0.0]])
    path = npz(tmp_path / "s.npz", train_x=x, train_y=[0, 1, 0, 1], test_x=x, test_y=[0, 1, 0, 1])
    data = load(path, NetworkInput((2, 1, 1), 1 / 128, 128))
    assert data.card.range is not None and data.card.range.zero == (128,)
    found = {tuple(row) for row in data.train_images.reshape(4, 2).tolist()}
    assert found == {(0, 128), (192, 255), (96, 255), (128, 128)}
    with pytest.raises(RigError, match="range = 'network', but no network"):
        load(path)


# --- shapes


@pytest.mark.parametrize(
    ("found", "network", "images", "wanted"),
    [
        ((784,), (28, 28, 1), False, (28, 28, 1)),
        ((768,), (128, 1, 6), False, (128, 1, 6)),
        ((128, 6), (128, 1, 6), False, (128, 1, 6)),
        ((28, 28), (28, 28, 1), False, (28, 28, 1)),
        ((28, 28, 1), (28, 28, 1), True, (28, 28, 1)),
        ((512,), None, False, (1, 1, 512)),
        ((128, 6), None, False, (128, 1, 6)),
        ((20, 30), None, True, (20, 30, 1)),
        ((6, 128), (128, 1, 6), False, (6, 1, 128)),  # not turned: it does not fit
    ],
)
def test_shapes(found: tuple[int, ...], network: tuple[int, int, int] | None, images: bool, wanted: object) -> None:
    assert shape_of(found, network and NetworkInput(network), images) == wanted


def test_bytes_stay_and_sizes_change_by_suffix(tmp_path: Path) -> None:
    x = RNG.integers(0, 256, (40, 20, 24, 3), np.uint8)
    path = npz(tmp_path / "s.npz", x=x, y=np.arange(40) % 2)
    data = load(path, NetworkInput((28, 28, 3)))
    assert data.train_images.shape[1:] == (20, 24, 3) and data.card.range is None
    assert {image.tobytes() for image in np.concatenate([data.train_images, data.test_images])} == {
        image.tobytes() for image in x
    }
    assert load(f"{path}@28x28x3").train_images.shape[1:] == (28, 28, 3)


def test_suffixes_work_on_own_data(tmp_path: Path) -> None:
    x = RNG.integers(0, 256, (400, 8, 8, 1), np.uint8)
    path = npz(tmp_path / "set@2024.npz", x=x, y=np.arange(400) % 4)  # a name that looks like a cut
    whole, part = load(path), load(f"{path}+fog-5@50-20")
    assert (len(part.train_images), len(part.test_images)) == (50, 20)
    np.testing.assert_array_equal(part.train_labels, whole.train_labels[:50])
    assert not np.array_equal(part.train_images, whole.train_images[:50])
    assert part.card.changes == "+fog-5@50-20" and part.card.sha256 == whole.card.sha256
    assert sum(one.train for one in part.card.classes) == 50
    task = load(f"{path}@2-way-1-shot-test-3")
    assert [one.name for one in task.card.classes] == ["0", "1"]


# --- labels


def test_names_are_numbered_in_order_and_numbers_stay(tmp_path: Path) -> None:
    x = RNG.normal(size=(60, 4))
    by_name = load(npz(tmp_path / "a.npz", x=x, y=np.array(["dog", "ape", "cat"] * 20)))
    assert [(one.label, one.name) for one in by_name.card.classes] == [(0, "ape"), (1, "cat"), (2, "dog")]
    by_number = load(npz(tmp_path / "b.npz", x=x, y=np.array([9, 0, 10] * 20)))
    assert [one.label for one in by_number.card.classes] == [0, 9, 10]
    as_text = load(npz(tmp_path / "c.npz", x=x, y=np.array(["9", "0", "10"] * 20)))
    np.testing.assert_array_equal(by_number.train_labels, as_text.train_labels)
    as_column = load(npz(tmp_path / "d.npz", x=x, y=np.array([[9], [0], [10]] * 20)))
    np.testing.assert_array_equal(by_number.train_labels, as_column.train_labels)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"x": np.ones((4, 2))}, r"has x: give an \.npz with the arrays train_x, train_y, test_x, test_y, or x and y"),
        ({"x": np.ones((4, 2)), "y": np.zeros(3, int)}, "4 samples in x and 3 labels"),
        ({"x": np.ones((30, 2)), "y": np.zeros(30, int)}, "one class only, '0'"),
        ({"x": np.ones((4, 2)), "y": np.array([0, -1, 0, 0])}, "the label -1"),
        (
            {"x": np.ones((4, 2)), "y": np.array([0, 1024, 0, 0])},
            "the label 1024: number the classes from 0, at most 1,023",
        ),
        ({"x": np.ones((4, 2)), "y": np.ones((4, 2))}, r"float64\[4, 2\]: give one whole number or one name"),
        ({"x": np.ones((4, 1, 1, 1, 1)), "y": np.zeros(4, int)}, "samples of 1 to 3 axes"),
        ({"x": np.ones((0, 2)), "y": np.zeros(0, int)}, "none of them empty"),
        ({"x": np.array(["a"] * 4), "y": np.zeros(4, int)}, "give numbers as"),
        ({"x": np.array([{}, {}], object), "y": np.zeros(2, int)}, "cannot be read as .npz"),
        ({"x": np.ones((4, 2)), "y": np.array(["\n"] * 4)}, "1 to 100 printable characters"),
    ],
)
def test_what_is_no_data_set_is_refused(tmp_path: Path, members: dict[str, object], said: str) -> None:
    path = npz(tmp_path / "mine.npz", **members)
    with pytest.raises(RigError, match=said) as refused:
        load(path)
    assert "\n" not in str(refused.value) and "mine.npz" in str(refused.value)


def test_more_classes_than_a_byte_has(tmp_path: Path) -> None:
    labels = np.arange(3000) % 300
    np.savez(tmp_path / "many.npz", x=np.arange(6000, dtype=np.float32).reshape(3000, 2), y=labels)
    data = load(str(tmp_path / "many.npz"))
    assert data.train_labels.dtype == data.test_labels.dtype == np.uint16 and data.train_labels.max() == 299
    assert [(one.label, one.name, one.train + one.test) for one in data.card.classes[-2:]] == [
        (298, "298", 10),
        (299, "299", 10),
    ]
    folded = {"x": np.arange(6000, dtype=np.float32).reshape(3000, 2), "y": labels % 256}
    np.savez(tmp_path / "many.npz", **folded)
    assert load(str(tmp_path / "many.npz")).sha256 != data.sha256


def test_parts_must_have_the_same_shape_and_classes(tmp_path: Path) -> None:
    x, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
    with pytest.raises(RigError, match=r"samples of \[2\] and \[3\]"):
        load(npz(tmp_path / "a.npz", train_x=x, train_y=y, test_x=np.ones((4, 3)), test_y=y))
    with pytest.raises(RigError, match="no training sample of class '2': give training and test samples"):
        load(npz(tmp_path / "b.npz", train_x=x, train_y=y, test_x=x, test_y=y + 1))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e300])
def test_numbers_that_are_none_are_named(tmp_path: Path, wrong: float) -> None:
    values = RNG.normal(size=(40, 5, 2))
    values[17, 3, 1] = wrong
    with pytest.raises(RigError, match=r"bad\.npz: x has .* at \[17, 3, 1\]: give finite numbers"):
        load(npz(tmp_path / "bad.npz", x=values, y=np.arange(40) % 2))


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (257 << 20,)})
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("x.npy", "w", force_zip64=True) as member,
    ):
        member.write(header.getvalue())
        for _ in range(257):
            member.write(bytes(1 << 20))
    said = in_little_memory("from hil.training.data.own.npz_file import read_parts; read_parts(path)", path)
    assert "bomb.npz, unpacked, has more than 256 MB" in said


# --- CSV


def csv(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


ROWS = "".join(f"{n},{n * n},{'odd' if n % 2 else 'even'}\r\n" for n in range(40))


def test_the_column_called_label_has_the_class_or_else_the_last(tmp_path: Path) -> None:
    last = load(csv(tmp_path / "last.csv", "a,b,kind\r\n" + ROWS))
    named = csv_file.read_part(Path(csv(tmp_path / "named.csv", "\ufeffa,label,b\n1,x,2\n\n3,y,4\n")))
    assert [one.name for one in last.card.classes] == ["even", "odd"] and last.train_images.shape[1:] == (1, 1, 2)
    assert list(named.labels) == ["x", "y"]
    np.testing.assert_array_equal(named.values, [[1, 2], [3, 4]])
    assert last.card.sha256 == hashlib.sha256((tmp_path / "last.csv").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,label\n1,2,x\n1,two,y\n", r"line 3, column 'b': it is 'two'"),
        ("a,b,label\n1,,x\n", r"line 2, column 'b': it is empty"),
        ("a,b,label\n1,nan,x\n", r"column 'b': it is 'nan'"),
        ("a,b,label\n1,1e999,x\n", r"column 'b': it is '1e999'"),
        ("a,b,label\n1,1_0,x\n", r"column 'b': it is '1_0'"),
        ("a,b,label\n1,2,x\n\n1,2\n", "line 4: it has 2 fields, the header 3"),
        ("a,b,label\n1,2, \n", "line 2, column 'label': it names no class"),
        ("1,2,3\n4,5,6\n", "has the header"),
        ("a,a,label\n1,2,x\n", "each differently"),
        ("label\nx\n", "has the header"),
        ("", "has the header"),
        ('a,b,label\n1,"2,x\n', "line 2"),
        ("a,b,label\n", "none of them empty"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RigError, match=said) as refused:
        load(csv(tmp_path / "mine.csv", text))
    assert str(refused.value).startswith(str(tmp_path / "mine.csv"))


@settings(max_examples=50)
@given(st.lists(st.tuples(FLOATS, FLOATS, st.sampled_from("ab")), min_size=1, max_size=20))
def test_numbers_of_a_csv_are_those_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float, str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "mine.csv"
    path.write_text("u,v,label\n" + "".join(f"{u!r},{v!r},{name}\n" for u, v, name in rows))
    part = csv_file.read_part(path)
    np.testing.assert_array_equal(part.values, [[u, v] for u, v, _ in rows])
    assert "".join(part.labels) == "".join(name for *_, name in rows)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(b"a,label\n\xff,x\n")
    with pytest.raises(RigError, match="is not UTF-8"):
        load(tmp_path / "mine.csv")


# --- paths and cards


def test_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RigError, match=r"there are no data at .*none\.npz: give a folder of images by class"):
        load(f"{tmp_path}/none.npz@10")
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(RigError, match=r"notes\.txt is no data set"):
        load(tmp_path / "notes.txt")
    (tmp_path / "photos").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RigError, match=r"no data set 'photos': write \./photos"):
        load("photos")


def test_the_card_states_what_its_file_says(tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text(
        'name = "Screws"\nlicence = "CC0"\nsource = "line 3"\nsplit_seed = 4\ntest_percent = 50\n'
    )
    card = load(npz(tmp_path / "s.npz", **series(200))).card
    assert (card.name, card.licence, card.source, card.split_seed, card.file) == ("Screws", "CC0", "line 3", 4, "s.npz")
    assert 60 < sum(one.test for one in card.classes) < 140 and "50 to 50" in card.split


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('license = "CC0"', "unknown key 'license'.*did you mean licence"),
        ("licence = 1", "licence is 1: give text of 1 to 1,000"),
        ("test_percent = 100", "a whole number in 1..99"),
        ("test_percent = true", "a whole number in 1..99"),
        ('range = "all"', "give 'training' or 'network'"),
        ("name = ", "card.toml: .*correct it or remove it"),
    ],
)
def test_a_wrong_card_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "card.toml").write_text(text)
    with pytest.raises(RigError, match=said):
        load(npz(tmp_path / "s.npz", **series()))


def test_changed_files_are_read_again(tmp_path: Path) -> None:
    path = npz(tmp_path / "s.npz", **series())
    first = load(path)
    assert load(path) is first
    (tmp_path / "card.toml").write_text('licence = "CC0"')
    assert load(path).card.licence == "CC0"
    npz(tmp_path / "s.npz", **series(90))
    assert load(path).sha256 != first.sha256

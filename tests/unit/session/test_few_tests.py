"""How many tests a command line names: never fewer than pytest collects, and exactly as many where files are plain."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.session.few_tests import tests_at_most as at_most

FILES = {
    "one": ("def test_a():\n    pass\n", 1),
    "two": ("def test_a():\n    pass\n\n\nclass TestB:\n    def test_b(self):\n        pass\n", 2),
    "helper": ("def a():\n    pass\n\n\nasync def test_b():\n    pass\n", 1),
    "none": ("VALUE = 1\n", 0),
    "several": ("import pytest\n\n\n@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    pass\n", None),
    "fixture": ("import pytest\n\n\n@pytest.fixture(params=[1, 2])\ndef a():\n    pass\n\n\ndef test_a(a):\n    pass\n", None),
    "derived": ("class Base:\n    def test_a(self):\n        pass\n\n\nclass TestB(Base):\n    pass\n", None),
    "imported": ("from test_one import test_a\n", None),
    "wrong": ("def test_a(:\n", None),
}  # fmt: skip


class Seen:
    """A plugin that notes what the command line names at most, and what was collected."""

    def pytest_configure(self, config: pytest.Config) -> None:
        self.most = at_most(config)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = len(session.items)


def seen(folder: Path, *arguments: str) -> tuple[int | None, int]:
    plugin = Seen()
    options = ["-qq", "--collect-only", "--import-mode=importlib", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    pytest.main([*options, *arguments], plugins=[plugin])
    return plugin.most, getattr(plugin, "collected", 0)


@pytest.mark.parametrize("name", FILES)
def test_a_file(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = FILES[name][1]
    for each in {name, "one"} if name == "imported" else {name}:
        (tmp_path / f"test_{each}.py").write_text(FILES[each][0])
    monkeypatch.chdir(tmp_path)
    most, collected = seen(tmp_path, f"test_{name}.py")
    assert most == known and (most is None or collected <= most)


def test_names_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_two.py").write_text(FILES["two"][0])
    (tmp_path / "test_one.py").write_text(FILES["one"][0])
    monkeypatch.chdir(tmp_path)
    assert seen(tmp_path, "test_two.py::TestB::test_b") == (1, 1)
    assert seen(tmp_path, "test_two.py", "test_one.py") == (3, 3)
    assert seen(tmp_path, "test_two.py::TestB")[0] == 2  # a class: at most all of the file
    assert seen(tmp_path)[0] is None and seen(tmp_path, ".")[0] is None  # a folder

"""`--rig FILE` of every command: the plugins that the file names are known before any other option is checked."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hil import boards
from hil.arguments import add_rig
from hil.commands.main import main
from hil.plugins.folders import VARIABLE

HIL = Path(boards.__file__).parents[1]


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugin: Callable[..., Path]) -> Path:
    """A rig.toml in another folder, with the plugin of a board beside it."""
    plugin(tmp_path / "acme", "", "boards: acme = M:BOARDS")
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "mine.toml").write_text('plugins = ["../acme"]\n')
    return tmp_path / "bench" / "mine.toml"


def test_the_plugins_of_the_file_are_known_as_soon_as_the_options_are_parsed(rig: Path) -> None:
    assert not boards.is_known("acme")
    parser = argparse.ArgumentParser()
    add_rig(parser)
    assert parser.parse_args([f"--rig={rig}"]).rig == rig and boards.is_known("acme")


@pytest.mark.parametrize(
    "command",  # of hil/training
    [
        ("campaign", "start"),
        ("weights", "save", "w.npz"),
        ("mlperf-tiny", "--network=lenet5-tflite"),
    ],
)
def test_a_command_that_checks_the_board_first_knows_it(
    rig: Path, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """The next thing is refused: acme has no prebuilt image."""
    assert main([*command, "--board=acme", f"--rig={rig}"]) == 2
    assert "there is no prebuilt image for acme" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_the_error_of_who_reads_it(tmp_path: Path) -> None:
    (tmp_path / "rig.toml").write_text("plugins = [")
    parser = argparse.ArgumentParser()
    add_rig(parser)
    for path in (tmp_path / "rig.toml", tmp_path / "none.toml"):
        assert parser.parse_args([f"--rig={path}"]).rig == path


def test_no_command_adds_the_option_by_itself() -> None:
    """pytest's own option is read before its boards are checked (hil/session/rig_session.py)."""
    own = {
        str(path.relative_to(HIL)) for path in HIL.rglob("*.py") if re.search(r"""["']--rig["']""", path.read_text())
    }
    reads = {"verify/images.py"}  # the command of a record
    assert own == {"arguments.py", "session/options.py"} | reads

"""A plugin that is broken is one sentence, which names it, the place and the cure, and costs nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hil import boards
from hil.commands.main import main
from hil.endpoints import Endpoints
from hil.errors import Blocked, RigError
from hil.images import Image
from hil.plugins.folders import VARIABLE, use_folders
from hil.rig import Rig
from hil.rig_toml import Bench, read_bench
from hil.targets.flash_route import Flashing, FlashRoute, route_of
from tests.device_at import device_at

BOARD = (boards.catalogue.FOLDER / "mps2-an386.toml").read_text().partition("[budget]")[0]
Plugin = Callable[..., Path]
Said = Callable[[], list[str]]


def test_a_board_of_a_folder_is_in_the_catalogue(tmp_path: Path, plugin: Plugin, said: Said) -> None:
    plugin(tmp_path / "acme", "", "boards: acme = M:BOARDS")
    assert said() == []
    assert boards.load("acme").title == "Arm MPS2+ AN386"
    assert boards.load("acme").sram_budget("cls1", 1, "sample") is None


@pytest.mark.parametrize(
    ("code", "entry", "why"),
    [
        ("import no_such_module", "M:BOARDS", r"importing plug_acme raises ModuleNotFoundError \(No module named "
         r"'no_such_module'; .*plug_acme\.py, line 3\): correct it, or take .*acme out of `plugins` in rig\.toml\.$"),
        ("raise SystemExit(3)", "M:BOARDS", r"importing plug_acme raises SystemExit \(3; .*line 3\)"),
        ("def", "M:BOARDS", r"importing plug_acme raises SyntaxError \(.*line 3"),
        ("", "M:NOTHING", r"plug_acme has no NOTHING: correct it"),
        ("", "plug_elsewhere:BOARDS", r"importing plug_elsewhere raises ModuleNotFoundError"),
        ("", "json:loads", r"its module json is another one of this name, .*json/__init__\.py: rename one of the two"),
        ("API = 2", "M:BOARDS", r"it is built for version 2 of the plugin interface, and trainrig \S+ has version 1: "
         "take another version of it, or take"),
        ("API = '1'", "M:BOARDS", "it is built for version '1' of the plugin interface"),
        ("API = True", "M:BOARDS", "it is built for version True of the plugin interface"),
        ("FOLDER = 'boards'", "M:FOLDER", "a board is offered as the folder"),
        ("GONE = BOARDS / 'gone'", "M:GONE", r"gone/acme\.toml cannot be read \(No such file"),
    ],
)  # fmt: skip
def test_a_board_that_cannot_be_loaded(
    tmp_path: Path, code: str, entry: str, why: str, plugin: Plugin, said: Said
) -> None:
    plugin(tmp_path / "acme", code, f"boards: acme = {entry}")
    place = rf"^'acme' in the boards of acme-rig 1\.0 in .*acme cannot be used: .*{why}"
    (sentence,) = said()
    with pytest.raises(Blocked, match="^plugin: ") as error:
        boards.load("acme")
    assert error.value.reason == sentence
    with pytest.raises(AssertionError, match=place):
        raise AssertionError(sentence)
    assert "acme" not in [board.name for board in boards.working()[0]]
    assert boards.load("stm32h7b3") in boards.working()[0]


def test_the_version_may_be_stated_by_the_package(tmp_path: Path, plugin: Plugin, said: Said) -> None:
    folder = plugin(tmp_path / "acme", "", "boards: acme = plug_whole.inner:BOARDS")
    (folder / "plug_whole").mkdir()
    (folder / "plug_whole" / "__init__.py").write_text("API = 7\n")
    (folder / "plug_whole" / "inner.py").write_text("from pathlib import Path\nBOARDS = Path(__file__).parents[1]\n")
    assert "built for version 7" in said()[0]


def test_a_name_that_is_taken(tmp_path: Path, plugin: Plugin, said: Said) -> None:
    """The house's names stay the house's, and the first plugin keeps its own."""
    plugin(tmp_path / "acme", "", "boards: acme = M:BOARDS", name="first")
    plugin(
        tmp_path / "other",
        "",
        "boards: acme = M:BOARDS",
        "meters: stm32h7b3 = M:BOARDS",
        name="second",
    )
    plugin(tmp_path / "third", "", "boards: stm32h7b3 = M:BOARDS", name="third")
    found = said()
    assert any(
        "'acme' in the boards of second 1.0" in one and "first 1.0 in" in one and "rename it" in one for one in found
    )
    assert any("'stm32h7b3' in the boards of third" in one and "trainrig" in one for one in found)
    assert boards.load("acme").name == "acme" and boards.load("stm32h7b3").title == "STM32H7B3I-DK"
    assert [str(error)[:40] for error in boards.BOARDS.left_out("acme")] == ["plugin: 'acme' in the boards of second 1"]


@pytest.mark.parametrize("name", ["Acme", "a/b", "../acme", "a b", ""])
def test_a_name_that_is_none(tmp_path: Path, name: str, plugin: Plugin, said: Said) -> None:
    plugin(tmp_path / "acme", "", f"boards: {name} = M:BOARDS")
    assert "its name is not of lower-case letters, digits, dots and dashes: rename it" in said()[0]
    with pytest.raises(RigError, match="the catalogue has no board"):
        boards.load(name)


def test_two_folders_with_a_module_of_one_name(tmp_path: Path, plugin: Plugin, said: Said) -> None:
    """The second is not taken for the first."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plugin(tmp_path / "a" / "acme", "", "boards: acme = M:BOARDS", name="first")
    plugin(tmp_path / "b" / "acme", "", "meters: pm1 = M:BOARDS", name="second")
    assert boards.load("acme")
    assert [("another one of this name" in one, "second" in one) for one in said()] == [(True, True)]


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (None, r"pyproject\.toml cannot be read \(No such file or directory\): a folder of plugins has one"),
        ("[project", r"pyproject\.toml: .*a folder of plugins has one"),
        ("[project]\nname = 'x'", r"offers nothing to trainrig: add a table \[project\.entry-points"),
        ("[project.entry-points]\n'trainrig.boards' = 3", "offers nothing to trainrig"),
        ("[project.entry-points.'trainrig.bords']\nx = 'y:z'", r"trainrig\.bords, which trainrig does not have: did you mean boards"),
    ],
)  # fmt: skip
def test_a_folder_that_offers_nothing(tmp_path: Path, file: str | None, why: str, said: Said) -> None:
    (tmp_path / "acme").mkdir()
    if file is not None:
        (tmp_path / "acme" / "pyproject.toml").write_text(file)
    use_folders([tmp_path / "acme"])
    (found,) = said()
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(found)
    assert boards.load("stm32h7b3")
    named = "" if file is not None and "bords" in file else " .*" + why.partition(":")[0][:20]
    with pytest.raises(RigError, match="the catalogue has no board 'acme'" + named):
        boards.load("acme")


def test_a_folder_of_rig_toml_that_is_not_there_costs_no_board(tmp_path: Path, said: Said) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text('plugins = ["gone"]\n[[board]]\nname = "stm32h7b3"\n')
    assert read_bench(rig).find("stm32h7b3")
    assert said() == [f"there is no folder of plugins {tmp_path / 'gone'}: correct `plugins` in rig.toml."]
    rig.write_text("plugins = 3\n")
    with pytest.raises(RigError, match=r"rig\.toml, line 1, key plugins: input should be a valid list"):
        read_bench(rig)


def test_folders_of_the_rig_toml_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugin: Plugin, said: Said
) -> None:
    """Commands that read no rig.toml look there when they need a name; a damaged one is a sentence."""
    monkeypatch.delenv(VARIABLE)
    plugin(tmp_path / "acme", "", "boards: acme = M:BOARDS")
    del os.environ[VARIABLE]
    monkeypatch.chdir(tmp_path)
    Path("rig.toml").write_text('plugins = ["acme"]\n')
    assert boards.load("acme")
    Path("rig.toml").write_text("plugins = 7\n")
    assert said() == ['rig.toml, key plugins: it is not a list of folders: write plugins = ["FOLDER"].']
    Path("rig.toml").write_text("plugins = [\n")
    assert "rig.toml" in said()[0] and boards.load("stm32h7b3")


def test_an_installed_package_and_its_folder_are_one(tmp_path: Path, plugin: Plugin, said: Said) -> None:
    site = tmp_path / "site"
    about = site / "Acme_Rig-0.9.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: Acme_Rig\nVersion: 0.9\n")
    (about / "entry_points.txt").write_text("[trainrig.boards]\nacme = plug_acme:BOARDS\n")
    sys.path.append(str(site))
    assert "'acme' in the boards of Acme_Rig 0.9 cannot be used" in said()[0] and "uninstall Acme_Rig." in said()[0]
    plugin(tmp_path / "acme", "", "boards: acme = M:BOARDS")
    assert said() == [] and boards.load("acme")


def test_entry_points_that_cannot_be_read(tmp_path: Path, said: Said) -> None:
    about = tmp_path / "site" / "acme-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[trainrig.boards]\nacme\n")
    sys.path.append(str(about.parent))
    assert [one.partition("(")[0] for one in said()] == ["the entry points of acme cannot be read "]
    assert boards.load("stm32h7b3")


def test_a_route_that_is_broken_blocks_the_board_and_a_route_that_raises_is_named(
    tmp_path: Path, plugin: Plugin
) -> None:
    code = """
class Bad:
    name = "bad"
    def program(self, image, always=False):
        return {}["nothing"]
def bad(flashing):
    return Bad()
def worse(flashing):
    return 1 / 0
"""
    text = BOARD.replace('routes = ["kernel"]', 'routes = ["ROUTE"]')
    plugin(
        tmp_path / "acme",
        code,
        "flash_routes: bad = M:bad",
        "flash_routes: worse = M:worse",
        "flash_routes: none = M:BOARDS",
    )

    def opened(route: str) -> FlashRoute:
        (tmp_path / f"{route}.toml").write_text(text.replace("ROUTE", route))
        board = boards.catalogue._read(route, tmp_path)
        return route_of(Flashing(board, Endpoints(route, "hardware"), lambda: None, None, print))  # type: ignore[arg-type, return-value]

    with pytest.raises(Blocked, match=r"'worse' in the flash routes of .* it raised ZeroDivisionError \(.*line 11"):
        opened("worse")
    opened("bad")
    board = boards.catalogue._read("bad", tmp_path)
    with (
        device_at(board, Endpoints("x", "hardware"), image=Image(Path("no.elf"), "0" * 64)) as dut,
        pytest.raises(Blocked, match=r"'bad' in the flash routes of .* it raised KeyError \('nothing'; .*line 7\)"),
    ):
        dut.flash()
    with pytest.raises(Blocked, match="'none' in the flash routes of .* a flash route is offered as a function"):
        opened("none")
    with pytest.raises(RigError, match="there is no flash route 'wurst': did you mean worse"):
        opened("wurst")


def test_a_stand_in_that_is_none(tmp_path: Path, plugin: Plugin, said: Said) -> None:
    text = BOARD.replace('stand_in = "qemu"', 'stand_in = "sim"')
    plugin(
        tmp_path / "acme",
        "def sim(*_): 1 / 0\nfrom hil.standins import StandInKind\nGOOD = StandInKind(sim)",
        "boards: acme = M:BOARDS",
        "stand_ins: sim = M:GOOD",
        "stand_ins: auto = M:GOOD",
        "stand_ins: none = M:sim",
        board=text,
    )
    assert ["has another meaning" in one or "offered as a hil.standins.StandInKind" in one for one in said()] == [
        True,
        True,
    ]
    image = Image(Path("no.elf"), "0" * 64)
    with (
        pytest.raises(Blocked, match="'sim' in the stand ins of .* it raised ZeroDivisionError"),
        Rig(Bench()).take(boards.load("acme"), image, tmp_path / "log"),
    ):
        pytest.fail("there was nothing to take")


def test_the_command_lists_the_rest_and_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], plugin: Plugin
) -> None:
    monkeypatch.chdir(tmp_path)
    plugin(tmp_path / "acme", "", "boards: acme = M:BOARDS", "boards: worse = M:BOARDS")
    assert main(["plugins"]) == 1
    out, err = capsys.readouterr()
    ends = [line.rpartition("  ")[2] for line in out.splitlines()[:2]]
    assert ends == ["ok", "broken"] and out.count("acme-rig 1.0 in acme  ") == 2
    assert err.startswith("\n'worse' in the boards of") and "worse.toml cannot be read" in err
    assert main(["boards"]) == 0
    out, err = capsys.readouterr()
    assert "\nacme " in f"\n{out}" and "worse" not in out and err.startswith("note: 'worse'")

"""Every command of README.md, and of docs/index.md up to its roles, is run as it stands there; one that is not in the table fails."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from hil.record.run_writer import RunWriter
from hil.rig_toml import read_bench
from hil.training.data.store import PARTS, data_folder, file_name

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs/index.md").read_text(encoding="utf-8").split("\n## Researcher\n")[0]
TRIALS = (ROOT / "docs/trials.md").read_text(encoding="utf-8")
PROGRAMS = re.compile(r"(hil|pytest|python3|make|pip|apt)(?= )")
NIGHTLY = pytest.mark.tier("nightly")
HOURS = 4 * 3600.0


@dataclass(frozen=True)
class Use:
    """How a command of the two pages is run, in an empty folder with the committed rig.toml.

    Attributes:
        adds: documented options that shorten it.
        until: words of its output after which it is ended by Ctrl-C, of a command that runs until then.
        needs: programs without which it is skipped.
        firmware: whether the folder holds a copy of `firmware/`.
        nightly: whether it takes minutes or hours.
        fetched: data sets without which it is skipped, since they come from a network.
        recorded: whether the folder holds a recorded run.
        not_run: why it is not run here; empty where it is.
    """

    adds: str = ""
    until: str = ""
    needs: tuple[str, ...] = ()
    firmware: bool = False
    nightly: bool = False
    fetched: tuple[str, ...] = ()
    recorded: bool = False
    not_run: str = ""


GCC = ("make", "arm-none-eabi-gcc")
METER = "needs a power meter; tests/unit/commands runs it with a virtual one"
COMMANDS = {
    "python3 -m venv .venv && .venv/bin/pip install -q -e '.[virtual]' && .venv/bin/pytest --board=stm32h7b3": Use(
        not_run="installs from a package registry; its last command has a row of its own"
    ),
    "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest -n auto": Use(
        not_run="installs from a package registry; its last command runs this test"
    ),
    "python3 -m venv .venv && . .venv/bin/activate && pip install -q -e '.[virtual]'": Use(
        not_run="installs from a package registry"
    ),
    "pytest --board=stm32h7b3": Use(nightly=True),
    "pip install 'trainrig[charts,training]'": Use(not_run="installs from a package registry"),
    "pip install trainrig": Use(not_run="installs from a package registry"),
    "apt install qemu-system-arm": Use(not_run="installs a package of the system"),
    "hil init": Use(),
    "hil doctor": Use(),
    "hil boards": Use(),
    "hil methods": Use(),
    "hil networks": Use(),
    "hil matrix": Use(),
    "hil report": Use(recorded=True),
    "hil tail": Use(recorded=True),
    "hil compare A B": Use(not_run="needs two runs; tests/unit/report/test_compare.py runs it with runs of its own"),
    "hil history": Use(not_run="needs the runs of several nights; tests/integration/history runs it"),
    "hil export": Use(not_run="needs a file's name; tests/integration/history runs it"),
    "hil import": Use(not_run="needs another bench's runs; tests/integration/history runs it"),
    "hil summary": Use(recorded=True),
    "hil coverage": Use(not_run="needs a run that recorded coverage; tests/integration/trial and unit/coverage run it"),
    "hil verify RUN --recompute": Use(not_run="needs a run with trials; tests/integration/verify runs it"),
    "hil sign": Use(not_run="needs a key; tests/integration/verify runs it"),
    "hil pack": Use(not_run="needs a run with trials; tests/integration/verify runs it"),
    "hil bench": Use(nightly=True),
    "hil bench kernels": Use(nightly=True),
    "hil bench energy": Use(nightly=True),
    "hil bench stream": Use(nightly=True),
    "hil bench lab": Use(
        "--boards 20 --exporters 4 --trials 300 --runs 10 --clients 2", needs=("labgrid-client",), nightly=True
    ),
    "hil network import": Use(not_run="needs a model; test_tutorial.py runs it"),
    "hil network export": Use(not_run="needs a trained model; test_tutorial.py runs it"),
    "hil agent --copy": Use(
        not_run="needs a folder's name; test_agent_beside_newlib.py runs it and builds what it wrote"
    ),
    "hil new board NAME": Use(not_run="needs a name; tests/integration/plugins runs it"),
    "hil measure": Use(not_run=METER),
    "hil power --watch": Use(not_run=METER),
    "hil campaign start": Use("--steps 3 --evaluate 0", nightly=True),
    "hil mlperf-tiny": Use(until="answers MLPerf Tiny's commands"),
    "hil bench-server --board stm32h7b3": Use(until='name = "stm32h7b3"'),
    "hil data fetch mnist && hil data fetch fashion-mnist": Use(fetched=("mnist", "fashion-mnist")),
    "hil experiment elasticzo-table1": Use(
        "--data fashion-mnist --columns int8 --seeds 1 --epochs 1 --batch 256", nightly=True, fetched=("fashion-mnist",)
    ),
    "hil experiment pmt-table4": Use(
        "--corruptions fog --images 40 --batch 8 --queries 2 --rates 1 --seeds 1 --epochs 1", nightly=True
    ),
    "make -C firmware": Use(needs=GCC, firmware=True, nightly=True),
    "make -C firmware check": Use(needs=GCC, firmware=True, nightly=True),
    "make -C firmware/host test": Use(needs=("make", "cc"), firmware=True, nightly=True),
}


def heed_ctrl_c() -> None:
    """A job that a script has put in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def commands(text: str) -> set[str]:
    """Return the commands of a page: indented lines and inline code that begin with a program."""
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    return {found for found in lines + re.findall(r"`([^`\n]+)`", text) if PROGRAMS.match(found)}


def test_every_command_has_a_row_and_every_row_a_command() -> None:
    assert commands(README) | commands(START) == set(COMMANDS)


def test_the_front_page_is_short_and_shows_a_picture() -> None:
    assert len(README.splitlines()) <= 60
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert (ROOT / picture).stat().st_size < 150_000


def rows() -> list[object]:
    """Return the commands that are run, those that take long for the nightly tier only."""
    return [
        pytest.param(line, marks=[NIGHTLY] if use.nightly else []) for line, use in COMMANDS.items() if not use.not_run
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "rig.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", rows())
def test_a_command_does_what_it_is_there_for(line: str, folder: Path) -> None:
    use = COMMANDS[line]
    for program in use.needs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    for name in use.fetched:
        if not all((data_folder() / name / file_name(part)).is_file() for part in PARTS):
            pytest.skip(f"{name} comes from a network and is not here: hil data fetch {name}")
    if use.firmware:
        shutil.copytree(ROOT / "firmware", folder / "firmware", ignore=shutil.ignore_patterns("build"))
    if use.recorded:
        RunWriter.begin(folder / "reports").finish()
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for name in [name for name in environment if name.startswith("PYTEST")]:
        del environment[name]  # the session that runs this one is not its parent
    process = subprocess.Popen(
        f"{line} {use.adds}", shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        said = ""
        while use.until and use.until not in said and (more := process.stdout.readline()):
            said += more
        if use.until:
            os.killpg(process.pid, signal.SIGINT)
        said += process.communicate(timeout=HOURS if use.nightly else 300)[0]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert "Traceback" not in said, said
    assert use.until in said
    assert process.returncode in ((0, 130, -signal.SIGINT) if use.until else (0,)), said


def block(page: str, first: str) -> str:
    """Return the indented block of a page that begins with a line."""
    lines = page.splitlines()
    start = lines.index(f"    {first}")
    end = next(index for index in range(start, len(lines)) if lines[index] and not lines[index].startswith("    "))
    return "\n".join(line[4:] for line in lines[start:end]) + "\n"


def test_the_bench_is_a_rig_toml(folder: Path) -> None:
    (folder / "rig.toml").write_text(block(START, "[[board]]"))
    (board,) = read_bench(folder / "rig.toml").board
    assert board.name == "stm32h7b3" and board.meter is not None


@NIGHTLY
def test_the_trial_of_ones_own_passes(folder: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    (folder / "test_mine.py").write_text(block(TRIALS, "from hil.trial import TrialSpec"))
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--board=stm32h7b3", "test_mine.py", "-p", "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert ended.returncode == 0 and "1 passed" in ended.stdout, ended.stdout

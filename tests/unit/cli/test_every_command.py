"""Every `hil` command under wrong use: one sentence, the right exit code, never a traceback.

Each command runs in a process of its own at least once. What only parses or reads runs in this one, which takes a tenth.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hil import boards
from hil.atomic_write import write_atomic
from hil.commands.main import main
from hil.record.run_writer import RunWriter
from hil.training.matrix.cells import METHOD_NAMES, NETWORK_NAMES

HIL = [sys.executable, "-m", "hil.commands.main"]
ROOT = Path(__file__).parents[3]
HANG_S = 120


def hil(*arguments: str, cwd: Path = ROOT, **others: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HIL, *arguments], cwd=cwd, capture_output=True, text=True, timeout=HANG_S, **others)  # type: ignore[call-overload]


@pytest.fixture
def hil_here(capfd: pytest.CaptureFixture[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command in this process, as `hil` does in its own; an exception that it lets through fails the test."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            code = main(list(arguments))
        except SystemExit as ended:  # of argparse
            code = ended.code
        out, error = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, out, error)

    return run


def commands() -> list[str]:
    """Every subcommand, as the help lists it. Every worker collects this file, so that a process each would take long."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main(["--help"])
    named = re.search(r"\{([a-z,-]+)\}", out.getvalue())
    assert named is not None
    return named[1].split(",")


COMMANDS = commands()


def said(ended: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of standard error, which is the sentence; above it argparse writes the usage."""
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_there(command: str, hil_here: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = hil_here(command, "--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"usage: hil {command}")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_named(command: str, hil_here: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = hil_here(command, "--no-such-option")
    assert ended.returncode == 2 and ended.stdout == ""
    assert re.match(rf"hil( {command})?: error: ", said(ended))


WRONG = {
    "weights load MISSING": "cannot be read",
    "agent": "one of the arguments --copy --list is required",
    "agent --copy docs": "docs is not empty: name a new folder, or delete it before.",
    "campaign resume MISSING": "holds no campaign: `hil campaign start` begins one",
    "boards --json more": "unrecognized arguments: more",
    "methods mezoo": "there is no method 'mezoo': did you mean mezo?",
    "network": "the following arguments are required: action",
    "network import MISSING": "cannot be read (No such file or directory): give an int8 .tflite.",
    "network export MISSING --trained --out a.tflite": "missing has no trial.json: give the folder of a trial that has ended",
    "network fetch resnet": "there is no published model 'resnet': known are: mlperf-tiny-ad",
    "networks lenet": "there is no network 'lenet': did you mean lenet5",
    "matrix --board stm32h7": "the catalogue has no board 'stm32h7': did you mean stm32h7b3",
    "matrix --network lenet": "there is no network 'lenet': did you mean lenet5",
    "matrix --method mezoo": "there is no method 'mezoo': did you mean mezo?",
    "bench-server": "the following arguments are required: --board",
    "bench-server --board mps2-an500": "there is no virtual board mps2-an500",
    "bench nothing": "invalid choice: 'nothing'",
    "first-light --board stm32h7": "the catalogue has no board 'stm32h7': did you mean stm32h7b3",
    "bench --board stm32h7": "the catalogue has no board 'stm32h7': did you mean stm32h7b3",
    "bench energy --trials 0": "'0' is not a whole number above 0",
    "bench energy --trials many": "'many' is not a whole number above 0",
    "data": "the following arguments are required: action",
    "data fetch mnits": "did you mean mnist",
    "experiment nothing": "nothing",
    "tune mezoo lenet5-tflite": "there is no method 'mezoo': did you mean mezo?",
    "tune int8-bp lenet5-tflit": "did you mean lenet5-tflite",
    "tune int8-bp lenet5-tflite --steps 0": "'0' is not a whole number above 0",
    "measure": "--model",
    "power": "one of the arguments --watch --export is required",
    "power --watch": "--watch needs a meter: name it with --model",
    "tail MISSING": "holds no results.json: name the folder of a run",
    "plugins --rig MISSING": "missing: give the description of a bench, or create one with `hil init --rig=",
    "new board stm32h7b3": "there is a board 'stm32h7b3' already: take another name.",
    "first-light": "the following arguments are required: --board",
    "first-light --board rp2040 --reality real": "--reality=real: there is no such reality: known are: auto, hardware",
    "first-light --board rp2040 --rig DAMAGED": "damaged.toml: ",
    "devices --rig": "expected one argument",
    "doctor --rig DAMAGED": "damaged.toml: ",
    "devices --rig DAMAGED": "damaged.toml: ",
    "init --rig DAMAGED": "damaged.toml: ",
    "init --rig MISSING/rig.toml": "missing/rig.toml cannot be written (No such file or directory): give another name with --rig=FILE.",
    "doctor --rig MISSING": "missing: give the description of a bench, or create one with `hil init --rig=",
    "compare MISSING": "the following arguments are required: B",
    "compare MISSING MISSING": "missing holds no results.json: give the folder of a run, such as reports/latest.",
    "coverage MISSING": "missing holds no results.json: give the folder of a run, such as reports/latest.",
    "report MISSING": "missing holds no results.json: give the folder of a run, such as reports/latest.",
    "report DAMAGED": "is a file that names no run: give the folder of a run",
    "verify MISSING": "missing holds no results.json",
    "sign DAMAGED --key=MISSING": "cannot be read",
    "pack MISSING": "missing holds no results.json",
    "summary MISSING": "missing holds no results.json: give the folder of a run, such as reports/latest.",
    "history --reports MISSING": "there is no history at ",
    "history rebuild --reports MISSING": "missing: there is no such folder: name that of the runs with --reports.",
    "history --rig DAMAGED": "damaged.toml: ",
    "lab --nights 0": "'0' is not a whole number above 0",
    "lab --rig DAMAGED": "damaged.toml: ",
    "lab quarantine": "hil lab quarantine needs the name of a board, its ID or its labgrid place: see `hil lab`.",
    "lab release stm32 --rig MISSING --reports MISSING": "board ID or labgrid place is called 'stm32': there is no board yet.",
    "export": "the following arguments are required: --out",
    "export --out a.csv --reports MISSING --since never": "there is no history at ",
    "import MISSING": "missing: there is no such file or folder: name a folder of runs, or a Parquet file.",
}


FIRST = set({line.split()[0]: line for line in reversed(WRONG)}.values())  # of each command: in a process of its own


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_request_is_one_sentence(
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hil_here: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "damaged.toml").write_text("[[board\n")
    words = (
        line.replace("DAMAGED", str(tmp_path / "damaged.toml")).replace("MISSING", str(tmp_path / "missing")).split()
    )
    ended = (hil if line in FIRST else hil_here)(*words)
    assert WRONG[line] in said(ended)
    assert ended.returncode == 2 and ended.stdout == ""


FILES = (
    "coverage --page", "coverage --lcov", "coverage --cobertura", "compare A B --page", "history --page", "lab --page",
    "pack --out", "power --watch --page", "power --export TRACE --to", "export --out", "summary --out",
    "network import MODEL --out", "network export TRIAL --trained --out", "network head lenet5 --classes 3 --out",
    "weights save",
)  # fmt: skip
FOLDERS = (
    "first-light --board rp2040 --out", "measure --typed --out", "experiment elasticzo-table1 --out", "tune mezo lenet5-tflite --out", "network fetch NAME --to", "data fetch mnist --to",
    "summary --format allure --out",
)  # fmt: skip
Here = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("command", FILES)
def test_a_file_to_write_that_is_a_folder_or_nothing_is_named(command: str, tmp_path: Path, hil_here: Here) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("/", "'/' is a folder: name a file"), (".", "'.' is a folder: name a file"),
        ("", "'' is no name: name a file"), (str(tmp_path), "is a folder: name a file"),
        (str(tmp_path / "pipe"), "is not a regular file: name another one"),
    ):  # fmt: skip
        ended = hil_here(*command.split(), name)
        assert ended.returncode == 2 and ended.stdout == ""
        assert why in said(ended)


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_to_write_to_that_is_a_file_or_nothing_is_named(command: str, tmp_path: Path, hil_here: Here) -> None:
    (tmp_path / "file").write_text("kept")
    for name, why in (("", "'' is no name: name a folder"), (str(tmp_path / "file"), "is not a folder: name one")):
        ended = hil_here(*command.split(), name)
        assert ended.returncode == 2 and ended.stdout == ""
        assert why in said(ended)
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("coverage --lcov same --cobertura ./same", "--lcov and --cobertura write the same file"),
        ("coverage --page same --lcov same", "--page and --lcov write the same file"),
        ("power --export TRACE --to a.csv --to ./a.csv", "--to names one file twice"),
    ],
)
def test_two_outputs_in_one_file_are_refused(line: str, why: str, hil_here: Here) -> None:
    ended = hil_here(*line.split())
    assert ended.returncode == 2 and why in said(ended)


@pytest.mark.parametrize("name", ["/", "", ".", "folder"])
def test_no_file_replaces_a_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IsADirectoryError, match=re.escape(str(Path(name)))):
        write_atomic(Path(name), "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_every_command_is_used_wrongly_above() -> None:
    has_nothing_to_get_wrong = {"mlperf-tiny"}  # but unknown options
    assert {line.split()[0] for line in WRONG} | has_nothing_to_get_wrong == set(COMMANDS)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"schema": 999}',
        b'{"schema": 1, "trials": [{}], "run": {}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_record_is_named(
    content: bytes, tmp_path: Path, hil_here: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "results.json").write_bytes(content)
    ended = hil_here("report", str(tmp_path))
    assert ended.returncode == 2
    assert str(tmp_path / "results.json") in said(ended)
    assert ended.stderr.count("\n") == 1


def test_a_record_that_was_cut_anywhere_is_named(
    tmp_path: Path, hil_here: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    writer = RunWriter.begin(tmp_path)
    writer.finish()
    (path,) = tmp_path.glob("[0-9]*/results.json")
    whole = path.read_bytes()
    for length in {0, 1, len(whole) // 2, len(whole) - 2}:
        path.write_bytes(whole[:length])
        ended = hil_here("report", str(path.parent))
        assert ended.returncode == 2 and str(path) in said(ended), ended.stderr


@pytest.mark.parametrize("line", ["boards", "boards --json", "methods", "matrix --board stm32h7b3 --network lenet5"])
def test_nobody_reads_to_the_end(line: str) -> None:
    """As in `hil boards | head -1`, when head has gone before a word was written."""
    read, write = os.pipe()
    os.close(read)
    try:
        ended = subprocess.run(
            [*HIL, *line.split()], cwd=ROOT, stdout=write, stderr=subprocess.PIPE, text=True, timeout=HANG_S
        )
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_full_disk_takes_no_output() -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [*HIL, "boards"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG_S
        )
    assert ended.returncode == 2
    assert (
        ended.stderr
        == "hil: the output: No space left on device: check its permissions and the free space on the disk.\n"
    )


def test_output_that_is_closed_is_no_fault() -> None:
    ended = subprocess.run(
        [*HIL, "boards"], cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=HANG_S, preexec_fn=lambda: os.close(1)
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def heed_ctrl_c() -> None:
    """A job that a script has put in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_a_list_that_is_being_made() -> None:
    """Once Python runs main: an interrupt while it starts is Python's own."""
    program = (
        "import os, signal, sys, threading; from hil.commands.main import main; "
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start(); sys.exit(main(['matrix']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        preexec_fn=heed_ctrl_c,
    )
    assert (ended.returncode, ended.stderr) in ((130, ""), (0, ""))


def test_the_lists_agree_with_each_other(hil_here: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    catalogue, methods = (json.loads(hil_here(name, "--json").stdout) for name in ("boards", "methods"))
    assert [board["name"] for board in catalogue] == boards.names()
    assert [method["name"] for method in methods] == list(METHOD_NAMES)
    (network,) = json.loads(hil_here("networks", "lenet5-tflite", "--json").stdout)
    assert set(network["fits"]) == set(boards.names())
    asked_for = {name for method in methods for variant in method["variants"] for name in variant["networks"]}
    assert asked_for == set(NETWORK_NAMES)

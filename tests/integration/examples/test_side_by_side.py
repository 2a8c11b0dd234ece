"""docs/how-to/side-by-side.md: the tests of trainrig on the page, run by the commands of the page."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from hil.record import read_run
from tests.foreign import build
from tests.one_process import one_process

TEXT = (Path(__file__).parents[3] / "docs/how-to/side-by-side.md").read_text(encoding="utf-8")
PAGE = TEXT.split("\n## Side by side with pytest-embedded and labgrid\n")[1].split("\n## ")[0]
BLOCKS = [textwrap.dedent(block).strip("\n") for block in re.findall(r"(?:(?:^    .*)?\n)+", PAGE, re.M)]
OURS = [each for each in BLOCKS if "(hil_dut" in each]


def block(begin: str) -> str:
    """Return the block of the page that begins with these words."""
    return next(each for each in BLOCKS if each.startswith(begin))


COMMANDS = block("pytest ").splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for program in ("gcc", "qemu-system-arm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    folder = tmp_path_factory.mktemp("side_by_side")
    build(folder, "mps2-an386", name="mine.elf")  # that of the tutorial prints the same, and has no variables of job 2
    build(folder, "stm32f746", name="mine-f746.elf")
    (folder / "host.c").write_text(block("#include"))
    subprocess.run(block("gcc ").split(), cwd=folder, check=True)
    subprocess.run(shlex.split(block("python -c").replace("python", sys.executable, 1)), cwd=folder, check=True)
    (folder / "rig.toml").write_text(block("[[board]]"))
    (folder / "test_mine.py").write_text("\n\n\n".join(OURS))
    assert (np.load(folder / "loss.npy") == np.cumsum(1.5 * (6 + 4 * np.arange(1, 21))).astype(np.float32)).all()
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_the_tests_of_trainrig_pass(folder: Path, command: str) -> None:
    variable = command.endswith("-k variable test_mine.py")
    words = command.replace('"not variable"', "not-variable").split()[1:]
    words = ["not variable" if word == "not-variable" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process(*words)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    verdicts = [each.verdict for each in read_run((folder / "reports/latest").resolve()).tests]
    assert verdicts == ["pass"] * (1 if variable else 3)


def test_there_are_four_tests_of_at_most_ten_lines_without_a_private_import() -> None:
    assert len(OURS) == 4 and len(COMMANDS) == 3
    for block in OURS:
        lines = [line for line in block.splitlines() if line]
        assert len(lines) <= 10
        imported = [line.split()[1] for line in lines if line.startswith(("from hil", "import hil"))]
        assert set(imported) <= {"hil.comparison"}  # docs/public-api.md

"""docs/how-to/side-by-side.md: the tests of trainrig on the page, run by the commands of the page."""

from __future__ import annotations

import re
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

PAGE = (Path(__file__).parents[3] / "docs/how-to/side-by-side.md").read_text(encoding="utf-8")
BLOCKS = [textwrap.dedent(block).strip("\n") for block in re.findall(r"(?:(?:^    .*)?\n)+", PAGE, re.M)]
OURS = [block for block in BLOCKS if "(hil_dut" in block]
COMMANDS = next(block for block in BLOCKS if block.startswith("pytest ")).splitlines()
HOST = r"""
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    float weights[12] = {0};
    printf("ready 12 parameters\n");
    for (int step = 1; getchar() == 't'; step++) {
        float loss = 0;
        uint32_t bits;
        for (int i = 0; i < 12; i++) {
            weights[i] += 0.5f * (float)(i / 3 + step);
            loss += weights[i];
        }
        memcpy(&bits, &loss, sizeof bits);
        printf("step %d loss 0x%08" PRIx32 "\n", step, bits);
    }
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for program in ("gcc", "qemu-system-arm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    folder = tmp_path_factory.mktemp("side_by_side")
    build(folder, "mps2-an386", name="mine.elf")
    build(folder, "stm32f746", name="mine-f746.elf")
    (folder / "host.c").write_text(HOST)
    subprocess.run(["gcc", "host.c", "-o", "train_host"], cwd=folder, check=True)
    (folder / "rig.toml").write_text(next(block for block in BLOCKS if block.startswith("[[board]]")))
    (folder / "test_mine.py").write_text("\n\n\n".join(OURS))
    np.save(folder / "loss.npy", np.cumsum(1.5 * (6 + 4 * np.arange(1, 21))).astype(np.float32))
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

"""Every block of commands on the site is run as it stands there, or its page says by a mark why not (page_commands.py).

README.md and the first half of docs/index.md have a table, in test_readme.py, because their commands stand in the text
too. A block all of whose commands are in that table is run there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import pytest
from page_commands import ROOT, Block, MarkError, blocks_in, blocks_of, pages, without_comment
from test_readme import COMMANDS

from tools.docs_site.command_line import parsers, pytest_parser

NIGHTLY = pytest.mark.tier("nightly")
README = "README.md"
BLOCKS = [block for page in pages() for block in blocks_of(page)]
COPIED = ("firmware", "reports/example")  # what a command changes or builds in
LINKED = ("tests", "tools", "fixtures", "hil")
OF_PYTEST = ("-n", "-k", "-p", "-q", "-s")
GIVEN = re.compile(r"[Ii]n `([\w.-]+\.(?:py|toml))`[^\n]*:\n\n((?:    .*\n|\n)+)")  # "In `test_mine.py`:" and a block
HOUR_S = 3600
OF_README = {line for line, use in COMMANDS.items() if not use.not_run}  # test_readme.py runs them


@cache
def by_command() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command: not at import, because every worker imports this file, and one runs it."""
    return dict(parsers())


def name_of(block: Block) -> str:
    return f"{block.page}:{block.line}"


def given(block: Block) -> list[tuple[str, str]]:
    """Return the files that a block names and its page gives, with their content."""
    found = GIVEN.findall((ROOT / block.page).read_text(encoding="utf-8"))
    return [(name, textwrap.dedent(content)) for name, content in found if name in block.script]


def rows() -> list[object]:
    """Return the blocks that are run here: the same commands once, and none of which README.md has every command."""
    run = {
        (*map(without_comment, block.lines), block.options, *given(block)): block
        for block in reversed(BLOCKS)  # of the same commands the first block stays
        if block.page != README
        and not block.test
        and not block.reason
        and not OF_README.issuperset(map(without_comment, block.lines))
    }
    return [
        pytest.param(block, marks=[NIGHTLY] if block.nightly else [], id=name_of(block))
        for block in reversed(run.values())
    ]


@pytest.mark.parametrize("block", rows())
def test_a_block_does_what_it_is_there_for(block: Block, tmp_path: Path) -> None:
    prepare(block, tmp_path)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for name in [name for name in environment if name.startswith("PYTEST")]:
        del environment[name]  # the session that runs this one is not its parent
    ended = subprocess.run(
        ["sh", "-c", block.script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HOUR_S
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0 and "Traceback" not in said, said


def prepare(block: Block, folder: Path) -> None:
    """Put into a folder the committed rig.toml, the files that the page gives, and what the commands of a block name."""
    shutil.copy(ROOT / "rig.toml", folder)
    for name, content in given(block):
        (folder / name).write_text(content)
    for path in COPIED:
        if path in block.script:
            shutil.copytree(ROOT / path, folder / path, ignore=shutil.ignore_patterns("build"))
    for path in LINKED:
        if re.search(rf"\b{path}[/.]", block.script):
            (folder / path).symlink_to(ROOT / path)
    if "--board" in block.script:
        pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    for program in ("make", "arm-none-eabi-gcc") if "make -C firmware" in block.script else ():
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if "mps2" in block.script and shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed")


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.test], ids=name_of)
def test_the_test_that_runs_a_block_names_its_page(block: Block) -> None:
    assert Path(block.page).name in (ROOT / block.test).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.reason], ids=name_of)
def test_what_a_reason_names_is_there(block: Block) -> None:
    named = re.findall(r"\b(?:tests|fixtures)/[\w/.]*\w|\btest_\w+\.py", block.reason)
    for path in named:
        assert (ROOT / path).exists() or list((ROOT / "tests").rglob(path)), path


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.commands], ids=name_of)
def test_every_option_of_a_command_is_known(block: Block) -> None:
    """Also of the commands that no test runs: the command is parsed, and nothing more."""
    for program, *words in block.commands:
        if any(word.startswith("[") for word in words):
            continue  # shows which options there are
        if program.endswith("hil"):
            known = next(name for length in (2, 1) if (name := " ".join(words[:length])) in by_command())
            by_command()[known].parse_args(words[len(known.split()) :])
        else:
            rest = pytest_parser().parse_known_args(words)[1]
            assert [word for word in rest if word.startswith("-") and word not in OF_PYTEST] == []


def test_the_site_has_commands_of_every_kind() -> None:
    assert len(BLOCKS) > 40
    assert any(block.nightly for block in BLOCKS) and any(block.test for block in BLOCKS)
    assert {row.values[0].page for row in rows() if not row.marks}  # type: ignore[attr-defined]
    covered = [block for block in BLOCKS if OF_README.issuperset(map(without_comment, block.lines))]
    assert {"docs/trials.md", "docs/index.md"} <= {block.page for block in covered}


@pytest.mark.parametrize(
    "text",
    [
        "<!-- run sometimes -->\n\n    hil boards\n",
        "<!-- not run: a reason -->\n\nText.\n\n    hil boards\n",
        "<!-- not run: a reason -->\n\n<!-- run nightly -->\n\n    hil boards\n",
        "    hil boards\n\n<!-- run nightly -->\n",
    ],
)
def test_a_mark_that_says_nothing_of_a_block_is_an_error(text: str) -> None:
    with pytest.raises(MarkError):
        list(blocks_in("page.md", text))


def test_blocks_and_marks_are_read() -> None:
    text = (
        "Text.\n\n    hil boards  # all\n    NAME=x hil network import \\\n        old.tflite\n\nMore.\n\n"
        "<!-- run nightly with -k 'a b' -->\n\n```\npytest --board=rp2040   # one\n```\n\n    [[board]]\n"
    )
    first, second = blocks_in("page.md", text)
    assert first.commands == (("hil", "boards"), ("hil", "network", "import", "old.tflite"))
    assert (first.line, first.nightly, second.line, second.nightly) == (3, False, 11, True)
    assert second.script == "set -e\npytest --board=rp2040 -k 'a b'\n"

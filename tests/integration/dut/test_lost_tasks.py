"""Errors in tasks and futures of asyncio count, unless the test asks for them; the board is a program in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.one_process import one_process

PROGRAM = 'print("ready", flush=True)\nfor line in __import__("sys").stdin: print(line, end="", flush=True)\n'
TESTS = r"""
import asyncio, contextlib, threading
import pytest

def wrong():
    assert b"e" == b"x"

async def is_wrong():
    wrong()

def in_loop(act):
    async def main():
        kept = await act()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)  # which asks for no result
        await asyncio.sleep(0.2)
        return kept
    return asyncio.run(main())

@pytest.fixture
def dut(hil_dut):
    hil_dut.serial.expect("ready")
    return hil_dut

def test_lost_in_a_task(dut):
    async def act(): asyncio.create_task(is_wrong())
    in_loop(act)

def test_lost_in_a_task_that_is_kept(dut):
    async def act(): return asyncio.create_task(is_wrong())
    kept = in_loop(act)

def test_lost_in_a_cycle(dut):
    async def act():
        task = asyncio.create_task(is_wrong())
        task.add_done_callback(lambda done: kept.append(done))
        kept = [task]
        kept.append(kept)
    in_loop(act)

def test_lost_in_an_executor(dut):
    async def act(): asyncio.get_running_loop().run_in_executor(None, wrong)
    in_loop(act)

def test_lost_in_to_thread(dut):
    async def act(): asyncio.create_task(asyncio.to_thread(wrong))
    in_loop(act)

def test_lost_in_a_callback(dut):
    async def act(): asyncio.get_running_loop().call_soon(wrong)
    in_loop(act)

def test_lost_with_a_handler_of_its_own(dut):
    async def act():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        asyncio.create_task(is_wrong())
    in_loop(act)

def test_lost_on_a_loop_in_a_thread(dut):
    async def act(): asyncio.create_task(is_wrong())
    thread = threading.Thread(target=in_loop, args=(act,))
    thread.start()
    thread.join()

def test_lost_expect(dut):
    async def act(): asyncio.create_task(asyncio.to_thread(dut.serial.expect, "done", 0.1))
    in_loop(act)

def test_lost_in_a_fixture(dut, request):
    async def act(): asyncio.create_task(is_wrong())
    request.addfinalizer(lambda: in_loop(act))

def test_is_awaited(dut):
    async def act():
        with contextlib.suppress(AssertionError): await asyncio.create_task(is_wrong())
        with contextlib.suppress(AssertionError): await asyncio.to_thread(wrong)
        with contextlib.suppress(AssertionError): await asyncio.get_running_loop().run_in_executor(None, wrong)
        assert isinstance((await asyncio.gather(is_wrong(), return_exceptions=True))[0], AssertionError)
    in_loop(act)

def test_is_asked_later(dut):
    async def act(): return asyncio.create_task(is_wrong())
    assert isinstance(in_loop(act).exception(), AssertionError)

def test_is_cancelled(dut):
    async def act(): asyncio.create_task(asyncio.sleep(60)).cancel()
    in_loop(act)

def test_another_error(dut):
    async def act():
        async def ends(): raise OSError("of the test's own")
        asyncio.create_task(ends())
    in_loop(act)
"""


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """The entries of the record by name, of one run."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "train.py").write_text(PROGRAM)
    (folder / "rig.toml").write_text(
        f'[[board]]\nname = "host"\nreality = "host"\nelf = "train.py"\nrun = ["{sys.executable}", "-u", "{{elf}}"]\n'
    )
    (folder / "test_mine.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process("--board=host"), "test_mine.py"],
        cwd=folder, capture_output=True, text=True, timeout=300, env=dict(os.environ), check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads((folder / "reports/latest/results.json").read_text())["tests"]
    return {each["test"].rpartition("::")[2].partition("[")[0]: each for each in found}


NAMES = [line.split("(")[0].removeprefix("def ") for line in TESTS.splitlines() if line.startswith("def test_")]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("test_lost")])
def test_an_error_that_nobody_asks_for_is_a_failure(tests, name):
    said = "the device did not print 'done'" if name == "test_lost_expect" else "AssertionError: assert b'e' == b'x'"
    assert tests[name]["verdict"] == "fail"
    assert f"in a task or a callback of asyncio, of which nobody asked for the result: {said}" in tests[name]["reason"]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("test_lost")])
def test_another_end_is_none(tests, name):
    assert (tests[name]["verdict"], tests[name]["reason"]) == ("pass", "")

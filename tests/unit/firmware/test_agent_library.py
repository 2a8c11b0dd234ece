"""The agent as a library, as `hil agent --copy` writes it: built in each way that packages reach, and asked for requests of one's own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tty
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from host_agent import FIRMWARE, SANITIZERS, tool

from hil.commands.agent import library_files
from hil.commands.main import main
from hil.link.failures import Refused
from hil.link.messages import description
from hil.link.session import Session, board_name
from hil.targets.serial_port import open_serial

ROOT = FIRMWARE.parent
PROGRAMS = ROOT / "tests/agent_library"
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-g1", "-O1"]
PREFIXES = ("agent_", "hil_", "link_", "memory_", "port_", "xxh32")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agent") / "new" / "library"
    assert main(["agent", "--copy", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def objects(library: Path) -> list[Path]:
    """Its sources as plain files, under sanitizers and every warning."""
    folder = library.parent / "objects"
    folder.mkdir()
    sources = sorted((library / "src").rglob("*.c"))
    command = [
        tool("gcc"),
        "-std=c11",
        "-Wstrict-prototypes",
        "-pedantic",
        *STRICT,
        *SANITIZERS,
        "-I",
        library / "src",
        "-c",
        *sources,
    ]
    subprocess.run(command, check=True, cwd=folder)
    return sorted(folder.glob("*.o"))


@contextlib.contextmanager
def session_with(program: Path, *arguments: str) -> Iterator[Session]:
    """Run a program at the other end of a line, whose file descriptor is its first argument and PORT."""
    device, host = os.openpty()
    tty.setraw(host)
    os.set_blocking(device, False)
    process = subprocess.Popen(
        [program, str(device), *arguments],
        env=os.environ | {"PORT": str(device)},
        pass_fds=[device],
        stderr=subprocess.PIPE,
    )
    try:
        with contextlib.closing(open_serial(os.ttyname(host), 115_200)) as port:
            yield Session(port, 0x5EED)
        assert process.poll() is None, process.stderr.read()
    finally:
        process.kill()
        process.communicate()
        os.close(device), os.close(host)


@pytest.fixture(scope="module")
def tasks(library: Path, objects: list[Path]) -> Path:
    """A program with threads, by plain files."""
    program = library.parent / "tasks"
    command = [
        tool("gcc"),
        "-std=c11",
        *STRICT,
        *SANITIZERS,
        "-I",
        library / "src",
        PROGRAMS / "tasks.c",
        *objects,
        "-pthread",
    ]
    subprocess.run([*command, "-o", program], check=True)
    return program


def test_requests_of_every_length(tasks: Path) -> None:
    with session_with(tasks) as session:
        assert board_name(session.hello()) == "tasks"
        for length in (0, 1, 253, 254, 255, 1023):
            body = np.random.default_rng(length).integers(0, 256, length, np.uint8).tobytes()
            assert session.ask(0x20, body) == body[::-1]
        with pytest.raises(Refused, match="returned the error 2"):  # a byte more than a reply can have
            session.ask(0x20, bytes(1024))
        with pytest.raises(Refused, match="has no request 0x21"):
            session.ask(0x21)
        with pytest.raises(Refused, match="request 0x22 in the firmware gave a reply of more than 1,024 bytes"):
            session.ask(0x22)
        session.check_line()
        assert session.request("memory")["stack_size"] == 0


def test_what_the_program_prints_between_two_frames_costs_none(tasks: Path) -> None:
    """The text before the reply ends with a frame of its own, so that the reply is whole."""
    with session_with(tasks) as session:
        session.hello()
        assert session.ask(0x3F) == b""
        assert list(session._wire.reader.damaged_frames) == [b"heard you\n"]


def test_another_thread_may_print_all_the_time(tasks: Path) -> None:
    """A frame that a text cuts in two is sent again, and each request is executed once."""
    with session_with(tasks, "2000") as session:
        session.hello()
        for number in range(40):
            body = number.to_bytes(2, "little") * 200
            assert session.ask(0x20, body) == body[::-1]
        assert session.counters.damaged > 0


def test_a_sketch_of_arduino(library: Path, objects: list[Path]) -> None:
    """The example, compiled as C++ with every warning, against a stand-in of Arduino's core."""
    program = library.parent / "sketch"
    sketch = library / "examples/HilAgent/HilAgent.ino"
    for standard in ("-std=c++11", "-std=c++20"):
        command = [
            tool("g++"),
            standard,
            "-x",
            "c++",
            "-include",
            "Arduino.h",
            "-I",
            PROGRAMS,
            "-I",
            library / "src",
            *STRICT,
            *SANITIZERS,
            sketch,
        ]
        subprocess.run([*command, "-x", "none", *objects, "-o", program], check=True)
    with session_with(program) as session:
        assert board_name(session.hello()) == "arduino"
        numbers = np.array([1.5, -4, 2**20], np.float32)
        assert np.frombuffer(session.ask(0x20, numbers.tobytes()), np.float32) == numbers.sum()
        with pytest.raises(Refused, match="returned the error 1"):
            session.ask(0x20, b"odd")


def cmake(*words: str | Path) -> None:
    done = subprocess.run(
        [tool("cmake"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_an_installed_package_is_found_by_cmake(library: Path) -> None:
    folder = library.parent
    cmake("-S", library, "-B", folder / "build", f"-DCMAKE_INSTALL_PREFIX={folder}/installed")
    cmake("--build", folder / "build", "--target", "install")
    user = folder / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(hil_agent {description().protocol} REQUIRED)
find_package(Threads REQUIRED)
add_executable(user {PROGRAMS}/tasks.c)
target_link_libraries(user hil_agent::hil_agent Threads::Threads)
"""
    )
    cmake("-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={folder}/installed")
    cmake("--build", user / "build")
    with session_with(user / "build/user") as session:
        session.hello()
        assert session.ask(0x20, b"abc") == b"cba"


def test_the_module_of_zephyr_names_files_that_build(library: Path) -> None:
    """Its CMake file, with plain CMake in place of Zephyr's functions: Zephyr itself is in no package."""
    folder = library.parent / "zephyr-user"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.20)
project(user C)
set(CMAKE_C_STANDARD 11)
macro(zephyr_library_named name)
  add_library(${{name}} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${{name}})
endmacro()
macro(zephyr_library_sources)
  target_sources(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endmacro()
macro(zephyr_library_include_directories)
  target_include_directories(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endmacro()
function(zephyr_include_directories)
  include_directories(${{ARGN}})
  set_property(GLOBAL PROPERTY user_includes ${{ARGN}})
endfunction()
set(CONFIG_HIL_AGENT y)
include({library}/zephyr/CMakeLists.txt)
get_property(user_includes GLOBAL PROPERTY user_includes)
find_package(Threads REQUIRED)
add_executable(user {PROGRAMS}/tasks.c)
target_include_directories(user PRIVATE ${{user_includes}})
target_link_libraries(user hil_agent Threads::Threads)
"""
    )
    cmake("-S", folder, "-B", folder / "build")
    cmake("--build", folder / "build")
    text = (library / "zephyr/module.yml").read_text()
    assert "cmake: zephyr" in text and (library / re.search(r"kconfig: (\S+)", text)[1]).is_file()


def test_every_core_compiles_it(library: Path, tmp_path: Path) -> None:
    """Small enough for a chip with 4 KB of RAM."""
    sources = sorted((library / "src").rglob("*.c"))
    for core in ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m23", "cortex-m33", "cortex-m55"):
        command = [tool("arm-none-eabi-gcc"), f"-mcpu={core}", "-mthumb", "-Os", "-std=c11", *STRICT[:4], "-Werror"]
        subprocess.run([*command, "-I", library / "src", "-c", *sources], check=True, cwd=tmp_path)
    sizes = subprocess.run(
        ["arm-none-eabi-size", "-t", *tmp_path.glob("*.o")], check=True, stdout=subprocess.PIPE, text=True
    )
    text, data, bss = map(int, sizes.stdout.splitlines()[-1].split()[:3])
    page = (ROOT / "docs/own-firmware.md").read_text(encoding="utf-8")
    code, ram = re.search(r"(\S+) KB of code and (\S+) KB of\s+RAM", page).groups()
    assert text < float(code) * 1024 and data + bss < float(ram) * 1024


def test_its_names_have_its_prefixes(objects: list[Path]) -> None:
    named = subprocess.run(
        [tool("nm"), "--defined-only", "-g", *objects], check=True, stdout=subprocess.PIPE, text=True
    )
    names = {line.split()[-1] for line in named.stdout.splitlines() if len(line.split()) == 3}
    assert (
        "hil_agent_poll" in names and [name for name in names if not name.startswith((*PREFIXES, "__odr_asan"))] == []
    )


def test_a_number_that_is_not_free_is_no_program(library: Path, tmp_path: Path) -> None:
    program = tmp_path / "wrong.c"
    for number, good in (("0x20", True), ("0x3F", True), ("0x1F", False), ("0x40", False)):
        program.write_text(
            f'#include "hil_agent.h"\nvoid f(hil_handler_t h) {{ (void)h; }}\nstatic uint32_t h(const hil_request_t *a, hil_reply_t *b) {{ (void)a; (void)b; return 0; }}\nvoid g(void) {{ HIL_REQUEST({number}, h); }}\n'
        )
        done = subprocess.run(
            [tool("gcc"), "-fsyntax-only", "-I", library / "src", program], capture_output=True, text=True, check=False
        )
        assert (done.returncode == 0) == good and (
            "requests of your own have numbers from 0x20 to 0x3F" in done.stderr
        ) != good


def test_one_version_everywhere(library: Path) -> None:
    """Its first number is that of the protocol."""
    said = {
        json.loads((library / "library.json").read_text())["version"],
        re.search(r"^version=(.*)$", (library / "library.properties").read_text(), re.M)[1],
        re.search(r"VERSION (\S+) LANGUAGES", (library / "CMakeLists.txt").read_text())[1],
    }
    assert len(said) == 1 and said.pop().partition(".")[0] == str(description().protocol)


def test_it_is_the_sources_of_the_images(library: Path) -> None:
    """Of what lies in firmware/agent only the fault handler and the memory of this project's linker script are missing."""
    shared = [name for name in library_files() if name.startswith(("src/agent/", "src/arith/"))]
    for name in shared:
        assert (library / name).read_bytes() == (FIRMWARE / name.removeprefix("src/")).read_bytes()
    left_out = {path.name for path in (FIRMWARE / "agent").iterdir()} - {Path(name).name for name in shared}
    assert left_out == {"fault.c", "fault.h", "memory.c"}
    assert (library / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_a_folder_with_something_in_it_is_refused(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "--copy", str(library)]) == 2
    assert "is not empty: name a new folder, or delete it before." in capsys.readouterr().err
    assert main(["agent", "--list"]) == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == list(library_files())

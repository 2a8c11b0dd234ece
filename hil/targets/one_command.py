"""Run a command of rig.toml once, until its end, and never longer than it may."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hil.command_line import CommandLine, last_lines
from hil.errors import Blocked, message_of, not_written

TERM_S = 2.0  # from SIGTERM to SIGKILL


def run_once(
    line: CommandLine, values: Mapping[str, str], board: str, stage: str, timeout_s: float, log: Path | None = None
) -> None:
    """Run a command in the folder of rig.toml. At the end its whole process group is ended.

    Args:
        line: the command.
        values: of its placeholders.
        board: its name, for messages.
        stage: at which an error blocks the trial.
        timeout_s: longest time.
        log: file that its output is appended to.

    Raises:
        Blocked: its program is missing, it failed, or it did not end in time; with the last lines of its output.
    """
    program, words = line.program(stage), line.filled(values)
    with tempfile.TemporaryFile() as output:  # no pipe: a program that it leaves behind would keep it open
        try:
            process = subprocess.Popen(
                [program, *words[1:]], cwd=line.here, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Blocked(
                stage, f"`{line.key}` of {board} cannot be started ({message_of(error)}): correct it in rig.toml."
            ) from error
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end_group(process)
            output.seek(0)
            text = output.read().decode(errors="replace")
            if log is not None:
                _append(log, f"$ {' '.join(words)}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}")
    said = f"the last lines of its output: {last_lines(text)}"
    if status is None:
        raise Blocked(
            stage,
            f"`{line.key}` of {board} ({words[0]}) did not end within {timeout_s:g} s and was killed with all its "
            f"processes; {said}: run it by hand, or set `flash_timeout` in rig.toml.",
        )
    if status:
        raise Blocked(
            stage, f"`{line.key}` of {board} ({words[0]}) ended with {ending(status)}; {said}: run it by hand."
        )


def _append(log: Path, text: str) -> None:
    try:
        with log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise not_written(log, error) from error


def ending(status: int) -> str:
    """Return how a process ended, from its status as `subprocess` has it."""
    if status >= 0:
        return f"exit code {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads its own group, and all others of the group: SIGTERM, then SIGKILL."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TERM_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

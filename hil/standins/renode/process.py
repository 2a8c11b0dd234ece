"""Start and end Renode's process, which the kernel kills when this process ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

from hil.errors import Blocked
from hil.process_time import stopped_process, stopped_sentence
from hil.standins.parent_watchdog import die_with_parent
from hil.standins.renode.robot import Robot

UP_DEADLINE_S = 60.0  # an idle computer needs 2 to 3 s until Renode is ready (docs/renode.md)
# From the request to end to SIGKILL. Together with server.COUNT_DEADLINE_S less than StandIn waits for this program.
END_DEADLINE_S = 1.0
END_NOTICE_S = 2.0  # from a command without an answer to the end of the process


class RenodeProcess:
    """A Renode process without windows and monitor; `connect` waits for its robot server.

    The robot server listens on all interfaces, and no option of Renode changes that (docs/renode.md).

    Args:
        program: path of the executable.
        environment: result of `private_environment`.
        output: file for standard output and standard error.
    """

    def __init__(self, program: str, environment: dict[str, str], output: IO[bytes]) -> None:
        self._scratch = Path(environment["TMPDIR"])
        command = [program, "--disable-xwt", "-p", "--hide-log", "--hide-monitor", "--robot-server-port", "0"]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: die_with_parent(signal.SIGKILL),  # this program has one thread
        )

    def connect(self) -> Robot:
        """Wait for the robot server.

        Raises:
            Blocked: Renode ended, or offered no robot server in time.
        """
        end = time.monotonic() + UP_DEADLINE_S
        while time.monotonic() < end:
            self.check("while it started")
            port = self._robot_port()
            if port is not None:
                return Robot(port)
            time.sleep(0.05)
        self.check_stopped()
        raise Blocked(
            "bench",
            f"Renode offered no robot server within {UP_DEADLINE_S:.0f} s: "
            "run `renode --disable-xwt --robot-server-port 0` by hand to see why, or use another --reality.",
        )

    def _robot_port(self) -> int | None:
        """Return the port from the file `robot_port` that Renode writes in a folder below TMPDIR, or None before."""
        for file in self._scratch.glob("*/robot_port"):
            text = file.read_text(errors="replace").strip()
            if text.isdigit():
                return int(text)
        return None

    def end(self, doing: str) -> str | None:
        """Return a clause about the end of the process and what it was `doing`, or None while it runs."""
        status = self.process.poll()
        if status is None:
            return None
        how = f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
        return f"Renode ended with {how} {doing}"

    def check(self, doing: str) -> None:
        """Raise `Blocked` when the process has ended; `doing` says what it was doing, such as `while it started`."""
        end = self.end(doing)
        if end is not None:
            raise Blocked("bench", f"{end}: run again, and report it with the log if it comes back.")

    def check_stopped(self) -> None:
        """Raise `Blocked` if a signal has stopped the process, or a child of it, for good."""
        stopped = stopped_process(self.process.pid)
        if stopped is not None:
            raise Blocked("bench", stopped_sentence("Renode", stopped))

    def explain(self, doing: str) -> None:
        """Raise `Blocked` if the process is stopped, or ends within END_NOTICE_S.

        Call this after a command without an answer: the end of the process is a better reason than the missing answer.
        """
        self.check_stopped()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_NOTICE_S)
        self.check(doing)

    def close(self, robot: Robot | None) -> None:
        """End the process: ask through the robot server if there is one, then kill its process group."""
        if robot is not None and self.process.poll() is None:
            with contextlib.suppress(Blocked):
                robot.quit()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_DEADLINE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def private_environment(folder: Path) -> dict[str, str]:
    """Return an environment with which Renode keeps its configuration and temporary files in `folder`."""
    config, scratch = folder / "config", folder / "tmp"
    config.mkdir()
    scratch.mkdir()
    return os.environ | {"XDG_CONFIG_HOME": str(config), "TMPDIR": str(scratch)}

"""Renode's process: own folders, an own group, a deadline for its end, and the kernel's promise that it dies with its owner."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

from hil.errors import Blocked
from hil.standins.parent_watchdog import die_with_parent
from hil.standins.renode.robot import Robot

UP_DEADLINE_S = 60.0  # start to ready takes 2 to 3 s (docs/renode.md), on an idle computer
END_DEADLINE_S = (
    1.0  # from its consent to end to being killed; with the last words less than StandIn waits for this program
)
AFTERTHOUGHT_S = 2.0  # from the last sign of life of a process to its end


class RenodeProcess:
    """A Renode without windows and without a monitor, whose robot server is awaited by `connect`.

    It listens on all interfaces, and no option of Renode changes that (docs/renode.md).

    Args:
        program: path of the executable.
        environment: of `private_environment`.
        output: takes what it prints.
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
            Blocked: Renode ends or stays silent instead.
        """
        end = time.monotonic() + UP_DEADLINE_S
        while time.monotonic() < end:
            self.alive()
            port = self._robot_port()
            if port is not None:
                return Robot(port)
            time.sleep(0.05)
        raise Blocked(
            "bench",
            f"Renode offered no robot server within {UP_DEADLINE_S:.0f} s: run `renode --disable-xwt --robot-server-port 0` by hand "
            "to see why, or use another --reality.",
        )

    def _robot_port(self) -> int | None:
        """Renode writes the port that it has chosen to `robot_port` in a folder of its own under the temporary one."""
        for file in self._scratch.glob("*/robot_port"):
            text = file.read_text(errors="replace").strip()
            if text.isdigit():
                return int(text)
        return None

    def alive(self) -> None:
        """Raise `Blocked` when the process has ended."""
        status = self.process.poll()
        if status is not None:
            raise Blocked(
                "bench", f"Renode ended with status {status}: run again, and report it with the log if it comes back."
            )

    def ended(self) -> None:
        """Raise `Blocked` where the process ends within a moment: after a command that got no answer, that is the better reason."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(AFTERTHOUGHT_S)
        self.alive()

    def close(self, robot: Robot | None) -> None:
        """End it: ask first where that is possible, then kill it and whatever it has started."""
        if robot is not None and self.process.poll() is None:
            with contextlib.suppress(Blocked):
                robot.quit()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_DEADLINE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

"""A port of a USB hub that switches each port by itself, through the program uhubctl.

Source: uhubctl's own manual page and program (version 2.x): it lists only hubs that switch ports singly, prints `Current status for hub
LOCATION [...]` and, after a change, `New status for hub LOCATION [...]`, each followed by a line `  Port N: STATUS FLAGS` a port, with the
flag `power` for one that is on; a USB 3 hub is two hubs to it. It ends with status 0 also where a hub has refused a change.
"""

from __future__ import annotations

import re
import shutil
import subprocess

from hil.endpoints import HubPort
from hil.errors import Blocked

PROGRAM = "uhubctl"
BESIDE_THE_PATH = "/usr/sbin:/sbin"  # where Debian puts it, and no user's PATH looks
DEADLINE_S = 20.0
HUB = re.compile(r"(Current|New) status for hub (\S+)(?: \[(.*)\])?")
PORT = re.compile(r"\s+Port (\d+): [0-9a-fA-F]{4}\b([^\[]*)")  # behind a bracket a device describes itself


class UhubctlPort:
    """Args:
        power: location of the hub and number of the port, as uhubctl counts them.

    Raises:
        Blocked: uhubctl is not installed.
    """

    def __init__(self, power: HubPort) -> None:
        self._power = power
        self.name = f"port {power.port} of the USB hub {power.uhubctl}"
        program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=BESIDE_THE_PATH)
        if program is None:
            raise Blocked(
                "power", f"rig.toml names {self.name}, and {PROGRAM} is not installed: apt install {PROGRAM}."
            )
        self._program = program

    def check(self) -> str:
        """Return whether the port is on."""
        return f"{self.name} can be switched, and is {'on' if self._states('Current') else 'off'}."

    def off(self) -> None:
        """Switch the port off."""
        self._switch("off")

    def on(self) -> None:
        """Switch the port on."""
        self._switch("on")

    def _switch(self, wanted: str) -> None:
        if self._states("New", "-a", wanted) != (wanted == "on"):
            raise Blocked(
                "power",
                f"{self.name} is not {wanted} after `{PROGRAM} -a {wanted}`: the hub claims to switch its ports and does not; use another "
                "hub, or take `power` out of rig.toml.",
            )

    def _states(self, which: str, *arguments: str) -> bool:
        """Run uhubctl and return whether the port has power, on either of the two hubs that a USB 3 hub is."""
        said = self._run(*arguments)
        states, inside = [], False
        for line in said.splitlines():
            hub, port = HUB.match(line), PORT.match(line)
            if hub:
                inside = hub[1] == which
            elif inside and port and int(port[1]) == self._power.port:
                states.append("power" in port[2].split())
        if not states:
            raise Blocked(
                "power",
                f"the USB hub {self._power.uhubctl} tells nothing of its port {self._power.port}: `{PROGRAM}` lists them; put rig.toml right.",
            )
        return any(states)

    def _run(self, *arguments: str) -> str:
        command = [self._program, "-l", self._power.uhubctl, "-p", str(self._power.port), *arguments]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=DEADLINE_S,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Blocked(
                "power", f"{PROGRAM} could not switch {self.name} ({error}): run `{' '.join(command)}` by hand."
            ) from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            cure = (
                "give yourself access by uhubctl's udev rules"
                if "ermission" in said
                else f"`{PROGRAM}` alone lists the hubs that can; put rig.toml right"
            )
            raise Blocked("power", f"{PROGRAM} cannot switch {self.name} ({said.partition(chr(10))[0]}): {cure}.")
        return done.stdout

"""A port of a USB hub with per-port power switching, through the program uhubctl.

Source: manual page and code of uhubctl 2.x. It lists only hubs with per-port power switching. It prints
`Current status for hub LOCATION [...]` and, after a change, `New status for hub LOCATION [...]`. Each is followed by a
line `  Port N: STATUS FLAGS` for each port; the flag `power` means on. A USB 3 hub appears as two hubs. The exit status
is 0 even if a hub refused a change.
"""

from __future__ import annotations

import re
import shutil
import subprocess

from hil.endpoints import HubPort
from hil.errors import Blocked

PROGRAM = "uhubctl"
BESIDE_THE_PATH = "/usr/sbin:/sbin"  # Debian installs it there, outside a user's PATH
DEADLINE_S = 20.0
HUB = re.compile(r"(Current|New) status for hub (\S+)(?: \[(.*)\])?")
PORT = re.compile(r"\s+Port (\d+): [0-9a-fA-F]{4}\b([^\[]*)")  # a device's description follows in brackets


class UhubctlPort:
    """Power switch of one USB hub port.

    Args:
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
        """Return a sentence that says whether the port is on."""
        return f"{self.name} can be switched, and is {'on' if self._has_power('Current') else 'off'}."

    def switch(self, on: bool) -> None:
        """Switch the port on or off."""
        wanted = "on" if on else "off"
        if self._has_power("New", "-a", wanted) != on:
            raise Blocked(
                "power",
                f"{self.name} is not {wanted} after `{PROGRAM} -a {wanted}`: the hub claims to switch its ports but "
                "does not; use another hub, or remove `power` from rig.toml.",
            )

    def _has_power(self, which: str, *arguments: str) -> bool:
        """Run uhubctl and return whether the port has power on any listed hub (a USB 3 hub is listed as two)."""
        states, inside = [], False
        for line in self._run(*arguments).splitlines():
            hub, port = HUB.match(line), PORT.match(line)
            if hub:
                inside = hub[1] == which
            elif inside and port and int(port[1]) == self._power.port:
                states.append("power" in port[2].split())
        if not states:
            raise Blocked(
                "power",
                f"{PROGRAM} reports no port {self._power.port} of the USB hub {self._power.uhubctl}: "
                f"`{PROGRAM}` without arguments lists hubs and ports; correct rig.toml.",
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
            text = (done.stderr or done.stdout).strip()
            cure = (
                "give yourself access with uhubctl's udev rules"
                if "ermission" in text
                else f"`{PROGRAM}` without arguments lists the hubs that it can switch; correct rig.toml"
            )
            raise Blocked("power", f"{PROGRAM} cannot switch {self.name} ({text.partition(chr(10))[0]}): {cure}.")
        return done.stdout

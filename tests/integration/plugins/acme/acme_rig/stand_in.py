"""The Acme as a program behind a pseudo-terminal."""

import sys

from acme_rig import FOLDER
from hil.endpoints import Endpoints
from hil.standins import StandIn, StandInKind


def start(board, image, log):
    command = [sys.executable, "-I", str(FOLDER / "simulator.py")]
    return StandIn(command, lambda line: Endpoints(board.name, "", serial=line), log, "acme-sim")


KIND = StandInKind(start)

"""The Acme PM1 writes its readings into a file, which is its address: seconds, amperes and the level of the marker."""

import numpy as np

from acme_rig import FOLDER
from hil.energy.capture import Capture, edge_between
from hil.energy.meter_kind import MeterKind
from hil.errors import Blocked
from hil.meters.meter import Meter


class PM1(Meter):
    def __init__(self, address, sheet, host):
        super().__init__(sheet, host)
        self.identity, self._address = "Acme,PM1,VIRTUAL", address

    def configure(self, setting):
        self._setting = setting

    def arm(self):
        pass

    def capture(self, deadline_s):
        try:
            t_s, current, level = np.loadtxt(self._address, unpack=True)
        except OSError as error:
            raise Blocked("meter", f"the PM1 has no file {self._address}: name it with --meter.") from error
        volt = np.full(len(t_s), self._setting.volt)
        edges = [edge_between(t_s[at], t_s[at + 1], high=bool(level[at + 1])) for at in np.flatnonzero(np.diff(level))]
        return Capture(t_s, current * volt, current, volt, 0.0, 0.001, tuple(edges), self._setting.range_a, 0)

    def watch(self):
        return np.empty(0)

    def close(self):
        pass


KIND = MeterKind(PM1, FOLDER)

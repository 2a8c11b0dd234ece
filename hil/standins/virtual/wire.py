"""The SWD wire: selects the debug port that answers the probe (ARM IHI 0031, B4 and B5.3; ADIv6 for dormant state)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyocd.core import exceptions

from hil.standins.virtual.debug_port import DebugPort

_LINE_RESET_CYCLES = 50
_ALERT = 136, 0x19BC0EA2E3DDAFE986852D956209F392FF  # eight cycles high, then the selection alert
_ACTIVATE_SWD = 12, 0x1A0
_SWD_TO_DORMANT = 16, 0xE3BC
_JTAG_TO_DORMANT = 0x33BBBBBA
_WRITE_TARGETSEL = 8, 0x99


class SwdWire:
    """The SWD wire with its debug ports.

    Args:
        ports: one port, which is always selected, or several, which share the wire and start dormant.
        dead: returns whether the chip does not answer at all.
    """

    def __init__(self, ports: Sequence[DebugPort], dead: Callable[[], bool] = lambda: False) -> None:
        self._ports = tuple(ports)
        self._dead = dead
        self._shared = len(self._ports) > 1
        self._dormant = self._shared
        self._alerted = False
        self._selected: DebugPort | None = None if self._shared else self._ports[0]

    @property
    def port(self) -> DebugPort:
        """The selected debug port; raises TransferError if none answers."""
        if self._dead():
            raise exceptions.TransferError("no debug port answers: the chip has no power, or is latched up")
        if self._selected is None:
            state = "they are dormant" if self._dormant else "none is selected by TARGETSEL"
            raise exceptions.TransferError(f"no debug port answers: {state}")
        return self._selected

    def sequence(self, length: int, bits: int) -> None:
        """Receive `length` bits on SWDIO, lowest first."""
        bits &= (1 << length) - 1
        if not self._shared:
            self._ports[0].line_reset()
            return
        if (length, bits) == _ALERT:
            self._alerted = True
        elif self._alerted and (length, bits) == _ACTIVATE_SWD:
            self._dormant = self._alerted = False
        elif (length, bits) == _SWD_TO_DORMANT or bits == _JTAG_TO_DORMANT:
            self._dormant, self._selected = True, None
        elif length >= _LINE_RESET_CYCLES and bits >> length - _LINE_RESET_CYCLES == (1 << _LINE_RESET_CYCLES) - 1:
            self._selected = None
            for port in self._ports:
                port.line_reset()

    def packets(self, sequences: Sequence[Sequence[int]]) -> tuple[int, list[list[int]]]:
        """Handle a list of (bits to read,) and (length, bits to send); return a status and the bytes read, all zero.

        The only packet with an effect is the write of TARGETSEL. If its parity is right, it selects the port with that
        TARGETID.
        """
        answers = [[0] * ((one[0] + 7) // 8) for one in sequences if len(one) == 1]
        sent = [tuple(one) for one in sequences if len(one) == 2]
        if self._shared and not self._dormant and len(sent) > 1 and sent[0] == _WRITE_TARGETSEL:
            value, parity = sent[1][1] & 0xFFFFFFFF, sent[1][1] >> 32 & 1
            right = bin(value).count("1") & 1 == parity
            self._selected = next((p for p in self._ports if right and p.identity.target == value), None)
        return 0, answers

"""What the cells of a flash have beside their contents: erase cycles, and words whose ECC is wrong."""

from __future__ import annotations

from collections.abc import Callable

ENDURANCE = 10_000  # cycles: DS13195, DS10916 and the nRF52840 Product Specification, flash endurance


class FlashCells:
    """Cells of a flash, by offsets in it.

    Args:
        log: receives one line when a sector has had more cycles than its endurance.

    Attributes:
        cycles: erase cycles by the first offset of a sector.
        wrong_ecc: first offsets of words whose ECC is wrong.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self.cycles: dict[int, int] = {}
        self.wrong_ecc: set[int] = set()

    def erased(self, first: int, size: int, sector: int, endurance: int = ENDURANCE) -> bytes:
        """Count an erase, and return the contents after it: 0xFF but for a bit that stays 0 in a worn sector.

        Args:
            first: first offset, that of a sector.
            size: bytes that are erased.
            sector: bytes of a sector.
            endurance: cycles after which bits fail; which and when is not known of silicon, here one bit at once.
        """
        contents = bytearray(b"\xff" * size)
        for begin in range(first, first + size, sector):
            self.cycles[begin] = self.cycles.get(begin, 0) + 1
            worn = first + size - begin >= sector and self.cycles[begin] > endurance
            if worn:
                contents[begin - first + sector // 2] &= ~(1 << begin // sector % 8)
            if worn and self.cycles[begin] == endurance + 1:
                self._log(f"hazard: the flash sector at offset 0x{begin:X} is worn: more than {endurance} erase cycles")
        return bytes(contents)

    def as_json(self) -> dict[str, object]:
        """Return the state for a file beside the contents."""
        cycles = {str(sector): number for sector, number in sorted(self.cycles.items())}
        return {"cycles": cycles, "wrong_ecc": sorted(self.wrong_ecc)}

    def set_json(self, state: dict[str, object]) -> None:
        """Take the state from `as_json`.

        Raises:
            ValueError: it is not such a state.
        """
        cycles, wrong = state.get("cycles"), state.get("wrong_ecc")
        if not isinstance(cycles, dict) or not isinstance(wrong, list):
            raise ValueError("no cycles or no wrong_ecc")
        self.cycles = {int(sector): int(number) for sector, number in cycles.items()}
        self.wrong_ecc = {int(word) for word in wrong}

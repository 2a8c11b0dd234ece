"""DMA controller of STM32F7 and STM32H7: streams of bytes between a peripheral and memory.

Sources: RM0385 and RM0455, DMA: functional description, DMA registers. Streams are in direct mode, once or circular.
The chips differ in how a request is routed to a stream.

All registers are modelled. Not modelled are wider transfers, the FIFOs, double buffers, memory-to-memory transfers, the
peripheral as flow controller, and errors: a stream with a wrong setup faults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.chip.data_cache import LINE_BITS
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.mapping import MappedMemories
from hil.standins.virtual.chip.memories import MemoryMap
from hil.standins.virtual.chip.registers import Block, Register

STREAMS = 8
EN, HTIE, TCIE, CIRC, MINC = 1 << 0, 1 << 3, 1 << 4, 1 << 8, 1 << 10
HTIF, TCIF, FLAGS = 1 << 4, 1 << 5, 0x3D
_FLAGS_AT = (0, 6, 16, 22)  # lowest bit of the flags of streams 0 to 3 in LISR, and of 4 to 7 in HISR
_EVENTS = "FEIF{0}:{1} DMEIF{0}:{2} TEIF{0}:{3} HTIF{0}:{4} TCIF{0}:{5}"
_NEVER = 1 << 31


def _flags(first: int, access: str) -> str:
    """Return the fields of a flag register of four streams from `first` on."""
    fields = " ".join(
        _EVENTS.format(first + i, *(at + bit for bit in (0, 2, 3, 4, 5))) for i, at in enumerate(_FLAGS_AT)
    )
    return " ".join(f"{field}/{access}" for field in fields.split())


def _stream(i: int, more: str) -> tuple[Register, ...]:
    at = 0x10 + 0x18 * i
    return (
        Register(f"S{i}CR", at, "EN:0 DMEIE:1/x TEIE:2/x HTIE:3 TCIE:4 PFCTRL:5/x DIR:6-7 CIRC:8 PINC:9/x MINC:10 "
                 "PSIZE:11-12/x MSIZE:13-14/x "
                 f"PINCOS:15/x PL:16-17 DBM:18/x CT:19/x PBURST:21-22/x MBURST:23-24/x {more}"),
        Register(f"S{i}NDTR", at + 0x04, "NDT:0-15"),
        Register(f"S{i}PAR", at + 0x08, "PAR:0-31"),
        Register(f"S{i}M0AR", at + 0x0C, "M0A:0-31"),
        Register(f"S{i}M1AR", at + 0x10, "M1A:0-31/x"),
        Register(f"S{i}FCR", at + 0x14, "FTH:0-1/x DMDIS:2/x FS:3-5/r FEIE:7/x", 0x21),
    )  # fmt: skip


def registers(more: str) -> tuple[Register, ...]:
    """Return the registers of a controller; `more` are fields of SxCR in addition to the common ones."""
    flags = (
        Register("LISR", 0x00, _flags(0, "r")), Register("HISR", 0x04, _flags(4, "r")),
        Register("LIFCR", 0x08, _flags(0, "w")), Register("HIFCR", 0x0C, _flags(4, "w")),
    )  # fmt: skip
    return (*flags, *(register for i in range(STREAMS) for register in _stream(i, more)))


@dataclass(frozen=True)
class DmaRequest:
    """Request of a peripheral: its name, the address of the data register, and whether bytes go to the peripheral."""

    name: str
    address: int
    to_peripheral: bool


class DmaWindow:
    """Memory of a stream: the DMA accesses it past the core's data cache.

    Args:
        memory: memories of the chip.
        who: the stream, for the log.
        start: address.
        size: bytes.
    """

    def __init__(self, memory: MemoryMap, who: str, start: int, size: int) -> None:
        self._memory, self._who, self._start, self.size = memory, who, start, size
        self._cached = memory.cache.at(start) if memory.cache is not None else None

    def read(self, offset: int) -> int:
        address, cached = self._start + offset, self._cached
        if cached is not None and not cached.kinds[address - cached.base >> LINE_BITS]:
            return int(cached.view[address - cached.base])  # the most frequent case: a byte that is not cached
        return self._memory.load_main(address, 1, self._who)[0]

    def write(self, offset: int, data: bytes) -> None:
        self._memory.store_main(self._start + offset, data, self._who)


class DmaStream:
    """Transfers of an enabled stream.

    Args:
        memory: memory to read or write, from its first byte on.
        circular: whether it starts again at the end.
        events: called with the flags (HTIF, TCIF) that are set.
        half, complete: whether HTIF and TCIF interrupt.
    """

    def __init__(
        self, memory: DmaWindow, circular: bool, events: Callable[[int], None], half: bool, complete: bool
    ) -> None:
        self.memory = memory
        self._circular = circular
        self._events = events
        self._stops = [
            stop for wanted, stop in ((half, memory.size - memory.size // 2), (complete, memory.size)) if wanted
        ]
        self.done = 0

    @property
    def left(self) -> int:
        """Number of bytes up to the end of memory; 0 if a stream that is not circular has ended."""
        return self.memory.size - self.done

    def until_interrupt(self) -> int:
        """Return the number of bytes until the next interrupt."""
        ahead = [stop - self.done for stop in self._stops if stop > self.done]
        if not ahead and self._circular:
            ahead = [stop + self.left for stop in self._stops]
        return min(ahead, default=_NEVER)

    def put(self, data: bytes) -> int:
        """Write bytes to memory; return the number of written bytes."""
        taken = 0
        while taken < len(data) and self.left:
            n = min(len(data) - taken, self.left)
            self.memory.write(self.done, data[taken : taken + n])
            taken += n
            self._advance(n)
        return taken

    def get(self) -> int:
        """Return the next byte of memory; `left` must not be 0."""
        byte = self.memory.read(self.done)
        self._advance(1)
        return byte

    def _advance(self, n: int) -> None:
        half = self.memory.size - self.memory.size // 2
        before, self.done = self.done, self.done + n
        flags = HTIF if before < half <= self.done else 0
        if not self.left:
            flags |= TCIF
            self.done = 0 if self._circular else self.done
        if flags:
            self._events(flags)


@dataclass(frozen=True)
class DmaWiring:
    """What a chip connects to its DMA controller.

    Attributes:
        request: (stream, SxCR) -> Request that is connected to the stream; raises ModelFault if there is none.
        drive: called with stream and level of an interrupt line when it changes.
        sync: updates the peripherals to the present before a register access.
        started: called with the name of a request after its stream was enabled.
    """

    request: Callable[[int, int], DmaRequest]
    drive: Callable[[int, bool], None]
    sync: Callable[[], None]
    started: Callable[[str], None]


class Stm32Dma(Block):
    """A DMA controller with eight streams.

    Args:
        name, base: name and base address as in the manual.
        memory: memories of the chip; the DMA can access those in `reachable`.
        wiring: what the chip connects to it.
    """

    def __init__(
        self, name: str, base: int, memory: MappedMemories, reachable: tuple[str, ...], wiring: DmaWiring
    ) -> None:
        super().__init__(name, base)
        self._memory, self._reachable = memory, reachable
        self._request = wiring.request
        self._drive, self._sync, self._started = wiring.drive, wiring.sync, wiring.started
        self._running: dict[int, DmaStream] = {}
        self._serving: dict[str, int] = {}
        for i in range(STREAMS):
            self._readers[f"S{i}CR"] = lambda value, i=i: value & ~EN | self._is_on(i)
            self._readers[f"S{i}NDTR"] = lambda value, i=i: self._running[i].left if i in self._running else value
            self._writers[f"S{i}CR"] = lambda old, new, _acting, i=i: self._control(i, old, new)
            for register in ("NDTR", "PAR", "M0AR"):
                self._writers[f"S{i}{register}"] = lambda _old, new, _acting, i=i, r=register: self._set_up(i, r, new)

    def reset(self) -> None:
        super().reset()
        self._running.clear()
        self._serving.clear()
        for i in range(STREAMS):
            self._drive(i, False)

    def stream(self, request: str) -> DmaStream | None:
        """Return the stream that serves a request and has bytes left, or None."""
        number = self._serving.get(request)
        stream = self._running.get(number) if number is not None else None
        return stream if stream is not None and stream.left else None

    # registers

    def read(self, offset: int, size: int) -> int:
        self._sync()
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        self._sync()
        super().write(offset, size, value)

    def write_lifcr(self, _old: int, _new: int, acting: int) -> None:
        self._clear("LISR", 0, acting)

    def write_hifcr(self, _old: int, _new: int, acting: int) -> None:
        self._clear("HISR", 4, acting)

    def _clear(self, register: str, first: int, flags: int) -> None:
        self.value[register] &= ~flags
        for i in range(first, first + 4):
            self._refresh(i)

    def _flags_of(self, i: int) -> int:
        return self.value["HISR" if i >= 4 else "LISR"] >> _FLAGS_AT[i % 4] & FLAGS

    def _refresh(self, i: int) -> None:
        control, flags = self.value[f"S{i}CR"], self._flags_of(i)
        self._drive(i, bool((flags & HTIF and control & HTIE) or (flags & TCIF and control & TCIE)))

    def _is_on(self, i: int) -> bool:
        return i in self._running and self._running[i].left > 0

    def _set_up(self, i: int, register: str, new: int) -> None:
        if self._is_on(i):
            raise ModelFault(f"{self.name}_S{i}{register} is written while the stream is on; clear EN and wait for 0")
        if register == "NDTR":
            self._running.pop(i, None)
        self.value[f"S{i}{register}"] = new

    def _control(self, i: int, old: int, new: int) -> None:
        on = self._is_on(i)
        if on and (old ^ new) & ~(EN | HTIE | TCIE):
            raise ModelFault(f"{self.name}_S{i}CR is set up while the stream is on; clear EN and wait until it reads 0")
        self.value[f"S{i}CR"] = new
        if on and not new & EN:
            self.value[f"S{i}NDTR"] = self._running.pop(i).left
        self._refresh(i)
        if new & EN and not on:
            self._start(i, new)

    def _start(self, i: int, control: int) -> None:
        where = f"{self.name}_S{i}CR.EN is set"
        if self._flags_of(i):
            raise ModelFault(f"{where} while a flag of the stream is up; clear its flags first")
        request = self._request(i, control)
        if (
            control >> 6 & 3 != int(request.to_peripheral)
            or self.value[f"S{i}PAR"] != request.address
            or not control & MINC
        ):
            raise ModelFault(f"{where} with direction, address or increment that do not match {request.name}")
        memory = self._window(i, where)
        self._serving[request.name] = i
        self._running[i] = DmaStream(
            memory,
            bool(control & CIRC),
            lambda flags: self._event(i, flags),
            bool(control & HTIE),
            bool(control & TCIE),
        )
        self._started(request.name)

    def _window(self, i: int, where: str) -> DmaWindow:
        """Return the memory of stream `i` according to its registers."""
        # If a stream that has ended is enabled again without a new count, the old count is used (RM0385, DMA_SxNDTR).
        size, start = self.value[f"S{i}NDTR"], self.value[f"S{i}M0AR"]
        place = self._memory.find(start, max(size, 1))
        if not size or place is None or place[0].name not in self._reachable:
            raise ModelFault(f"{where} for {size} bytes at 0x{start:08X}, which is not memory of the DMA", start)
        closed = self._memory.closed_reason(start)
        if closed:
            raise ModelFault(f"{where} for 0x{start:08X}, memory {place[0].name}: {closed}", start)
        return DmaWindow(self._memory, f"{self.name} stream {i}", start, size)

    def _event(self, i: int, flags: int) -> None:
        self.value["HISR" if i >= 4 else "LISR"] |= flags << _FLAGS_AT[i % 4]
        self._refresh(i)

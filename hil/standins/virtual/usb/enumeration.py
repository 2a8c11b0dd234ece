"""What a host asks a new device, in the order of real ones, and the checks of USB 2.0, chapter 9, beside it.

The order is that of Linux (drivers/usb/core/hub.c, `hub_port_init`, and config.c): reset, a first read of the device
descriptor at address 0, reset, SET_ADDRESS, its first 8 bytes, the whole, the qualifier, the configuration first by its
head, strings, SET_CONFIGURATION. A device that asked for high speed is also asked for what it has at the other speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hil.standins.virtual.usb import control as c
from hil.standins.virtual.usb import descriptors as d
from hil.standins.virtual.usb.control import Setup, Stalled, Unfit
from hil.standins.virtual.usb.host import UsbHost
from hil.standins.virtual.usb.steps import MS, BusReset, Pause, Program
from hil.standins.virtual.usb.wire import FULL, HIGH, Speed

DEBOUNCE_PS, RECOVERY_PS, ADDRESS_PS = 100 * MS, 10 * MS, 2 * MS  # (7.1.7.3, 7.1.7.5, 9.2.6.3)
FIRST_READ, LONGEST_STRING = 64, 255
_ENGLISH = 0x0409
_UNKNOWN_STRING = 0xEE  # Windows asks for it first; a device that does not know it stalls


@dataclass(frozen=True)
class Device:
    """An enumerated device: its address, descriptors, and strings of manufacturer, product and serial number.

    `speed` is that of the bus; `port` is the serial port that the device has, or None.
    """

    address: int
    speed: Speed
    descriptor: d.DeviceDescriptor
    configuration: d.Configuration
    strings: tuple[str, str, str]
    port: d.AcmFunction | None

    @property
    def max_packet(self) -> int:
        return self.descriptor.max_packet


def get_descriptor(kind: int, length: int, number: int = 0, language: int = 0) -> Setup:
    """Return the request for a descriptor (9.4.3)."""
    return Setup(c.TO_HOST, c.GET_DESCRIPTOR, kind << 8 | number, language, length)


Complain = Callable[[str], None]


def enumerate_device(host: UsbHost, address: int, complain: Complain) -> Program[Device]:
    """Reset, address, read and configure the device.

    Args:
        host: the port; its `address` is set.
        address: for the device.
        complain: called with one sentence for each wrong answer that most hosts would not notice.

    Raises:
        Unfit: the device does what is forbidden, and a host cannot use it.
        Stalled: it stalls a request without which a host cannot use it.
    """
    yield BusReset()
    yield Pause(RECOVERY_PS)
    first = yield from c.read(get_descriptor(d.DEVICE, FIRST_READ), FIRST_READ)
    if len(first) < 8:
        raise Unfit(f"the first read of the device descriptor gives {len(first)} bytes")
    speed = host.speed
    d.check_size(first[7], speed)
    yield BusReset()
    yield Pause(RECOVERY_PS)
    yield from set_address(host, address)
    head = yield from c.read(get_descriptor(d.DEVICE, 8), first[7])
    if head != first[:8]:
        raise Unfit(f"the device descriptor begins with {head.hex()}, and before with {first[:8].hex()}")
    descriptor = d.device_descriptor((yield from c.read(get_descriptor(d.DEVICE, d.DEVICE_BYTES), first[7])), speed)
    qualifier = get_descriptor(d.QUALIFIER, d.QUALIFIER_BYTES)
    if host.device_chirps:
        yield from told(complain, _qualified(qualifier, descriptor, _other(speed)))
    else:
        yield from told(complain, must_stall(qualifier, descriptor.max_packet))
    found = yield from _configuration(descriptor.max_packet, speed)
    port = d.acm_function(descriptor, found)
    if host.device_chirps:
        yield from told(complain, _other_configuration(descriptor, found, _other(speed)))
    strings = yield from _strings(descriptor, found, complain)
    yield from told(complain, _before_configured(descriptor.max_packet))
    setup = Setup(0, c.SET_CONFIGURATION, found.value)
    yield from c.write(setup, b"", descriptor.max_packet)
    return Device(address, speed, descriptor, found, strings, port)


def check_configured(device: Device, complain: Complain) -> Program[None]:
    """Make the checks of a configured device that no host needs; a reset must follow, as they halt its endpoints."""
    for check in configured_checks(device.max_packet, device.configuration):
        yield from told(complain, check)


def told(complain: Complain, check: Program[None]) -> Program[None]:
    """Make a check beside what a host needs, and go on."""
    try:
        yield from check
    except Unfit as unfit:
        complain(str(unfit))
    except Stalled as stalled:
        complain(f"{stalled} is stalled")


def set_address(host: UsbHost, address: int) -> Program[None]:
    """Give the device an address: it answers the status stage at the old one (9.4.6)."""
    yield from c.write(Setup(0, c.SET_ADDRESS, address), b"", FIRST_READ)
    host.address = address
    yield Pause(ADDRESS_PS)


def must_stall(setup: Setup, max_packet: int) -> Program[None]:
    """Send a request that a device of this kind does not know; raise Unfit unless it stalls (9.2.7)."""
    try:
        if setup.request_type & c.TO_HOST:
            yield from c.read(setup, max_packet)
        else:
            yield from c.write(setup, bytes(setup.length), max_packet)
    except Stalled:
        return
    raise Unfit(f"{setup} is not stalled, though no such device knows it")


def _other(speed: Speed) -> Speed:
    return FULL if speed is HIGH else HIGH


def _qualified(setup: Setup, device: d.DeviceDescriptor, other: Speed) -> Program[None]:
    d.check_qualifier((yield from c.read(setup, device.max_packet)), device, other)


def _other_configuration(device: d.DeviceDescriptor, found: d.Configuration, other: Speed) -> Program[None]:
    """Read the configuration at the other speed (9.6.4): it must be a right one, with the same endpoints."""
    setup = get_descriptor(d.OTHER_SPEED, 1024)
    there = d.configuration((yield from c.read(setup, device.max_packet)), other, d.OTHER_SPEED)
    d.acm_function(device, there)
    here, away = (
        [(one.number, one.alternate, one.kind, sorted(e.address for e in one.endpoints)) for one in each.interfaces]
        for each in (found, there)
    )
    if here != away or found.value != there.value:
        raise Unfit(f"{setup} has other interfaces than the configuration: {away}, not {here}")


def _configuration(max_packet: int, speed: Speed) -> Program[d.Configuration]:
    head = yield from c.read(get_descriptor(d.CONFIGURATION, d.CONFIGURATION_BYTES), max_packet)
    if len(head) != d.CONFIGURATION_BYTES:
        raise Unfit(f"the head of the configuration has {len(head)} bytes, not {d.CONFIGURATION_BYTES}")
    total = int.from_bytes(head[2:4], "little")
    whole = yield from c.read(get_descriptor(d.CONFIGURATION, total), max_packet)
    more = yield from c.read(get_descriptor(d.CONFIGURATION, 1024), max_packet)  # needs a short packet at its end
    if more != whole or whole[: len(head)] != head:
        raise Unfit("the configuration differs between two reads")
    return d.configuration(whole, speed)


def _strings(
    descriptor: d.DeviceDescriptor, found: d.Configuration, complain: Complain
) -> Program[tuple[str, str, str]]:
    numbers = (*descriptor.strings, found.string, *(interface.string for interface in found.interfaces))
    if not any(numbers):
        return "", "", ""
    size = descriptor.max_packet
    languages = yield from c.read(get_descriptor(d.STRING, LONGEST_STRING), size)
    if len(languages) < 4 or languages[0] != len(languages) or languages[1] != d.STRING:
        raise Unfit(f"string 0 is {languages.hex()}: bLength, 03, then the languages")
    language = int.from_bytes(languages[2:4], "little")
    texts: dict[int, str] = {0: ""}
    for number in sorted(set(numbers) - {0}):
        head = yield from c.read(get_descriptor(d.STRING, 2, number, language), size)
        data = yield from c.read(get_descriptor(d.STRING, LONGEST_STRING, number, language), size)
        if head != data[:2]:
            raise Unfit(f"string {number} begins with {head.hex()} when 2 bytes are read, and else {data[:2].hex()}")
        texts[number] = d.string(data, number)
    if _UNKNOWN_STRING not in texts:
        unknown = get_descriptor(d.STRING, LONGEST_STRING, _UNKNOWN_STRING, _ENGLISH)
        yield from told(complain, must_stall(unknown, size))
    manufacturer, product, serial = (texts[number] for number in descriptor.strings)
    return manufacturer, product, serial


def _before_configured(max_packet: int) -> Program[None]:
    yield from expect(Setup(c.TO_HOST, c.GET_CONFIGURATION, length=1), b"\0", max_packet)
    status = yield from c.read(Setup(c.TO_HOST, c.GET_STATUS, length=2), max_packet)
    if len(status) != 2 or status[1] or status[0] & 0xFC:
        raise Unfit(f"GET_STATUS of the device gives {status.hex()} (USB 2.0, figure 9-4)")


def expect(setup: Setup, wanted: bytes, max_packet: int) -> Program[None]:
    """Read what must be some bytes; raise Unfit if it is not."""
    data = yield from c.read(setup, max_packet)
    if data != wanted:
        raise Unfit(f"{setup} gives {data.hex()}, not {wanted.hex()}")


def configured_checks(max_packet: int, found: d.Configuration) -> Iterator[Program[None]]:
    """Yield the checks of requests that a configured device must know: status, interfaces, halts (9.4)."""
    yield expect(Setup(c.TO_HOST, c.GET_CONFIGURATION, length=1), bytes([found.value]), max_packet)
    for interface in found.interfaces:
        if not interface.alternate:
            to = Setup(c.TO_HOST | c.TO_INTERFACE, c.GET_STATUS, index=interface.number, length=2)
            yield expect(to, b"\0\0", max_packet)
            yield from (check_halt(max_packet, endpoint.address) for endpoint in interface.endpoints)
    addresses = {endpoint.address for interface in found.interfaces for endpoint in interface.endpoints}
    absent = next(address for address in range(0x8F, 0x80, -1) if address not in addresses)
    yield must_stall(Setup(c.TO_HOST | c.TO_ENDPOINT, c.GET_STATUS, index=absent, length=2), max_packet)


def check_halt(max_packet: int, endpoint: int) -> Program[None]:
    """Halt an endpoint, read its status, and clear the halt, which resets its toggle to DATA0 (9.4.5)."""
    status = Setup(c.TO_HOST | c.TO_ENDPOINT, c.GET_STATUS, index=endpoint, length=2)
    yield from expect(status, b"\0\0", max_packet)
    yield from c.write(Setup(c.TO_ENDPOINT, c.SET_FEATURE, c.ENDPOINT_HALT, endpoint), b"", max_packet)
    yield from expect(status, b"\1\0", max_packet)
    yield from c.write(Setup(c.TO_ENDPOINT, c.CLEAR_FEATURE, c.ENDPOINT_HALT, endpoint), b"", max_packet)
    yield from expect(status, b"\0\0", max_packet)

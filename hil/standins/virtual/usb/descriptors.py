"""Descriptors of a device, and whether they are as USB 2.0, chapter 9, and the CDC class demand."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from hil.standins.virtual.usb.control import Unfit
from hil.standins.virtual.usb.wire import HIGH, Speed

DEVICE, CONFIGURATION, STRING, INTERFACE, ENDPOINT, QUALIFIER, OTHER_SPEED, BOS = 1, 2, 3, 4, 5, 6, 7, 15
ASSOCIATION, CS_INTERFACE = 11, 0x24  # interface association (ECN of USB 2.0); class-specific (CDC 1.2, table 12)
DEVICE_BYTES, CONFIGURATION_BYTES, INTERFACE_BYTES, ENDPOINT_BYTES = 18, 9, 9, 7
QUALIFIER_BYTES = 10
BULK, INTERRUPT = 2, 3
COMMUNICATIONS, ACM, DATA_CLASS = 2, 2, 10  # (CDC 1.2, tables 2, 4, 6)
_HEADER, _CALLS, _ACM, _UNION = 0, 1, 2, 6  # functional descriptors (CDC 1.2, table 13)


@dataclass(frozen=True)
class DeviceDescriptor:
    """The device descriptor (table 9-8): version in BCD, class, size of endpoint 0, ids, string numbers."""

    usb: int
    device_class: tuple[int, int, int]
    max_packet: int
    vendor: int
    product: int
    version: int
    strings: tuple[int, int, int]  # of manufacturer, product, serial number
    configurations: int


@dataclass(frozen=True)
class Endpoint:
    """An endpoint (table 9-13)."""

    address: int
    kind: int
    max_packet: int
    interval: int

    @property
    def is_in(self) -> bool:
        return bool(self.address & 0x80)

    @property
    def number(self) -> int:
        return self.address & 0xF


@dataclass
class Interface:
    """An interface with its endpoints and its class-specific descriptors (table 9-12)."""

    number: int
    alternate: int
    kind: tuple[int, int, int]
    wanted: int  # bNumEndpoints
    string: int
    endpoints: list[Endpoint] = field(default_factory=list)
    functional: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class Configuration:
    """A configuration with its interfaces (table 9-10)."""

    value: int
    string: int
    attributes: int
    interfaces: list[Interface]


@dataclass(frozen=True)
class AcmFunction:
    """A serial port: its two interfaces and their endpoints (PSTN 1.2, 3.2)."""

    control: Interface
    notices: Endpoint | None
    reads: Endpoint
    writes: Endpoint


def device_descriptor(data: bytes, speed: Speed) -> DeviceDescriptor:
    """Return a device descriptor; raise Unfit."""
    if len(data) != DEVICE_BYTES or data[:2] != bytes([DEVICE_BYTES, DEVICE]):
        raise Unfit(f"the device descriptor is {data.hex()}: it has 18 bytes and begins with 12 01")
    usb, *kind, size, vendor, product, version = struct.unpack_from("<H4B3H", data, 2)
    descriptor = DeviceDescriptor(
        usb, (kind[0], kind[1], kind[2]), size, vendor, product, version, (data[14], data[15], data[16]), data[17]
    )
    check_size(size, speed)
    _need(0x0110 <= usb <= 0x0210, f"bcdUSB is 0x{usb:04X}")
    _need(descriptor.configurations >= 1, "the device has no configuration")
    return descriptor


def check_size(size: int, speed: Speed) -> None:
    """Check the largest packet of endpoint 0; raise Unfit."""
    _need(size in speed.control_sizes, f"bMaxPacketSize0 is {size}, not {_or(speed.control_sizes)} (USB 2.0, 5.5.3)")


def _or(sizes: tuple[int, ...]) -> str:
    return " or ".join(", ".join(map(str, part)) for part in (sizes[:-1], sizes[-1:]) if part)


def check_qualifier(data: bytes, device: DeviceDescriptor, other: Speed) -> None:
    """Check the device qualifier, which tells of a device at the other speed (9.6.2); raise Unfit."""
    head = bytes([QUALIFIER_BYTES, QUALIFIER]) + struct.pack("<H", device.usb)
    _need(
        len(data) == QUALIFIER_BYTES and data[:4] == head,
        f"the device qualifier is {data.hex()}: it has 10 bytes and begins with {head.hex()}",
    )
    check_size(data[7], other)
    _need(data[8] >= 1 and data[9] == 0, f"the device qualifier is {data.hex()}: it ends with configurations and 00")


def _need(right: bool, why_not: str) -> None:
    if not right:
        raise Unfit(why_not)


def split(data: bytes) -> list[bytes]:
    """Return the descriptors of a configuration one by one; raise Unfit."""
    found, at = [], 0
    while at < len(data):
        length = data[at]
        _need(length >= 2 and at + length <= len(data), f"descriptor at byte {at} has bLength {length}")
        found.append(data[at : at + length])
        at += length
    return found


def configuration(data: bytes, speed: Speed, kind: int = CONFIGURATION) -> Configuration:
    """Return a whole configuration for a speed; raise Unfit.

    Args:
        data: the descriptors.
        speed: at which the device would have this configuration.
        kind: type of the first descriptor, CONFIGURATION or OTHER_SPEED.
    """
    first, *rest = split(data)
    _need(first[:2] == bytes([CONFIGURATION_BYTES, kind]), f"a configuration begins with {first.hex()}")
    total, count, value, string, attributes = struct.unpack_from("<H4B", first, 2)
    _need(total == len(data), f"wTotalLength is {total}, the configuration has {len(data)} bytes")
    _need(value > 0, "bConfigurationValue is 0")
    _need(attributes & 0x9F == 0x80, f"bmAttributes of the configuration is 0x{attributes:02X} (USB 2.0, table 9-10)")
    interfaces = _interfaces(rest, speed)
    numbers = sorted({interface.number for interface in interfaces})
    _need(numbers == list(range(count)), f"bNumInterfaces is {count}, the interfaces are {numbers}")
    addresses = [e.address for interface in interfaces if not interface.alternate for e in interface.endpoints]
    _need(len(addresses) == len(set(addresses)), f"two endpoints have one address: {sorted(addresses)}")
    return Configuration(value, string, attributes, interfaces)


def _interfaces(descriptors: list[bytes], speed: Speed) -> list[Interface]:
    interfaces: list[Interface] = []
    for one in descriptors:
        if one[1] == INTERFACE:
            _need(len(one) == INTERFACE_BYTES, f"an interface descriptor has {len(one)} bytes")
            interfaces.append(Interface(one[2], one[3], (one[5], one[6], one[7]), one[4], one[8]))
            continue
        if one[1] == ASSOCIATION:
            _need(len(one) == 8, f"an interface association has {len(one)} bytes")
            continue
        _need(bool(interfaces), f"descriptor {one.hex()} comes before every interface")
        if one[1] == ENDPOINT:
            interfaces[-1].endpoints.append(_endpoint(one, speed))
        else:
            interfaces[-1].functional.append(one)
    for interface in interfaces:
        found = len(interface.endpoints)
        _need(found == interface.wanted, f"interface {interface.number} has {found} endpoints, not {interface.wanted}")
    return interfaces


def _endpoint(data: bytes, speed: Speed) -> Endpoint:
    _need(len(data) == ENDPOINT_BYTES, f"an endpoint descriptor has {len(data)} bytes")
    address, kind, size, interval = struct.unpack_from("<BBHB", data, 2)
    one = Endpoint(address, kind & 3, size, interval)
    _need(not address & 0x70 and address & 0xF != 0, f"bEndpointAddress is 0x{address:02X}")
    if one.kind == BULK:
        _need(
            size in speed.bulk_sizes,
            f"bulk endpoint 0x{address:02X} has packets of {size} bytes, at {speed.name} speed they have "
            f"{_or(speed.bulk_sizes)} (USB 2.0, 5.8.3)",
        )
    if one.kind == INTERRUPT:
        _need(
            0 < size <= speed.interrupt_size and 1 <= interval <= (16 if speed is HIGH else 255),
            f"interrupt endpoint 0x{address:02X}: {size} bytes, every {interval} ms"
            if speed is not HIGH
            else f"interrupt endpoint 0x{address:02X}: {size} bytes, bInterval {interval} (USB 2.0, table 9-13)",
        )
    return one


def string(data: bytes, number: int) -> str:
    """Return the text of a string descriptor; raise Unfit."""
    right = len(data) >= 2 and data[0] == len(data) and data[1] == STRING and len(data) % 2 == 0
    _need(right, f"string {number} is {data.hex()}: bLength, 03, then UTF-16")
    try:
        return data[2:].decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise Unfit(f"string {number} is no UTF-16: {error}") from error


def acm_function(device: DeviceDescriptor, found: Configuration) -> AcmFunction | None:
    """Return the serial port of a configuration, or None if it has none; raise Unfit if it is malformed."""
    control = next((i for i in found.interfaces if i.kind[:2] == (COMMUNICATIONS, ACM)), None)
    if control is None:
        return None
    kinds = [one[2] for one in control.functional if one[1] == CS_INTERFACE]
    _need(kinds[:1] == [_HEADER], f"the class-specific descriptors of interface {control.number} begin with no header")
    for kind, name in ((_ACM, "abstract control management"), (_UNION, "union")):
        _need(kinds.count(kind) == 1, f"interface {control.number} has no {name} descriptor, or several")
    union = next(one for one in control.functional if one[2] == _UNION)
    _need(len(union) >= 5 and union[3] == control.number, f"the union {union.hex()} is not that of its interface")
    data = next((i for i in found.interfaces if i.number == union[4] and i.kind[0] == DATA_CLASS and i.endpoints), None)
    if data is None:
        raise Unfit(f"interface {union[4]}, which the union names, is no data interface with endpoints")
    bulk = [one for one in data.endpoints if one.kind == BULK]
    _need(len(bulk) == 2 and bulk[0].is_in != bulk[1].is_in, "the data interface has not one bulk endpoint each way")
    reads, writes = sorted(bulk, key=lambda one: not one.is_in)
    if len(found.interfaces) > 2:
        _need(
            device.device_class == (0xEF, 2, 1),
            f"a composite device with a serial port has class EF 02 01, not {device.device_class}",
        )
    return AcmFunction(control, next((e for e in control.endpoints if e.kind == INTERRUPT), None), reads, writes)

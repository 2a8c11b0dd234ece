"""Register descriptions out of the SVD files that pyOCD carries: data that nobody here wrote."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib import resources
from xml.etree import ElementTree


@dataclass(frozen=True)
class Svd:
    """A register: offset in its peripheral in bytes, width in bytes, reset value, and the masks of all its fields and of those that are read only."""

    offset: int
    width: int
    reset: int
    fields: int
    read_only: int


@cache
def _peripherals(file: str) -> dict[str, ElementTree.Element]:
    archive = zipfile.ZipFile(io.BytesIO((resources.files("pyocd.debug.svd") / "svd_data.zip").read_bytes()))
    with archive.open(file) as stream:
        return {one.findtext("name", ""): one for one in ElementTree.parse(stream).getroot().iter("peripheral")}


@cache
def registers(file: str, peripherals: tuple[str, ...]) -> dict[str, dict[str, Svd]]:
    """Return the registers of some peripherals by name; arrays are written out."""
    every = _peripherals(file)
    return {name: dict(_of(_source(every, name))) for name in peripherals}


def places(file: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return the base address of every peripheral, and the number of every interrupt, by name."""
    every = _peripherals(file)
    numbers = {i.findtext("name", ""): _number(i, "value") for one in every.values() for i in one.iter("interrupt")}
    return {name: _number(one, "baseAddress") for name, one in every.items()}, numbers


def _source(every: dict[str, ElementTree.Element], name: str) -> ElementTree.Element:
    one = every[name]
    return one if one.find("registers") is not None else _source(every, one.attrib["derivedFrom"])


def _of(peripheral: ElementTree.Element) -> list[tuple[str, Svd]]:
    out = []
    for one in peripheral.iter("register"):
        name, first = one.findtext("name", ""), _number(one, "addressOffset")
        count, step = (_number(one, "dim"), _number(one, "dimIncrement")) if one.find("dim") is not None else (1, 0)
        fields, read_only = _fields(one)
        for i in range(count):
            out.append((name.replace("[%s]", str(i)).replace("%s", str(i)),
                        Svd(first + i * step, _number(one, "size") // 8, _number(one, "resetValue"), fields, read_only)))  # fmt: skip
    return out


def _fields(register: ElementTree.Element) -> tuple[int, int]:
    every = read_only = 0
    for one in register.iter("field"):
        mask = (1 << _number(one, "bitWidth")) - 1 << _number(one, "bitOffset")
        every |= mask
        read_only |= mask if one.findtext("access") == "read-only" else 0
    return every, read_only


def _number(element: ElementTree.Element, name: str) -> int:
    return int(element.findtext(name, "0"), 0)

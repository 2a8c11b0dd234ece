"""Which variable of an image a name means: from its debug information, else from its symbols."""

from __future__ import annotations

from hil.errors import RigError, close_matches
from hil.images import Image
from hil.images.c_types import CType, Opaque, Struct, size_of
from hil.images.debug_info import Variable
from hil.images.symbols import Symbol

CURE = "build it again, and let nothing change the file after that."
NO_PLACES = frozenset({0, 0xFFFF_FFFF})  # what linkers write for a variable that they have dropped


def variable(image: Image, name: str, scopes: tuple[str, ...] = ()) -> tuple[int, CType]:
    """Return address and type of a variable; of one without debug information, an `Opaque` type.

    Args:
        image: the program.
        name: in the source.
        scopes: file, namespaces or function that it is in, as far as they matter.

    Raises:
        RigError: there is none, several, or it is in no memory; or the debug information is of another build.
    """
    every = image.debug.variables(name)
    found = [each for each in every if all(scope in each.scopes for scope in scopes)]
    linked = {each.address: each for each in found if each.address is not None and _is_linked(image, each)}
    if len(linked) > 1:
        where = " and ".join(sorted("::".join(each.scopes) for each in linked.values()))
        example = next(iter(linked.values())).scopes[-1]
        raise RigError(f"{name!r} is in {where}: say which one, as in {example!r}::{name}.")
    for address, one in linked.items():
        if address is not None:
            _check_size(image, address, one)
            return address, one.type
    symbols = [symbol for symbol in image.table if symbol.name == name and symbol.section]
    if scopes or not symbols:
        raise _moved(image, name, every) or _unknown(image, name, scopes, found)
    if len({symbol.address for symbol in symbols}) > 1:
        raise RigError(f"{image.path.name} has {len(symbols)} symbols {name!r}: compile it with -g to choose.")
    declared = next((each.type for each in found if each.declared), None)
    return symbols[0].address, declared or Opaque(f"{name}, which has no debug information", symbols[0].size)


def _is_linked(image: Image, one: Variable) -> bool:
    """Return whether the linker has kept a variable: one that it dropped keeps an address of another thing, or 0."""
    here = (each.name for each in image.table if each.address == one.address)
    return not image.table or any(name.partition(".")[0] == one.name or name.startswith("_Z") for name in here)


def _check_size(image: Image, address: int, one: Variable) -> None:
    """Raise RigError if the symbols at a variable's address have another size: its type is that of another build.

    An object may be longer than its structure, by a last array without length.
    """
    wanted = size_of(one.type)
    sizes = {each.size for each in image.table if each.address == address and each.size and not each.is_function}
    longer = isinstance(one.type, Struct)
    if wanted and sizes and not any(size == wanted or (longer and size > wanted) for size in sizes):
        raise RigError(
            f"the debug information of {image.path.name} is of another build than its symbols: {one.name!r} has "
            f"{wanted:,} bytes by the one, and {max(sizes):,} by the other: {CURE}"
        )


def _moved(image: Image, name: str, every: list[Variable]) -> RigError | None:
    """Return the error of a variable that is linked, though not where the debug information has it; None otherwise.

    One that the linker has dropped has no symbol, or only those of others with its name, which have their own places.
    """
    known = {each.address for each in every if each.address is not None}
    if not known - NO_PLACES:
        return None
    there = [each.address for each in image.table if _is_symbol_of(each, name) and each.address not in known]
    if not there:
        return None
    return RigError(
        f"the debug information of {image.path.name} is of another build than its symbols: {name!r} is at "
        f"0x{max(known - NO_PLACES):08X} by the one, and at 0x{there[0]:08X} by the other: {CURE}"
    )


def _is_symbol_of(symbol: Symbol, name: str) -> bool:
    """Return whether a symbol may be that of a variable: static ones of functions end with a dot and a number."""
    mangled = symbol.name.startswith("_Z") and f"{len(name)}{name}" in symbol.name
    return bool(symbol.section) and not symbol.is_function and (symbol.name.partition(".")[0] == name or mangled)


def _unknown(image: Image, name: str, scopes: tuple[str, ...], found: list[Variable]) -> RigError:
    file = image.path.name
    if any(each.address is not None for each in found):
        return RigError(f"the linker has dropped {name!r} from {file}, as nothing uses it: use it, or read another.")
    if any(not each.declared for each in found):
        return RigError(f"{name!r} is optimised out of {file}: make it volatile, or compile with -Og.")
    known = {*image.debug.names, *(each.name for each in image.table if each.section)}
    near = close_matches(name, (each for each in known if not each.startswith(("$", "."))))
    cure = near if near.startswith("did you") else "read its name from `dut.symbols`."  # and not all thousand of them
    place = f"{'::'.join(scopes)} of {file}" if scopes else file
    return RigError(f"there is no variable {name!r} in {place}: {cure}")

"""A CMSIS pack that describes a chip to pyOCD: found, and the chip found in it (Open-CMSIS-Pack specification, `devices`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pyocd.target import normalise_target_type_name
from pyocd.target.pack.cmsis_pack import CmsisPack, MalformedCmsisPackError

from hil.errors import Blocked


def target_in(pack_file: str, chip: str) -> str:
    """Return pyOCD's name for a chip of a pack.

    Args:
        pack_file: path of a .pack file, or of the folder of one that is unpacked.
        chip: order code, such as STM32H7B3LIH6Q.

    Raises:
        Blocked: the file is missing or no pack, or does not have the chip.
    """
    if not Path(pack_file).exists():
        raise Blocked(
            "connect",
            f"the pack {pack_file} that rig.toml names is missing: put its path right, or leave `pack` out for pyOCD's own target.",
        )
    try:
        parts = [device.part_number for device in CmsisPack(pack_file).devices]
    except MalformedCmsisPackError as error:
        raise Blocked("connect", f"{pack_file} is no CMSIS pack ({error}): download the .pack file again.") from error
    return normalise_target_type_name(device_of(parts, chip, pack_file))


def device_of(parts: Iterable[str], chip: str, pack_file: str) -> str:
    """Return the device of a pack that is a chip: vendors write x for what may vary, and leave out or add a package.

    Raises:
        Blocked: none, or several.
    """
    found = sorted({part for part in parts if _matches(part, chip)}, key=lambda part: (len(part), part))
    best = [part for part in found if len(part) == len(found[-1])]  # the one that says most
    if len(best) == 1:
        return best[0]
    said = f"has {' and '.join(best)} for" if best else "does not have"
    raise Blocked(
        "connect", f"the pack {pack_file} {said} the {chip}: name the pack of this chip's family in rig.toml."
    )


def _matches(part: str, chip: str) -> bool:
    """Whether a name of a pack, in which x stands for any character, is a chip's as far as the shorter of both goes."""
    short = min(len(part), len(chip))
    pattern = "".join("." if letter in "xX" else re.escape(letter) for letter in part[:short])
    return re.fullmatch(pattern, chip[:short], re.IGNORECASE) is not None

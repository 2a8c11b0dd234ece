"""Look up a chip in the CMSIS pack that describes it to pyOCD (Open-CMSIS-Pack specification, `devices`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pyocd.target import normalise_target_type_name
from pyocd.target.pack.cmsis_pack import CmsisPack, MalformedCmsisPackError

from hil.errors import Blocked


def target_in(pack_file: str, chip: str) -> str:
    """Return pyOCD's target name for a chip (its order code) in a .pack file or the folder of an unpacked pack.

    Raises Blocked if the file is missing, is not a pack, or does not contain the chip.
    """
    if not Path(pack_file).exists():
        raise Blocked(
            "connect",
            f"the pack {pack_file} that rig.toml names is missing: correct its path, "
            "or remove `pack` to use pyOCD's own target.",
        )
    try:
        parts = [device.part_number for device in CmsisPack(pack_file).devices]
    except MalformedCmsisPackError as error:
        raise Blocked(
            "connect", f"{pack_file} is not a CMSIS pack ({error}): download the .pack file again."
        ) from error
    return str(normalise_target_type_name(device_of(parts, chip, pack_file)))


def device_of(parts: Iterable[str], chip: str, pack_file: str) -> str:
    """Return the pack's device name for a chip. Raises Blocked if none matches, or several match equally well.

    Vendors write x for letters that vary, and may omit or add the package suffix.
    """
    found = sorted({part for part in parts if _matches(part, chip)}, key=lambda part: (len(part), part))
    best = [part for part in found if len(part) == len(found[-1])]  # the longest name is the most specific
    if len(best) == 1:
        return best[0]
    matches = f"has {' and '.join(best)} for" if best else "does not have"
    raise Blocked(
        "connect", f"the pack {pack_file} {matches} the {chip}: name the pack of this chip's family in rig.toml."
    )


def _matches(part: str, chip: str) -> bool:
    """Return whether two part names match over the length of the shorter; x in `part` matches any character."""
    short = min(len(part), len(chip))
    pattern = "".join("." if letter in "xX" else re.escape(letter) for letter in part[:short])
    return re.fullmatch(pattern, chip[:short], re.IGNORECASE) is not None

"""Images brought to another size and number of channels, in integers, so that small grey images reach networks for large coloured ones."""

from __future__ import annotations

import numpy as np

from hil.data.corruption.grid import ONE, divided, read_at
from hil.errors import RigError

IMAGES_AT_A_TIME = 200


def resized(images: np.ndarray, height: int, width: int, channels: int) -> np.ndarray:
    """Read images bilinearly at the centres of the new pixels; a grey image is repeated in every channel.

    Args:
        images: uint8 [n, height, width] or [n, height, width, channels].
        height, width, channels: of the result.

    Returns:
        uint8 [n, height, width, channels].

    Raises:
        RigError: coloured images and another number of channels.
    """
    wide = images if images.ndim == 4 else images[..., None]
    if wide.shape[3] not in (1, channels):
        raise RigError(
            f"images of {wide.shape[3]} channels cannot become images of {channels}: ask for {wide.shape[3]}."
        )
    y, x = (
        ((2 * np.arange(new, dtype=np.int64) + 1) * old * ONE // (2 * new) - ONE // 2)
        for new, old in ((height, wide.shape[1]), (width, wide.shape[2]))
    )
    at = np.broadcast_arrays(y[None, :, None], x[None, None])
    out = np.empty((len(wide), height, width, channels), np.uint8)
    for start in range(0, len(wide), IMAGES_AT_A_TIME):
        part = slice(start, start + IMAGES_AT_A_TIME)
        out[part] = divided(read_at(wide[part].astype(np.int64), at[0], at[1]), ONE * ONE)
    return out

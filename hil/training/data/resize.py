"""Change the size and number of channels of images, in integers; for networks with a larger or coloured input."""

from __future__ import annotations

import numpy as np

from hil.errors import RigError
from hil.training.data.corruption.grid import ONE, divided, read_at

IMAGES_AT_A_TIME = 200


def resized(images: np.ndarray, height: int, width: int, channels: int) -> np.ndarray:
    """Interpolate images bilinearly at the centres of the new pixels; a grey image is repeated in every channel.

    Args:
        images: uint8 [n, height, width] or [n, height, width, channels].
        height, width, channels: of the result.

    Returns:
        uint8 [n, height, width, channels].

    Raises:
        RigError: coloured images cannot be converted to another number of channels.
    """
    wide = images if images.ndim == 4 else images[..., None]
    if wide.shape[3] not in (1, channels):
        raise RigError(
            f"images of {wide.shape[3]} channels cannot be converted to {channels}: request {wide.shape[3]}."
        )
    y, x = (
        ((2 * np.arange(new, dtype=np.int64) + 1) * old * ONE // (2 * new) - ONE // 2)
        for new, old in ((height, wide.shape[1]), (width, wide.shape[2]))
    )
    at = np.broadcast_arrays(y[None, :, None], x[None, None])
    out = np.empty((len(wide), height, width, channels), np.uint8)
    for start in range(0, len(wide), IMAGES_AT_A_TIME):
        part = slice(start, start + IMAGES_AT_A_TIME)
        out[part] = divided(read_at(wide[part], at[0], at[1]), ONE * ONE)
    return out

"""Firmware images: ELF files, their symbols, source lines and call frames, and the user's own firmware."""

from hil.images.images import Image, image_of

__all__ = ["Image", "image_of"]

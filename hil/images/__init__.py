"""Firmware images: ELF files with symbols, source lines and call frames; prebuilt or the user's own."""

from hil.images.images import Image, image_of

__all__ = ["Image", "image_of"]

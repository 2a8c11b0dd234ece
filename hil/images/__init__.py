"""Firmware images: ELF files with symbols, source lines and call frames; prebuilt or the user's own."""

from hil.images.images import Image, firmware_of, image_of, prebuilt_boards, program_of

__all__ = ["Image", "firmware_of", "image_of", "prebuilt_boards", "program_of"]

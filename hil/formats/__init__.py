"""The number formats of networks: one module a format, which says what memory its kernels need."""

from hil.formats import bfp8, tflite8
from hil.graph.graph import Format

FORMATS = {Format.BFP8: bfp8, Format.TFLITE8: tflite8}

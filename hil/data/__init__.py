"""Data sets of real images: one that comes along, full ones that are fetched, rotated ones, and the user's own."""

from hil.data.dataset import DataSet, batches, load, names

__all__ = ["DataSet", "batches", "load", "names"]

"""Image data sets: one included in the package, full sets to download, sets derived from them, and the user's own."""

from hil.training.data.dataset import DataSet, batches, load, names

__all__ = ["DataSet", "batches", "load", "names"]

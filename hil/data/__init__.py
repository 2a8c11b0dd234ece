"""Data sets of real images."""

from hil.data.dataset import DataSet, batches, load

__all__ = ["DataSet", "batches", "load"]

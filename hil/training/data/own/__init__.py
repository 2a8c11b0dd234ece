"""The user's own data by path: a folder of images by class, .npz or .csv of features (docs/data.md)."""

from hil.training.data.own.network_input import NetworkInput
from hil.training.data.own.read import read_own, state_of

__all__ = ["NetworkInput", "read_own", "state_of"]

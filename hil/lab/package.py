"""labgrid's Python package, imported only when rig.toml names a place: it takes a second to load."""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import dataclass
from types import ModuleType

from hil.errors import RigError

MAJORS = (25, 26)  # versions 25 and later speak gRPC; a later one than these was not tried
CURE = "pip install 'trainrig[labgrid]'"


@dataclass(frozen=True)
class Package:
    """The version of labgrid, and its modules that the rig uses: gRPC, messages, their stubs, classes of places."""

    version: str
    grpc: ModuleType
    messages: ModuleType
    stubs: ModuleType
    common: ModuleType


def load() -> Package:
    """Import labgrid.

    Raises:
        RigError: it is not installed, or of a version that the rig does not know.
    """
    try:
        version = importlib.metadata.version("labgrid")
    except importlib.metadata.PackageNotFoundError:
        raise RigError(f"rig.toml names a labgrid place, and labgrid is not installed: {CURE}.") from None
    if version.partition(".")[0] not in map(str, MAJORS):
        known = " or ".join(map(str, MAJORS))
        raise RigError(f"labgrid {version} is installed, and the rig knows version {known}: {CURE}.")
    try:
        return Package(
            version,
            importlib.import_module("grpc"),
            importlib.import_module("labgrid.remote.generated.labgrid_coordinator_pb2"),
            importlib.import_module("labgrid.remote.generated.labgrid_coordinator_pb2_grpc"),
            importlib.import_module("labgrid.remote.common"),
        )
    except ImportError as error:
        raise RigError(f"labgrid {version} cannot be imported ({error}): install it again, {CURE}.") from error

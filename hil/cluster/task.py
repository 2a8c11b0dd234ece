"""A task, and how a worker carries it out."""

from __future__ import annotations

import hashlib
import pickle
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import hil
from hil.errors import RigError, message_of
from hil.packaged import packaged_folder

KINDS = ("*.py", "*.[ch]", "*.toml")
WEIGHTS = "fixtures/weights"
CORE = "core"  # the resource of a task that computes


@dataclass(frozen=True)
class Task:
    """A call on a worker.

    Attributes:
        name: of the task in messages.
        call: a function of a module of this package.
        arguments: values that pickle takes; they hold all that the call needs.
        tag: anything of whoever asks, which stays here.
    """

    name: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    tag: Any = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """The name, and the SHA-256 of what is called with which values."""
        content = pickle.dumps((self.call.__module__, self.call.__qualname__, self.arguments), protocol=5)
        return f"{self.name}-{hashlib.sha256(content).hexdigest()}"


@dataclass(frozen=True)
class Failure:
    """A task without a result: one sentence, and the traceback if the sentence is not one of the rig's."""

    reason: str
    traceback: str = ""


def carry_out(call: Callable[..., Any], arguments: tuple[Any, ...], sources: str | None) -> Any:
    """Carry out a task on a worker; return its result or a `Failure`.

    Args:
        call, arguments: of the task.
        sources: digest of the sources of whoever asks; None: the worker is a process of the same computer.
    """
    if sources is not None and sources != sources_digest():
        place = f"the worker on {socket.gethostname()} has other sources of trainrig (its version is {hil.__version__})"
        return Failure(f"{place} than this computer: install the same on both.")
    try:
        return call(*arguments)
    except RigError as error:
        return Failure(str(error))
    except Exception as error:  # whatever it is, it is told where it was asked for
        return Failure(f"{type(error).__name__}: {message_of(error)}", traceback.format_exc())


@cache
def sources_digest() -> str:
    """Return the SHA-256 of all sources of this package, Python and C, and of the weights that come along, by name."""
    root, digest = Path(hil.__file__).parent, hashlib.sha256()
    sources = {str(path.relative_to(root)): path for kind in KINDS for path in root.rglob(kind)}
    weights = {f"{WEIGHTS}/{path.name}": path for path in packaged_folder(WEIGHTS, WEIGHTS).iterdir()}
    for name, path in sorted((sources | weights).items()):
        digest.update(f"{name}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()

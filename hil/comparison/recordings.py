"""References from files: arrays by step in .npz and .npy files, PyTorch states, arrays in an ELF, former runs."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.lib import format as npy

from hil.bounded_npz import LARGEST, read_npy, read_npz
from hil.bounded_read import MB
from hil.comparison.tensors import tensor_of, tensors_of
from hil.errors import RigError, message_of, shown

OF_RUN = "tensors.npz"  # file in the folder of a run, with the tensors of the device
HEADERS = 1024  # bytes of an array's headers in .npy and .zip, at most, with names of up to 300 characters
AT_STEP = re.compile(r"(.+)@(\d{1,9})")
CURE = "give an .npz or .npy file, a folder of .npy files, a PyTorch state (.pt, .pth) or the folder of a run"


class Recorded:
    """A reference whose steps are known: made by `recorded` and `golden`.

    Attributes:
        kind: `file`, `run` or `elf`.
        description: where it comes from, in words.
    """

    def __init__(self, steps: Sequence[Mapping[str, np.ndarray]], kind: str, description: str) -> None:
        self._steps = steps
        self.kind = kind
        self.description = description

    def __len__(self) -> int:
        """Return the number of steps. A comparison passes only if the device has as many."""
        return len(self._steps)

    def step(self, index: int, /) -> Mapping[str, np.ndarray]:
        """Return the tensors of a step by name. Raises RigError if there is no such step."""
        if not 0 <= index < len(self._steps):
            raise RigError(f"{self.description} has {len(self._steps)} steps, from 0: there is no step {index}.")
        return self._steps[index]


def recorded(path: str | Path, *, steps: int | None = None) -> Recorded:
    """Return the reference that files hold.

    Arrays are named `NAME@STEP` (`fc1@0`, `fc1@1`, ...; every step from 0), or just `NAME`: then the first axis of each
    array is the step, and all have as many.

    Args:
        path: one of these; all arrays together have at most 256 MB:
            - an .npz file;
            - an .npy file: one tensor, named as the file;
            - a folder of .npy files, each named as above;
            - a PyTorch file (.pt, .pth): a state (`state_dict`) as its only step, or a list of states. Only this one
              imports torch, with `weights_only=True`;
            - the folder of a former run, for example on another reality, which has a file `tensors.npz`.
        steps: only the first so many; all if None.

    Raises:
        RigError: it cannot be read, is too large, has no arrays, or misses a step; it has fewer than `steps` steps, or
            that is no whole number of at least 1.
    """
    path = Path(path)
    kind = "file"
    if path.is_dir() and (path / OF_RUN).exists():
        kind, arrays = "run", read_npz(path / OF_RUN, CURE)
    elif path.is_dir():
        arrays = _of_folder(path)
    elif path.suffix in (".pt", ".pth"):
        arrays = _of_torch(path)
    elif path.suffix == ".npy":
        arrays = {path.stem: read_npy(path, CURE)}
    else:
        arrays = read_npz(path, CURE)
    return Recorded(_first(_by_step(arrays, str(path)), steps, str(path)), kind, str(path))


def golden(
    read: Callable[[str, Any, tuple[int, ...]], Any],
    arrays: Mapping[str, tuple[str, Any, tuple[int, ...]]],
    *,
    source: str = "the ELF",
) -> Recorded:
    """Return the reference that arrays in an ELF hold.

    Args:
        read: returns an array by symbol, dtype and shape, such as `dut.read`.
        arrays: symbol, dtype and shape by name of tensor: `{"fc1": ("golden_fc1", np.float32, (20, 16, 8))}`. The first
            axis is the step.
        source: of the arrays, in words.

    Raises:
        RigError: an array has another dtype or shape than `arrays` says, or another number of steps than the others.
        Blocked, RigError: raised by `read`.
    """
    found: dict[str, np.ndarray] = {}
    for name, (symbol, dtype, shape) in arrays.items():
        array = tensor_of(read(symbol, dtype, shape), f"symbol {symbol} of {source}").array
        if array.shape != tuple(shape) or array.dtype != np.dtype(dtype):
            raise RigError(
                f"symbol {symbol} of {source} is {array.dtype} {array.shape}, where {np.dtype(dtype)} {tuple(shape)} "
                "is asked: correct the entry of golden()."
            )
        found[name] = array
    return Recorded(_by_step(found, source), "elf", f"{source}, {', '.join(one[0] for one in arrays.values())}")


class Recorder:
    """Write the tensors of a run step by step to an .npz file that `recorded` reads. Use it in a `with` statement.

    Args:
        path: of the file. It is complete when the `with` statement ends.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self._file = zipfile.ZipFile(path, "x")  # not compressed: weights hardly shrink, and a test should not wait
        self._written: set[str] = set()
        self._bytes = 0

    def step(self, index: int, tensors: Mapping[str, Any]) -> None:
        """Write the tensors of a step.

        Args:
            index: 0, 1, 2, ...
            tensors: by name, as in `Comparison.step`. A Python number becomes float64 or int64.

        Raises:
            RigError: they are no arrays, were written before, or all together exceed 256 MB.
            OSError: the disk is full.
        """
        for name, tensor in tensors_of(tensors, f"step {index}").items():
            member = f"{name}@{index}.npy"
            if member in self._written:
                raise RigError(f"tensor {name} of step {index} is recorded already: record every step once.")
            self._bytes += tensor.array.nbytes + HEADERS
            if self._bytes > LARGEST:
                raise RigError(f"the tensors of this run exceed {LARGEST // MB} MB at step {index}: record fewer.")
            self._written.add(member)
            with self._file.open(member, "w") as stream:
                npy.write_array(stream, tensor.array, allow_pickle=False)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _of_folder(path: Path) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for file in sorted(path.glob("*.npy")):
        arrays[file.stem] = read_npy(file, CURE, LARGEST - sum(array.nbytes for array in arrays.values()))
    return arrays


def _of_torch(path: Path) -> dict[str, np.ndarray]:
    try:
        import torch
    except ImportError as error:
        raise RigError(f"{path} needs PyTorch to be read: pip install torch, or save its arrays as .npz.") from error
    if path.is_file() and path.stat().st_size > LARGEST:
        raise RigError(f"{path} has more than {LARGEST // MB} MB, the largest size that is read: {CURE}.")
    try:
        states = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file may raise nearly anything
        raise RigError(f"{path} cannot be read as a PyTorch state ({message_of(error)}): {CURE}.") from error
    states = states if isinstance(states, list | tuple) else [states]
    return {
        f"{name}@{step}": tensor.array
        for step, state in enumerate(states)
        for name, tensor in tensors_of(state, f"step {step} of {path}").items()
    }


def _by_step(arrays: Mapping[str, np.ndarray], source: str) -> list[dict[str, np.ndarray]]:
    """Return the tensors of every step. Raises RigError if a step is missing, or the steps cannot be told."""
    if not arrays:
        raise RigError(f"{source} has no arrays: {CURE}.")
    found = {name: AT_STEP.fullmatch(name) for name in arrays}
    if all(match is None for match in found.values()):
        return _by_axis(arrays, source)
    by_step: dict[int, dict[str, np.ndarray]] = {}
    for name, match in found.items():
        if match is None:
            raise RigError(f"{source} has {shown(name)} beside names such as fc1@0: give all arrays as NAME@STEP.")
        tensors = by_step.setdefault(int(match[2]), {})
        if match[1] in tensors:
            raise RigError(f"{source} has step {int(match[2])} of {match[1]} twice: write the number in one way.")
        tensors[match[1]] = arrays[name]
    missing = next(step for step in range(len(by_step) + 1) if step not in by_step)
    if missing < len(by_step):
        raise RigError(f"{source} has no step {missing}, but step {max(by_step)}: give every step from 0.")
    return [by_step[step] for step in range(len(by_step))]


def _by_axis(arrays: Mapping[str, np.ndarray], source: str) -> list[dict[str, np.ndarray]]:
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(counts.values())) > 1 or 0 in counts.values():
        said = ", ".join(f"{name} {arrays[name].shape}" for name in list(arrays)[:4])
        raise RigError(
            f"{source} has arrays whose first axes do not agree on the number of steps ({said}): "
            "give every array one first axis of steps, or name them NAME@STEP (fc1@0)."
        )
    return [{name: array[step] for name, array in arrays.items()} for step in range(next(iter(counts.values())))]


def _first(
    steps: Sequence[Mapping[str, np.ndarray]], count: int | None, source: str
) -> Sequence[Mapping[str, np.ndarray]]:
    whole = isinstance(count, int) and not isinstance(count, bool)
    if count is not None and not (whole and 1 <= count <= len(steps)):
        raise RigError(f"steps={shown(count)}: {source} has {len(steps)} steps; give 1 to {len(steps)}.")
    return steps[:count]

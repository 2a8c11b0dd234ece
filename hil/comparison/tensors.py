"""Named values of one step, from the device and from the reference, as NumPy arrays of one dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hil.errors import Blocked, DeviceFault, RigError, message_of, shown

OF_DEVICE = (Blocked, DeviceFault)  # errors that stay what they are, whoever asks a device for its values
DTYPES = frozenset(np.dtype(letter) for letter in "?bBhHiIlLqQefd")  # bool, int8 to uint64, float16 to float64
NUMBERS = frozenset({int, float, bool, np.bool_})  # types of which one object may stand at several places


@runtime_checkable
class Reference(Protocol):
    """What the device is compared with: any object with a method `step`.

    A reference may keep state: `step` is called once for each step, in order, from 0.
    """

    def step(self, index: int, /) -> Mapping[str, Any]:
        """Return the tensors after step `index`, by name.

        Each value is a NumPy array, a Python number, a list of numbers, or an object with `__array__`. A PyTorch tensor
        is detached and copied to the host if needed. The dtype is bool, an integer, float16, float32 or float64.
        """
        ...


@dataclass(frozen=True)
class StepTensor:
    """A value of a step.

    Attributes:
        array: in native byte order, with one of `DTYPES`.
        typed: whether the value had a dtype of its own. Python numbers and lists of them have none.
        given: the value itself, whose array may have memory of its own; None of a copy.
    """

    array: np.ndarray
    typed: bool
    given: object = None

    def is_same(self, other: StepTensor) -> bool:
        """Return whether both are one object, have one at the same place in their lists, or share their memory."""
        return _are_same(self.given, other.given) or np.shares_memory(self.array, other.array)


def tensors_of(values: object, whose: str) -> dict[str, StepTensor]:
    """Return the named values of a step as arrays; `whose` names their source in messages.

    Raises:
        RigError: they are not a dictionary of arrays by name, there are none, or one has no elements or a dtype that is
            not compared.
    """
    if not isinstance(values, Mapping):
        what = "None" if values is None else f"a value of type {type(values).__name__}"
        raise RigError(f"{whose} gave {what}: give a dictionary of arrays by name.")
    if not values:
        raise RigError(f"{whose} gave no tensors, so that nothing can be compared: give at least one.")
    return {_name(name, whose): tensor_of(value, f"tensor {name} of {whose}") for name, value in values.items()}


def tensor_of(value: Any, what: str) -> StepTensor:
    """Return a value as an array; `what` names it in messages. The array may share the memory of the value.

    Raises:
        RigError: it is no array, has no elements, or has a dtype that is not compared.
    """
    try:
        if hasattr(value, "detach"):  # a PyTorch tensor: NumPy takes none that requires a gradient or is on a GPU
            value = value.detach()
            value = value.cpu() if hasattr(value, "cpu") else value
        typed, array = hasattr(value, "dtype"), np.asarray(value)
    except OF_DEVICE:
        raise
    except Exception as error:  # the `__array__` of a user's object may raise anything
        raise RigError(f"{what} is no array ({message_of(error)}): give a NumPy array or a number.") from error
    dtype = array.dtype.newbyteorder("=")
    if dtype not in DTYPES:
        raise RigError(
            f"{what} has the dtype {shown(array.dtype.name)}: give bool, an integer, float16, float32 or float64 "
            "(bfloat16 as float32, a complex number as two tensors)."
        )
    if array.size == 0:
        raise RigError(f"{what} has no elements (shape {array.shape}), so that nothing can be compared.")
    return StepTensor(array.astype(dtype, copy=False), typed, value)


def in_one_dtype(device: StepTensor, reference: StepTensor) -> tuple[np.ndarray, np.ndarray]:
    """Return both arrays; a value without a dtype takes that of the other side, as in NumPy (NEP 50).

    A Python number beside a float32 is so rounded to float32, and is infinite there if it is too large (`true_values`
    says what it is); an integer beside integers takes their dtype if it fits. Two Python numbers are float64, or both
    integers. Arrays that have a dtype are never converted.
    """
    first, second = device.array, reference.array
    if first.dtype == second.dtype or (device.typed and reference.typed):
        return first, second
    if device.typed:
        return first, _taken_as(second, first.dtype)
    if reference.typed:
        return _taken_as(first, second.dtype), second
    if {first.dtype.kind, second.dtype.kind} <= set("iu"):
        dtype = np.uint64 if min(first.min(), second.min()) >= 0 else np.float64
    else:
        dtype = np.float64
    return (
        (first, second) if "b" in first.dtype.kind + second.dtype.kind else (first.astype(dtype), second.astype(dtype))
    )


def true_values(
    device: StepTensor, reference: StepTensor, pair: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pair of `in_one_dtype`, both as float64 if a finite number without a dtype is infinite in that pair.

    Such a number keeps its own value: it is not the infinity of the other side, in which that side may have ended.
    """
    beyond = [np.isfinite(own.array) & np.isinf(made) if own.array.dtype != made.dtype else None
              for own, made in zip((device, reference), pair, strict=True)]  # fmt: skip
    if not any(each is not None and each.any() for each in beyond):
        return pair
    first, second = (
        made.astype(np.float64) if each is None else np.where(each, own.array.astype(np.float64), made)
        for own, made, each in zip((device, reference), pair, beyond, strict=True)
    )
    return first, second


def form(array: np.ndarray) -> str:
    """Return dtype and shape for a message: `float32 (16, 8)`."""
    return f"{array.dtype} {array.shape}"


def number_words(array: np.ndarray, flat: int) -> str:
    """Return the element at a flat index for a message: floats also as the hexadecimal digits of their bits."""
    value = array.reshape(-1)[flat]
    if array.dtype.kind != "f":
        return str(value)
    return f"{value!s} (0x{int(value.view(f'u{array.itemsize}')):0{2 * array.itemsize}x})"


def index_of(array: np.ndarray, flat: int) -> tuple[int, ...]:
    """Return the index of an element from its flat index in C order."""
    return tuple(int(one) for one in np.unravel_index(flat, array.shape))


def _are_same(one: object, other: object) -> bool:
    """Return whether two values, or values at the same place in two lists, are one object or share their memory.

    Python has one object for many equal numbers, and there is one of each `np.bool_`: these say nothing.
    """
    if one is other:
        return one is not None and type(one) not in NUMBERS
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.shares_memory(one, other)
    if not (_has_places(one) and _has_places(other)):
        return False
    return any(_are_same(mine, yours) for mine, yours in zip(one, other, strict=False) if type(mine) not in NUMBERS)  # type: ignore[call-overload]


def _has_places(value: object) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _name(name: object, whose: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise RigError(f"{whose} gave a tensor the name {shown(name)}: give a string that is not empty.")
    return name


def _taken_as(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Return numbers without a dtype as this dtype; as they are if it has no such numbers."""
    if dtype.kind == "f" and array.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            return array.astype(dtype)
    if dtype.kind in "iu" and array.dtype.kind in "iu":
        limits = np.iinfo(dtype)
        fits = limits.min <= int(array.min()) and int(array.max()) <= limits.max
        return array.astype(dtype) if fits else array
    return array

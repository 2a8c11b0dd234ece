"""Keep the tensors of a device beside the record of its test, so that another run can be compared with them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hil.bounded_read import MB

if TYPE_CHECKING:  # imported late: a session without devices under test needs none of it
    import numpy as np

    from hil.comparison import Recorder

MOST = 16 * MB  # of the tensors of one comparison: weights after every step of a long test are no record


class KeptTensors:
    """Writes the tensors of a comparison to an .npz file that `hil.comparison.recorded` reads.

    Args:
        path: of the file. It is written from the first step on, and deleted if the tensors become too large.

    Attributes:
        dropped: why there is no file; empty if there may be one.
        lost: whether that is because the disk did not take it, so that the record is not whole.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.dropped, self.lost = path, "", False
        self._recorder: Recorder | None = None
        self._bytes, self._closed = 0, False

    def step(self, index: int, tensors: Mapping[str, np.ndarray]) -> None:
        """Write the tensors of a step. A full disk costs the file, and changes no verdict."""
        if self.dropped or self._closed:
            return
        self._bytes += sum(tensor.nbytes for tensor in tensors.values())
        if self._bytes > MOST:
            self._drop(f"the tensors of the comparison have more than {MOST // MB} MB")
            return
        try:
            if self._recorder is None:
                from hil.comparison import Recorder

                self._recorder = Recorder(self.path)
            self._recorder.step(index, tensors)
        except OSError as error:
            self._lose(error)

    def to_json(self) -> dict[str, dict[str, str]]:
        """Return the field of the record that names the complete file; empty if there is none."""
        if not self._closed or not self.path.is_file():
            return {}
        return {"kept": {"file": self.path.name, "sha256": hashlib.sha256(self.path.read_bytes()).hexdigest()}}

    def close(self) -> None:
        """Complete the file, if there is one; a step after that is not written."""
        self._closed = True
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            try:
                recorder.__exit__(None, None, None)
            except OSError as error:
                self._lose(error)

    def _lose(self, error: OSError) -> None:
        self.lost = True
        self._drop(error.strerror or str(error))

    def _drop(self, why: str) -> None:
        self.dropped = why
        self.close()
        self.path.unlink(missing_ok=True)

"""Models of their publishers: address, SHA-256 and licence of each, in published.toml (docs/tflite.md)."""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hil.bounded_read import packaged_toml, read_file, take
from hil.errors import RigError, close_matches

TABLE = Path(__file__).parent / "published.toml"
LARGEST = 64 << 20  # bytes of a model
TIMEOUT_S = 60.0  # of one network operation


@dataclass(frozen=True)
class Published:
    """A model that its publisher gives away.

    Attributes:
        name: by which it is asked for.
        title: what it is.
        file: what the publisher calls it.
        address: https, of one commit.
        sha256: of the file.
        licence: with the name of who gives it.
        benchmark, task: the name by which MLPerf Tiny's runner knows it, and its task; empty where it has none.
    """

    name: str
    title: str
    file: str
    address: str
    sha256: str
    licence: str
    benchmark: str
    task: str


@cache
def published() -> dict[str, Published]:
    """Return the models by name."""
    return {name: Published(name, **facts) for name, facts in packaged_toml(TABLE).items()}


def find_published(name: str) -> Published:
    """Return a model by name.

    Raises:
        RigError: there is no such model.
    """
    if name not in published():
        raise RigError(f"there is no published model {name!r}: {close_matches(name, published())}")
    return published()[name]


def published_as(sha256: str) -> Published | None:
    """Return the model whose file has this SHA-256; None if it is none of them."""
    return next((one for one in published().values() if one.sha256 == sha256), None)


def fetched(model: Published, source: Path | None = None) -> bytes:
    """Return the bytes of a model, verified, from its publisher or from a file that was brought here.

    Raises:
        RigError: it cannot be fetched or read, or is another file.
    """
    by_hand = f"download {model.address} elsewhere and give it by --from"
    data = _download(model, by_hand) if source is None else read_file(source, LARGEST, by_hand)
    digest = hashlib.sha256(data).hexdigest()
    if digest != model.sha256:
        origin = model.address if source is None else source
        raise RigError(
            f"{origin} is not the file that was published as {model.name} (its SHA-256 is {digest[:16]}..., not "
            f"{model.sha256[:16]}...): {by_hand}."
        )
    return data


def _download(model: Published, by_hand: str) -> bytes:
    try:
        with urllib.request.urlopen(model.address, timeout=TIMEOUT_S) as answer:
            return take(answer, LARGEST, model.file, by_hand)
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise RigError(f"{model.name} cannot be fetched ({reason}): {by_hand}.") from error

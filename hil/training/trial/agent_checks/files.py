"""Network files that are damaged, cut or out of order: the agent must find what this package's reader finds."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import xxhash

from hil.errors import DeviceFault
from hil.training.graph.file import NetworkFileError, decode
from hil.training.trial.agent_checks.refused import expect
from hil.training.trial.device import WINDOWED_BLOCK, Device
from hil.training.trial.lockstep import LockStep

HEADER, RECORD, SEALED_FROM, DIGEST_AT = 32, 36, 16, 12
DAMAGES = 20
TURNING = (0, 1, 2, 3, 127, 128, 255)  # bytes at which a field leaves its limits
NETWORK_LAYER = "network_layer"


def check_files(trial: LockStep) -> None:
    """Offer the agent files that it must refuse, and requests that need a network; then give it its own again."""
    device, blob = trial.device, trial.p.blob
    _check_order(trial, blob)
    _check_seal(device, blob)
    for damaged in _damaged(blob, trial.p.spec.seed):
        error = _error_of(damaged)
        if error is not None:
            _offer(device, damaged, error)
    device.load(blob)


def _check_order(trial: LockStep, blob: bytes) -> None:
    """Requests without a network, without settings, and pieces of a file that do not follow each other."""
    device, arena = trial.device, trial.p.image.arena_size
    size, front = len(blob), trial.p.plan.front
    expect(device, ("does_not_fit", arena + 1, arena), "load_begin", total=arena - front + 1)
    expect(device, ("no_network", 0, 0), "load_data", offset=0, data=blob[:4])
    for request, values in (("load_end", {}), ("work", {}), ("infer", {"count": 1})):
        expect(device, ("no_network", 0, 0), request, **values)
    body = trial.p.method.request.configuration(trial.settings, trial.p.slots, trial.next_step)
    expect(device, ("no_network", 0, 0), "configure", **body)
    expect(device, None, "load_begin", total=size)
    expect(device, ("out_of_order", 4, 0), "load_data", offset=4, data=blob[4:8])
    expect(device, ("network_truncated", 0, size), "load_end")
    expect(device, None, "load_begin", total=2)
    expect(device, ("bad_length", 4, 2), "load_data", offset=0, data=blob[:4])
    device.load(blob)
    expect(device, ("no_network", 0, 0), "load_data", offset=0, data=blob[:4])
    label = {"slot": 0, "label": 0}
    expect(device, ("not_configured", 0, 0), "samples", **label, pixels=b"\0")
    expect(device, ("not_configured", 0, 0), "step", step=0, count=1)
    expect(device, ("not_configured", 0, 0), "infer", count=1)
    expect(device, ("not_configured", 0, 0), "trace", slot=0, stage=0, offset=0)


def _check_seal(device: Device, blob: bytes) -> None:
    """The four first checks: magic, version, length, digest."""
    magic, version = struct.unpack_from("<IH", blob)
    size = len(blob)
    _offer(device, blob[: HEADER - 1], ("network_truncated", HEADER - 1, HEADER))
    _offer(device, struct.pack("<I", magic ^ 1) + blob[4:], ("network_magic", magic ^ 1, 0))
    _offer(device, blob[:4] + struct.pack("<H", version + 1) + blob[6:], ("network_version", version + 1, version))
    _offer(device, blob[:-4], ("network_truncated", size - 4, size))
    wrong = blob[:-1] + bytes([blob[-1] ^ 1])
    held = struct.unpack_from("<I", blob, DIGEST_AT)[0]
    _offer(device, wrong, ("network_digest", xxhash.xxh32_intdigest(wrong[SEALED_FROM:]), held))


def _damaged(blob: bytes, seed: int) -> Iterator[bytes]:
    """Yield files with one byte of header, records or parameters changed, and a digest that fits."""
    rng = random.Random(seed)
    layers = struct.unpack_from("<H", blob, 6)[0]
    records = HEADER + RECORD * layers
    parameters = [struct.unpack_from("<I", blob, HEADER + RECORD * index + 32)[0] for index in range(layers)]
    for number in range(DAMAGES):
        begin = rng.choice([at for at in parameters if at] or [HEADER]) if number % 3 == 0 else SEALED_FROM
        end = min(len(blob), begin + 28) if begin > HEADER else records
        raw = bytearray(blob)
        raw[rng.randrange(begin, end)] = rng.choice((*TURNING, rng.randrange(256)))
        struct.pack_into("<I", raw, DIGEST_AT, xxhash.xxh32_intdigest(bytes(raw[SEALED_FROM:])))
        yield bytes(raw)


def _error_of(blob: bytes) -> tuple[str, int, int] | None:
    """Return the error that a file must be refused with by layer and check; None for a file that can be used."""
    try:
        decode(blob)
    except NetworkFileError as refused:
        return NETWORK_LAYER, refused.layer, refused.check
    return None


def _offer(device: Device, blob: bytes, error: tuple[str, int, int]) -> None:
    """Send a file that must be refused when it is complete."""
    expect(device, None, "load_begin", total=len(blob))
    for at in range(0, len(blob), WINDOWED_BLOCK):
        expect(device, None, "load_data", offset=at, data=blob[at : at + WINDOWED_BLOCK])
    try:
        expect(device, error, "load_end")
    except DeviceFault as fault:
        raise DeviceFault(f"{fault} The file is the network with one byte changed.") from None

"""What a trial says it was: board, image, batch, seed and data, each told in more than one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.contradiction import Contradiction, differ

ELF = ".elf"  # of a prebuilt image, whose name is that of its board
OWN_FIRMWARE, NO_PROBE = "own firmware: ", "no probe: "  # as warnings of a trial begin


def check_identity(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Board, image, batch, seed and data set are those of image, settings and data card; warnings fit the image."""
    record, file = trial.record, trial.source
    settings: Mapping[str, Any] = record.settings
    for name, here in (("batch", record.batch), ("seed", record.seed)):
        if name in settings and settings[name] != here:
            yield differ(file, name, here, f"{file} (settings.{name})", settings[name], trial.name)
    card = record.data_card
    included = card is not None and not card["changes"] and not card["file"]  # of others another content is hashed
    if card is not None and included and card["sha256"] != record.data_sha256:
        yield differ(file, "data_sha256", record.data_sha256, f"{file} (data_card.sha256)", card["sha256"], trial.name)
    image = record.image
    if image is not None:
        if image["in_manifest"] and image["file"] != f"{record.board}{ELF}":
            yield differ(file, "board", record.board, f"{file} (image.file)", image["file"], trial.name)
        wanted = f"{OWN_FIRMWARE}{image['file']} (digest {image['digest'].upper()})"
        told = [warning for warning in record.warnings if warning.startswith(OWN_FIRMWARE)]
        if bool(told) == image["in_manifest"] or not all(warning.startswith(wanted) for warning in told):
            said = told[0] if told else f"no warning of {OWN_FIRMWARE.strip(': ')}"
            yield differ(file, "image", f"{image['file']} {image['digest']}", f"{file} (warnings)", said, trial.name)
    if record.network_file is not None and record.network_file["file"] != record.network:
        there = record.network_file["file"]
        yield differ(file, "network", record.network, f"{file} (network_file.file)", there, trial.name)
    blind = any(warning.startswith(NO_PROBE) for warning in record.warnings)
    if blind and record.sram_probe is not None:
        yield differ(file, "sram_probe", dict(record.sram_probe), f"{file} (warnings)", NO_PROBE, trial.name)


def check_layers(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The cycles of the layers of the first compared step add up to those of its phases."""
    record, file, table = trial.record, trial.source, trial.steps
    if record.profile is None or record.wrong_figures:
        return
    profile: Mapping[str, Mapping[str, int]] = record.profile  # type: ignore[assignment]
    if list(profile["forward"]) != list(profile["backward"]):
        there = list(profile["backward"])
        yield differ(file, "profile.forward", list(profile["forward"]), f"{file} (profile.backward)", there, trial.name)
    latency: Mapping[str, Any] = record.latency or {}
    layers: Mapping[str, Any] = latency.get("layers") or {}
    for direction, cycles in profile.items():
        column = table.get(f"cycles_{direction}") if table is not None else None
        if column is not None and len(column) and sum(cycles.values()) != int(column[0]):
            place = f"{trial.name}/steps.parquet (cycles_{direction} in row 0)"
            yield differ(
                file, f"profile.{direction}, its sum,", sum(cycles.values()), place, int(column[0]), trial.name
            )
        measured = layers.get(direction, cycles)
        if list(measured) != list(cycles):
            place = f"{file} (profile.{direction})"
            yield differ(file, f"latency.layers.{direction}", list(measured), place, list(cycles), trial.name)

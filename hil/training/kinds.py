"""The kinds of plugins of the training half, for `hil plugins` and `hil new`."""

from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")

KINDS = {  # the place of the registry of each
    "formats": "hil.training.formats:FORMATS",
    "methods": "hil.training.methods:METHODS",
    "networks": "hil.training.networks:KNOWN",
}

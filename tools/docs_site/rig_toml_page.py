"""The reference of rig.toml, from the models that read it."""

from __future__ import annotations

from hil.rig_toml import Bench
from tools.docs_site.markdown import cell, page
from tools.docs_site.schema_tables import fields

PAGE = "reference/rig-toml.md"
INTRODUCTION = """\
# rig.toml

The keys of the file that describes a bench. [The bench](../bench.md) explains them, `hil init` writes a first file, and
`hil doctor` checks it. An unknown key is refused with its line.
"""


def text() -> str:
    """Return the page."""
    found = Bench.model_json_schema()
    definitions = found["$defs"]
    parts = [INTRODUCTION]
    for title, name in (
        ("Tables `[[board]]`", "BenchBoard"),
        ("Key `power`", "PowerEntry"),
        ("Table `[labgrid]`", "LabgridEntry"),
    ):
        part = definitions[name]
        parts += [f"## {title} {{ #{name.lower()} }}", cell(part["description"]), fields(part, definitions)]
    return page(*parts)

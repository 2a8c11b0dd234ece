"""Write the JSON Schemas of the files of a run: `python -m hil.record.generate [FOLDER]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hil.record.results import FILES, schema


def texts() -> dict[str, str]:
    """Return the text of each schema by file name."""
    return {f"{name}.schema.json": json.dumps(schema(name), indent=1) + "\n" for name in FILES}


def main(argv: list[str]) -> int:
    """Write the schemas into the given folder, by default next to the models."""
    folder = Path(argv[1]) if len(argv) > 1 else Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

"""The process of one run: `python -m hil.experiment.worker FOLDER` trains it, one line of JSON an epoch."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from hil.errors import RigError
from hil.experiment.train import Training


def main(folder: Path) -> int:
    """Train the run of a folder to its end."""
    try:
        for row in Training(folder).epochs():
            print(json.dumps(asdict(row)), flush=True)
    except RigError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

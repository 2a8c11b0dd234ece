"""Write the committed network files as the version that this trainrig reads.

python tools/convert_networks.py

Run it once, in the commit that changes the file's version; a file that is of that version already is left alone.
"""

from __future__ import annotations

import struct

from hil.graph.file import OLD_VERSIONS
from hil.graph.old import converted
from hil.network.tflite.networks import WEIGHTS


def main() -> None:
    """Convert every committed network file."""
    for path in sorted(WEIGHTS.glob("*.hnet")):
        blob = path.read_bytes()
        (version,) = struct.unpack_from("<H", blob, 4)
        if version in OLD_VERSIONS:
            path.write_bytes(converted(blob))
            print(f"{path.name}: version {version}, {len(blob):,} bytes; now {path.stat().st_size:,}")


if __name__ == "__main__":
    main()

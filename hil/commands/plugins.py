"""`hil plugins`: what packages and folders of rig.toml add to trainrig."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from hil.arguments import add_rig
from hil.commands.devices import named_bench
from hil.commands.listing import aligned
from hil.errors import RigError
from hil.plugins import HOUSE, Offer, examined, registries, sentence


def main(argv: list[str]) -> int:
    """List the plugins; return 1 if one cannot be used."""
    text = "What packages and folders of rig.toml add: boards, meters and others. Each is loaded, to see that it works."
    parser = argparse.ArgumentParser(prog="hil plugins", description=text)
    parser.add_argument("--json", action="store_true", help="print all entries as JSON, also trainrig's own")
    add_rig(parser)
    options = parser.parse_args(argv)
    named_bench(options.rig)
    offers, errors = examined()
    broken = [error for _, error in offers if error is not None] + errors
    own = {registry.kind: registry.house_names() for registry in registries()}
    if options.json:
        entries = [_entry(Offer(kind, name, "", HOUSE), None) for kind, names in own.items() for name in names]
        entries += [_entry(offer, error) for offer, error in offers]
        print(json.dumps({"plugins": entries, "errors": [sentence(error) for error in errors]}, indent=1))
        return int(bool(broken))
    rows = [
        (_word(offer.kind), offer.name, str(offer.source), "ok" if error is None else "broken")
        for offer, error in offers
    ]
    for line in aligned(rows):
        print(line)
    if not rows:
        print("no plugins: no package offers entry points, and rig.toml names no folders.")
    counts = ", ".join(f"{len(names)} {_word(kind)}" for kind, names in own.items())
    print(f"\n{HOUSE}: {counts}")
    for error in broken:
        print(f"\n{sentence(error)}", file=sys.stderr)
    return int(bool(broken))


def _entry(offer: Offer, error: RigError | None) -> dict[str, Any]:
    return {
        "kind": offer.kind,
        "name": offer.name,
        "package": offer.source.package,
        "version": offer.source.version,
        "folder": str(offer.source.folder) if offer.source.folder is not None else None,
        "object": offer.value or None,
        "error": sentence(error) if error is not None else None,
    }


def _word(kind: str) -> str:
    return kind.replace("_", " ")

"""The README of a pack, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT = """\
Recorded run {run} of trainrig
{line}

What this is
  The record of a hardware-in-the-loop run: a microcontroller, or a stand-in for one, trained neural networks, and
  every step was compared bit for bit with a reference on the computer.
  It began at {time} (UTC), with trainrig {version} at the git commit {commit}.

What is in it
  record/      every file of the run. Open record/index.html in a browser to read it.
  images/      the firmware (ELF) that was flashed, or the program of a board that is a command
  networks/    the network files that the trials began with, named by their SHA-256
  pack.json    the same facts for programs: versions, compilers, images, networks, data sets, command
  SHA256SUMS   the SHA-256 of all other files of this pack; record/SHA256SUMS has those of the record

What is not in it
{left_out}

How to check it
  Files, without trainrig:        sha256sum -c SHA256SUMS
  Install what follows needs:     pip install 'trainrig[training]=={version}'
  The record against itself:      hil verify {run}.zip
  Every step once more:           hil verify {run}.zip --recompute
  Who signed it, if anybody did:  hil verify {run}.zip --signer key.pub.pem
  `--recompute` needs the data sets, and no board. It shows that the digests are those of the reference.
  It does not show that a board computed them: that is the word of whoever signed the record.

How to repeat it
  {command}
  With a board that rig.toml names this runs on the board, otherwise on its stand-in.
"""


def readme(facts: Mapping[str, Any]) -> str:
    """Return the README of a pack; `facts` are those of pack.json."""
    left_out = [f"  {sentence}" for sentence in facts["not_included"]] or ["  nothing"]
    return TEXT.format(
        run=facts["run"],
        line="=" * (len(facts["run"]) + 25),
        time=facts["time"],
        version=facts["versions"].get("trainrig", "(unknown version)"),
        commit=facts["commit"] or "(unknown)",
        command=facts["command"] or "(the record does not name the command)",
        left_out="\n".join(left_out),
    )

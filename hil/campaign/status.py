"""What `hil campaign status` says; it reads the folder and nothing else, so it may be asked at any moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hil.campaign.checkpoints import Checkpoints
from hil.campaign.home import runs
from hil.campaign.journal import NAME, read_journal
from hil.campaign.plan import read_plan
from hil.campaign.point import point_of


def status_of(folder: Path) -> dict[str, Any]:
    """Return the state of a campaign.

    `state` is `running`, `cut` (it ended without a word), `stopped`, `blocked`, `fail` or `pass`; `steps_done` and `steps` count from its beginning;
    `digest` is that of all tensors after the last step of the journal; `checkpoint` is where it would go on, `steps_again` the steps that were computed
    twice so far, `torn_bytes` what a cut has left of a line.

    Raises:
        RigError: there is no campaign, or its files are damaged.
    """
    plan = read_plan(folder)
    spec = plan.trial(folder)
    running = runs(folder)
    told = read_journal(folder / NAME, spec.first_step)
    point = point_of(told, Checkpoints(folder, plan.number))
    digest = told.digest(told.next_step - 1)
    return {
        "folder": str(folder),
        "state": "running" if running else told.ended["verdict"] if told.ended is not None else "cut",
        "reason": told.ended["reason"] if told.ended is not None and not running else "",
        "board": spec.board, "network": spec.network, "method": spec.method, "variant": spec.variant, "data": spec.data,
        "batch": spec.batch, "seed": spec.seed,
        "steps": spec.steps, "steps_done": told.next_step - spec.first_step,
        "checkpoint": point.step if point.checkpoint is not None else None,
        "checkpoint_every": plan.checkpoint_every, "board_checkpoint": told.board, "board_every": plan.board_every,
        "digest": None if digest is None else f"{digest:08x}",
        "loss": told.last["loss"] if told.last is not None else None,
        "cuts": told.cuts, "steps_again": told.again, "torn_bytes": told.dropped,
    }  # fmt: skip


def sentence(status: dict[str, Any]) -> str:
    """Return the state as lines for a person."""
    what = "{network} by {method} {variant} on {board}, {data}, batch {batch}, seed {seed}".format(**status)
    share = status["steps_done"] / status["steps"]
    lines = [
        f"{status['folder']}: {status['state']}" + (f" ({status['reason']})" if status["reason"] else ""),
        f"  {what}",
        f"  {status['steps_done']:,} of {status['steps']:,} steps ({share:.1%}), digest {status['digest'] or '-'}",
    ]
    if status["loss"] is not None and None not in status["loss"]:
        lines.append(f"  loss {sum(status['loss']) / 2 / status['batch']:.3f}")
    if status["checkpoint"] is not None:
        lines.append(
            f"  last checkpoint before step {status['checkpoint']:,}, one every {status['checkpoint_every']:,} steps"
        )
    if status["board_checkpoint"] is not None:
        lines.append(
            f"  last checkpoint of the board before step {status['board_checkpoint']:,}, one every {status['board_every']:,} steps"
        )
    if status["cuts"]:
        lines.append(f"  gone on after {status['cuts']} cuts, {status['steps_again']} steps computed twice")
    if status["state"] in ("cut", "stopped", "blocked"):
        lines.append(f"  `hil campaign resume {status['folder']}` goes on")
    return "\n".join(lines)

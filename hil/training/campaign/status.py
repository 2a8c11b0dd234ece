"""The state of a campaign, from its folder only; `hil campaign status` may run at any time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hil.training.campaign.checkpoints import Checkpoints
from hil.training.campaign.folder import is_running
from hil.training.campaign.journal import NAME, read_journal
from hil.training.campaign.plan import read_plan


def status_of(folder: Path) -> dict[str, Any]:
    """Return the state of a campaign.

    `state` is `running`, `cut` (interrupted), `stopped`, `blocked`, `fail` or `pass`. `steps_done` and `steps` count
    from the beginning. `digest` is that of all tensors after the last step in the journal. `checkpoint` is the step
    from which the campaign would continue, `steps_again` the number of steps computed twice so far, `torn_bytes` the
    length of an incomplete last line.

    Raises:
        RigError: there is no campaign, or its files are damaged.
    """
    plan = read_plan(folder)
    spec = plan.trial(folder)
    running = is_running(folder)
    journal = read_journal(folder / NAME, spec.first_step)
    point = Checkpoints(folder, plan.number).resume_point(journal)
    digest = journal.digest(journal.next_step - 1)
    ended = journal.ended or {"verdict": "cut", "reason": ""}
    return {
        "folder": str(folder),
        "state": "running" if running else ended["verdict"],
        "reason": "" if running else ended["reason"],
        "board": spec.board, "network": spec.network_name, "method": spec.method, "variant": spec.variant,
        "data": spec.data, "batch": spec.batch, "seed": spec.seed,
        "steps": spec.steps, "steps_done": journal.next_step - spec.first_step,
        "checkpoint": point.step if point.checkpoint is not None else None,
        "checkpoint_every": plan.checkpoint_every, "board_checkpoint": journal.board, "board_every": plan.board_every,
        "digest": None if digest is None else f"{digest:08x}",
        "loss": journal.last["loss"] if journal.last is not None else None,
        "cuts": journal.cuts, "steps_again": journal.again, "torn_bytes": journal.dropped,
    }  # fmt: skip


def sentence(status: dict[str, Any]) -> str:
    """Return the state as lines of text."""
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
        step, every = status["checkpoint"], status["checkpoint_every"]
        lines.append(f"  last checkpoint before step {step:,}, one every {every:,} steps")
    if status["board_checkpoint"] is not None:
        step, every = status["board_checkpoint"], status["board_every"]
        lines.append(f"  last checkpoint of the board before step {step:,}, one every {every:,} steps")
    if status["cuts"]:
        lines.append(f"  resumed after {status['cuts']} interruptions, {status['steps_again']} steps computed twice")
    if status["state"] in ("cut", "stopped", "blocked"):
        lines.append(f"  `hil campaign resume {status['folder']}` continues it")
    return "\n".join(lines)

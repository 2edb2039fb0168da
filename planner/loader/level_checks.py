"""Whether what is asked of stalls and of a local level of checkpoints is complete and makes sense.

Little of it has a default: nothing published says how failures divide into classes, what a job's
restart takes from either level, or what comes with a copy to the hosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.inputs import Inputs
from planner.paths import job_path
from planner.schema.running import LocalLevel
from planner.sizing.two_levels import remote_share

LevelFault = tuple[str, str, str, str]
"""(code, path in the problem file, what is wrong, what would be right)"""

_LOCAL = job_path("checkpoint.local")
_SHARES = job_path("failures.shares")


def level_faults(inputs: Inputs) -> Iterator[LevelFault]:
    """Yield what is wrong with a derived stall, with restarts, and with the local level."""
    yield from _stall(inputs)
    yield from _restarts(inputs)
    yield from _shares(inputs)
    local = inputs.problem.job.levels
    if local is not None:
        yield from _level(inputs, local)


def _stall(inputs: Inputs) -> Iterator[LevelFault]:
    checkpoint, path = inputs.problem.job.checkpoint, job_path("checkpoint.stall_overhead")
    derived, given = checkpoint.stall_s == "derived", checkpoint.stall_overhead_s is not None
    if given and not derived:
        message = "stall_overhead comes on top of a derived stall, and the stall is a time"
        yield "stall", path, message, "write stall: derived, or leave it out"
    if derived and not given:
        message = "a derived stall needs what stopping and agreeing takes beside the copy"
        yield "stall", job_path("checkpoint.stall"), message, "add stall_overhead: 0.5 s"
    if derived and checkpoint.mode == "sync":
        message = "a synchronous checkpoint stalls for as long as it is written: nothing is derived"
        yield "stall", job_path("checkpoint.stall"), message, "leave out stall, or mode: sync"


def _restarts(inputs: Inputs) -> Iterator[LevelFault]:
    job = inputs.problem.job
    if job.restart.remote_s is not None and "restart_s" in job.restore.model_fields_set:
        message = "restart.remote is the same as restore.restart"
        yield "restart", job_path("restart.remote"), message, "leave out the one or the other"


def _shares(inputs: Inputs) -> Iterator[LevelFault]:
    shares = inputs.problem.job.failure_shares
    total = math.fsum(shares.values())
    if shares and abs(total - 1.0) > 1e-6:
        message = f"the shares of the classes of failures add up to {100 * total:.6g} %"
        yield "shares", _SHARES, message, "let them add up to 100 %"


def _level(inputs: Inputs, local: LocalLevel) -> Iterator[LevelFault]:
    job = inputs.problem.job
    shares = job.failure_shares
    if job.checkpoint.mode == "sync":
        message = "a local level is for checkpoints that drain while GPUs go on"
        yield "local", _LOCAL, message, "write mode: async or open, or leave out local"
    if job.restart.local_s is None:
        message = "a local level needs the time of a restart from it, reading back included"
        yield "local", _LOCAL, message, "add to the job restart: {local: 2 min}"
    if not shares:
        message = "a local level needs the shares of the classes of failures that it recovers from"
        fix = "add to the job failures: {rate: llama3, shares: {software: 22 %, node: 78 %}}"
        yield "local", _LOCAL, message, fix
        return
    if set(shares) != set(local.recovers):
        wrong = sorted(set(shares) ^ set(local.recovers))
        message = f"recovers and failures.shares name different classes: {', '.join(wrong)}"
        fix = f"say yes, peer or no of each of {', '.join(shares)}"
        yield "recovers", f"{_LOCAL}.recovers", message, fix
    elif remote_share(_whole(shares), local.recovers, local.copies) <= 0.0:
        message = "a local copy survives every class of failures, so storage would not be needed"
        fix = "name the class of failures that takes all copies, such as rack: no"
        yield "recovers", f"{_LOCAL}.recovers", message, fix


def _whole(shares: dict[str, float]) -> dict[str, float]:
    """Return shares that add up to 1; that they do is asked elsewhere."""
    total = math.fsum(shares.values())
    return {name: share / total for name, share in shares.items()}

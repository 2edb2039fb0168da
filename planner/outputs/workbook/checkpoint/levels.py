"""The local level of checkpoints on the sheet: its inputs, its times, the goodput of both levels.

The goodput is that of docs/model.md. Its parts are shares that times leave when they are added in
the order rework, drains, restarts, restore: the losses are the logarithms of what each takes.
"""

from __future__ import annotations

from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_3, INTEGER, PERCENT_2
from planner.outputs.workbook.rows import Input, Result
from planner.schema.plan import JobPlan, LocalPlan

_PRECISE = "0.000000000"
_FOLLOWS = "does not follow edits: the problem or a catalog gives it"


def local_inputs(job: JobPlan) -> tuple[Input, ...]:
    """Return the inputs of the local level; nothing where the plan has none."""
    local = job.local
    if local is None:
        return ()
    whole = job.gpus_used if job.writers == "all" else 1
    return (
        Input("local_every", "Local checkpoints to one that goes on to storage", "", local.every,
              INTEGER, _FOLLOWS, locked=True),
        Input("local_part", "What a system writes locally, of a checkpoint on one GPU", "share",
              local.part_gb / job.checkpoint_gb * whole, DECIMAL_3,
              f"copies x GPUs of a system; {_FOLLOWS}", locked=True),
        Input("local_write_gb_per_s", "Write bandwidth of a system's drives", "GB/s",
              local.write_gb_per_s, DECIMAL_1, _FOLLOWS, locked=True),
        Input("local_restart_s", "Restart from the local level", "s", local.restart_s, DECIMAL_1,
              f"reading back included; {_FOLLOWS}", locked=True),
        Input("remote_share", "Interruptions that no local copy survives", "share",
              local.remote_share, PERCENT_2, f"sum over the classes of failures; {_FOLLOWS}",
              locked=True),
    )  # fmt: skip


def local_results(local: LocalPlan | None) -> tuple[Result, ...]:
    """Return the times that follow from the level; nothing where the plan has none."""
    if local is None:
        return ()
    return (
        Result("local_part_gb", "Local checkpoint of one system", "GB",
               'checkpoint_gb*local_part/IF(writers="all",gpus_in_use,1)',
               "its part of the checkpoint x copies", DECIMAL_1, plan=local.part_gb),
        Result("local_drain_s", "Local drain", "s", "local_part_gb/local_write_gb_per_s",
               "from the end of the stall until the copies are safe", DECIMAL_3,
               plan=local.drain_s),
        Result("local_stall_and_drain_s", "Stall and local drain together", "s",
               "stall_s+local_drain_s", "must not be longer than the interval", DECIMAL_3),
        Result("remote_interval_s", "Interval of what goes to storage", "s",
               "interval_s*local_every", "interval x local checkpoints to one that goes on",
               DECIMAL_1, plan=local.remote_interval_s),
    )  # fmt: skip


def remote_interval(job: JobPlan) -> str:
    """Return the name of the interval at which storage gets checkpoints."""
    return "interval_s" if job.local is None else _unless_sync("remote_interval_s", "interval_s")


def _unless_sync(levels: str, one: str) -> str:
    """Return a formula with levels, or the one without them where GPUs wait for storage."""
    return f'IF(save_mode="sync",{one},{levels})'


def of_levels(job: JobPlan, levels: str, one: str) -> str:
    """Return a formula of a plan with a local level, or of one without."""
    return one if job.local is None else _unless_sync(levels, one)


def log_of(job: JobPlan, cause: str, one: str) -> str:
    """Return what a cause takes of -ln(goodput), by the formula of one level or of both."""
    if job.local is None or cause not in _LOGS:
        return one
    return f"({_unless_sync(_LOGS[cause], one)})"


GOODPUT = "MAX(0,1-stopped_share)*kept_whole*drained_whole*restarted_whole"

_LOGS = {
    "stall": "-LN(1-stopped_share)",
    "rework": "-LN(kept_at_once)",
    "drain": "LN(kept_at_once)-LN(kept_drained)-LN(drained_at_once)",
    "restart": "LN(kept_drained)-LN(kept_whole)+LN(drained_at_once)-LN(drained_whole)"
    "-LN(restarted_alone)",
    "restore": "LN(restarted_alone)-LN(restarted_whole)",
}
"""What each cause takes of -ln(goodput)."""


def first_order(swap: str) -> str:
    """Return the first-order goodput; ``swap`` adds what swaps take on average to a restart."""
    return (
        "MAX(0,1-stopped_share)*(1-((1-remote_share)*(local_restart_s+local_drain_s+interval_s/2)"
        f"+remote_share*(recovery_s+local_drain_s+drain_s+remote_interval_s/2){swap})/mtti_s)"
    )


def level_workings(job: JobPlan) -> tuple[Result, ...]:
    """Return the helper rows of the goodput of two levels."""
    local = job.local
    if local is None:
        return ()
    back, lag = passed(job, "local_restart_s"), passed(job, "(local_restart_s+local_drain_s)")
    swaps, words = ("", "") if job.repair is None else ("/kept_by_swaps", " / what swaps leave")
    drained = "(remote_share+(1-remote_share)*EXP(-local_drain_s/mtti_s))"
    return (
        _kept("at_once", "nothing else", "1", "1"),
        _kept("drained", "drains", "EXP(-local_drain_s/mtti_s)", drained),
        _kept("whole", "drains and restarts", f"EXP(-local_drain_s/mtti_s)*{back}", lag),
        _safe("at_once", "at once", local, "1"),
        _safe("whole", "with restarts", local, back),
        Result("restarted_alone", "Left by restarts from storage, without the read", "share",
               f"1/(1+remote_share*(EXP(restart_s/mtti_s){swaps}-1))", "", _PRECISE),
        Result("restarted_whole", "Left by restarts from storage", "share",
               f"1/(1+remote_share*(EXP(recovery_s/mtti_s){swaps}-1))",
               f"1 / (1 + remote share x (exp(recovery / MTTI){words} - 1))", _PRECISE),
    )  # fmt: skip


def passed(job: JobPlan, time: str) -> str:
    """Return how likely a failure needs storage, or the restart from local copies and what comes
    with it, such a time, passes without another."""
    swaps = "" if job.repair is None else "*kept_by_swaps"
    return f"(remote_share+(1-remote_share)*EXP(-{time}/mtti_s){swaps})"


def _kept(name: str, what: str, first: str, lag: str) -> Result:
    """Return what rework leaves where local drains or restarts are counted, or neither."""
    steps = f"((EXP(interval_per_mtti)-1)*remote_share/{lag}+1)^local_every-1"
    return Result(
        f"kept_{name}",
        f"Left by rework, with {what}",
        "share",
        f"local_every*interval_per_mtti*remote_share*{first}/{lag}/({steps})",
        "k z q C / ((1 + y)^k - 1), y = (exp(z) - 1) h; see docs/model.md",
        _PRECISE,
    )


def _safe(name: str, what: str, local: LocalPlan, back: str) -> Result:
    """Return the chance that a drain to storage ends in time, local restarts counted or not."""
    formula = "EXP(-remote_share*drain_s/mtti_s)"
    if local.remote_drain == "restarts":
        formula = f"1/(1+(EXP(drain_s/mtti_s)-1)*remote_share/{back})"
    return Result(f"drained_{name}", f"Drained to storage in time, {what}", "share", formula, "",
                  _PRECISE)  # fmt: skip


def stopped(job: JobPlan) -> tuple[str, str]:
    """Return the formula of what stops or slows an interval, s, and how it reads."""
    if job.local is None:
        return "stall_s+drain_slowdown*drain_s", "stall + slowdown x drain"
    slowed = _unless_sync("drain_s/local_every", "drain_s")
    return f"stall_s+drain_slowdown*{slowed}", "stall + slowdown x drain / local checkpoints to it"

"""What units that are out take of a job that goes on with fewer replicas, as formulas.

The law is that of docs/model.md: sums over the rows of the sheet ``Units out``, what units that are
back find, and what restarts of fewer replicas spare. It holds at the interval of the cell.
"""

from __future__ import annotations

from planner.outputs.scope import blocks
from planner.outputs.workbook import formulas, units_out
from planner.outputs.workbook.cells import DECIMAL_1, INTEGER, PERCENT_2, SMALL
from planner.outputs.workbook.checkpoint.levels import of_levels, passed
from planner.outputs.workbook.rows import UNKNOWN, Result
from planner.outputs.workbook.units_out import BACK, LOG, OUT, RUNNING, WEIGHT
from planner.schema.plan import JobPlan, Plan, Repair, ShrunkPlan
from planner.sizing.facility import HOURS_PER_YEAR

BEYOND = "1E-12"
"""The largest share of time that rows which are not there may take."""
_PRECISE = "0.000000000"
_SECONDS_PER_YEAR = f"{HOURS_PER_YEAR * 3600:.0f}"


def lost_to_units_out(job: JobPlan, repair: Repair, shrunk: ShrunkPlan) -> tuple[Result, ...]:
    """Return what the job loses, and the failures that its work sees."""
    return (
        Result.of("shrunk.failing", "replicas_squared/replicas_weigh/replicas_whole",
                  "replicas that run, weighted by what they do; the sheet Units out", PERCENT_2,
                  plan=shrunk.failing, name="failing_share"),
        Result("time_waiting", "Work lost to units that are out", "share",
               f'IF(beyond_share>{BEYOND},"{UNKNOWN}",'
               f"MIN(1,MAX(0,work_lost-(1-work_lost)*{formulas.expm1('log_spared')})))",
               "replicas that do not run, restarts to be more, units back that wait; less what "
               "restarts of fewer replicas spare", PERCENT_2, plan=1.0 - repair.availability),
        Result.of("shrunk.restarts_per_year",
                  f"back_weigh/states_weigh/repair_s*planned_share*{_SECONDS_PER_YEAR}",
                  "units back that let more run x those that a planned restart brings back",
                  DECIMAL_1, plan=shrunk.restarts_per_year, name="grows_per_year"),
    )  # fmt: skip


def shrinking_workings(plan: Plan, job: JobPlan) -> tuple[Result, ...]:
    """Return the helper rows; none where the job waits for units."""
    repair = job.repair
    if repair is None or repair.shrunk is None:
        return ()
    return (
        *_states(plan, job, repair),
        *_sums(repair, repair.shrunk),
        *_returns(job, repair.shrunk),
        *_restarts(job),
    )


def _states(plan: Plan, job: JobPlan, repair: Repair) -> tuple[Result, ...]:
    holds, spares = f"{repair.unit_gpus}", "units_standing_by" if repair.decided else "spares"
    if repair.unit == "system":
        lines = (entry.line for block in blocks(plan) for entry in block.entries)
        holds = formulas.usable_gpus(job, next(x for x in lines if x.sku == job.gpu_type))
    return (
        Result("gpus_of_unit", "GPUs of a unit that hold replicas", "GPUs", holds, "", INTEGER),
        Result("units_in_all", "Units in use and standing by", "units",
               f"ROUNDUP(gpus_in_use/gpus_of_unit-1E-9,0)+{spares}", "", INTEGER),
        Result("replicas_whole", "Replicas with nothing out", "", "INT(replicas+1E-9)", "",
               INTEGER),
    )  # fmt: skip


def _sums(repair: Repair, shrunk: ShrunkPlan) -> tuple[Result, ...]:
    """Return sums over the table, each row with its weight."""
    out, running, weight = (units_out.whole_column(repair, of) for of in (OUT, RUNNING, WEIGHT))
    back, now, outs = (units_out.column(repair, of) for of in (BACK, RUNNING, OUT))
    before = units_out.column(repair, RUNNING, above=True)
    last, left = units_out.last(repair, WEIGHT), units_out.last(repair, RUNNING)
    most = units_out.most_out(repair)

    def row(name: str, label: str, text: str, how: str = "", plan: float | None = None) -> Result:
        return Result(name, label, "", text, how, _PRECISE, cross=True, plan=plan)

    return (
        row("likeliest_log", "Largest logarithm of a weight",
            f"MAX({units_out.whole_column(repair, LOG)})"),
        row("states_weigh", "Weights of all rows", f"SUM({weight})"),
        row("beyond_share", "Share of time with more out than there are rows",
            f"IF({left}=0,0,IF(repair_load<{most + 1},"
            f"{last}/states_weigh*repair_load/({most + 1}-repair_load),1))",
            f"at most; above {BEYOND} what is lost is not known"),
        row("replicas_weigh", "Replicas that run, weighted", f"SUMPRODUCT({weight},{running})"),
        row("replicas_squared", "Their squares, weighted",
            f"SUMPRODUCT({weight},{running},{running})"),
        row("idle_share", "Share of the replicas that does not run",
            f"SUMPRODUCT({weight},replicas_whole-{running})/states_weigh/replicas_whole",
            "1 - replicas that run on average", plan=1.0 - shrunk.running),
        row("back_weigh", "Units back that let more run", f"SUM({back})"),
        row("grown_weigh", "Each with the replicas that run then",
            f"SUMPRODUCT({back},{before})"),
        row("brought_weigh", "Each with the replicas that it brings back",
            f"SUMPRODUCT({back},{before}-{now})"),
        row("out_before", "Units out before, itself counted",
            f"IF(back_weigh=0,1,SUMPRODUCT({back},{outs})/back_weigh)", "mean over units back"),
        row("eased", "What comes back because less fails",
            f"SUMPRODUCT({weight},{out})/states_weigh-"
            f"SUMPRODUCT({weight},{out},{running})/replicas_weigh",
            "share of what runs less for another reason"),
    )  # fmt: skip


def _returns(job: JobPlan, shrunk: ShrunkPlan) -> tuple[Result, ...]:
    """Return what a unit finds that is back, and what follows until it is used."""
    near = "(1-remote_share)*EXP(-began_per_s*local_restart_s)+remote_share"
    alone = of_levels(job, f"({near}*EXP(-began_per_s*restart_s))", "EXP(-began_per_s*restart_s)")
    until = "MAX(0,1-eased)*brought_weigh/states_weigh/replicas_whole/repair_s*waits_until_s"
    return (
        Result("grow_s", "Restart with more replicas, without reading back", "s",
               of_levels(job, "local_restart_s", "restart_s"), "", DECIMAL_1),
        Result("more_s", "What it takes beside", "s",
               of_levels(job, "local_drain_s", "(restore_s+drain_s)"),
               "reading back, and the drain before", DECIMAL_1),
        Result("replica_fails_per_s", "Failures of one replica", "1/s",
               "1/(failing_share*mtti_s*replicas_whole)", "", SMALL),
        Result("fails_per_s", "Failures until a unit back is used", "1/s",
               "IF(back_weigh=0,0,(grown_weigh-brought_weigh)/back_weigh)*replica_fails_per_s",
               "of the replicas that run before", SMALL),
        Result("began_per_s", "Restarts before, as often", "1/s",
               "out_before/repair_s+(1-hardware_share)*fails_per_s",
               "units out before, and failures that took none", SMALL),
        Result("alone_share", "A unit back finds the job computing", "share", alone,
               "no restart is under way", _PRECISE),
        Result("again", "Failures expected in a planned restart", "",
               "MIN(700,IF(back_weigh=0,0,grown_weigh/back_weigh)*replica_fails_per_s*grow_s)", "",
               _PRECISE),
        Result("stands_s", "A planned restart with what failures repeat", "s",
               f"grow_s*{formulas.none_of('(-again)')}", "without what it takes beside", DECIMAL_1),
        Result("passes_others", "A capture comes before failures and other units back", "share",
               _passes("(fails_per_s+(out_before-1)/repair_s)"), "", _PRECISE),
        Result("passes_failures", "A capture comes before failures", "share",
               _passes("fails_per_s"), "", _PRECISE),
        Result("planned_share", "Units back that a planned restart brings back", "share",
               "alone_share*passes_others/(1+hardware_share*fails_per_s*stands_s*alone_share"
               "*passes_others)", "", _PRECISE),
        Result("waits_until_s", "A unit back waits for a capture or a failure", "s",
               "IF(fails_per_s=0,0,alone_share*(1-passes_failures)/fails_per_s)", "", DECIMAL_1),
        Result("late_share", "Work that units back do not do until then", "share", until, "",
               _PRECISE, plan=shrunk.late),
        Result("work_lost", "Work lost, before what restarts of fewer replicas spare", "share",
               "idle_share+grown_weigh/states_weigh/replicas_whole/repair_s"
               "*(stands_s+EXP(again)*more_s)*planned_share+late_share", "", _PRECISE),
    )  # fmt: skip


def _passes(comes: str) -> str:
    """Return how likely the next capture comes before any of what comes so often."""
    began, every = "began_per_s*interval_s", f"({comes}*interval_s)"
    apart = formulas.none_of(f"ABS({began}-{every})")
    return f"EXP(-MIN({began},{every}))*{apart}/{formulas.none_of(f'({began})')}"


def _restarts(job: JobPlan) -> tuple[Result, ...]:
    """Return what restarts of fewer replicas spare, as the logarithm of goodput.

    With two levels each factor by what of it changes, so that little cancels.
    """
    longest = of_levels(job, "MAX(local_restart_s,restart_s)", "restart_s")
    rows = [
        Result("fewer_per_s", "Failures that restarts see less", "1/s",
               "brought_weigh/replicas_weigh/repair_load*hardware_share/failing_share/mtti_s*"
               + formulas.none_of(f"({longest}/repair_s)"),
               "of what a failure put out, while it is out", SMALL),
    ]  # fmt: skip
    spared = "recovery_s*fewer_per_s"
    if job.local is not None:
        rows += _near(job, job.local.remote_drain == "restarts")
        parts = "-".join(formulas.log1p(name) for name in _FACTORS)
        spared = of_levels(job, parts, spared)
    rows.append(Result("log_spared", "What that adds to the logarithm of goodput", "", spared, "",
                       _PRECISE))  # fmt: skip
    return tuple(rows)


_FACTORS = ("spared_near", "spared_settled", "spared_kept", "spared_drained", "spared_far")
"""What each factor of the goodput of two levels changes by; the first makes it more."""


def _near(job: JobPlan, drain_restarts: bool) -> list[Result]:
    fewer, far = formulas.expm1("(local_restart_s*fewer_per_s)"), "(recovery_s*fewer_per_s)"
    fewer = f"({fewer}*(1+spared_swaps)+spared_swaps)"
    mixed, settled = passed(job, "local_restart_s"), passed(job, "(local_restart_s+local_drain_s)")
    swaps = "hardware_share*EXP(-swap_s/mtti_s)"
    swaps += f"*{formulas.expm1('(swap_s*fewer_per_s)')}/kept_by_swaps"
    step = "-spared_y/(1+spared_y)*spared_settled/(1+spared_settled)"
    again = "((EXP(drain_s/mtti_s)-1)*remote_share)"
    drained = f"-{again}/({mixed}+{again})*spared_near/(1+spared_near)" if drain_restarts else "0"
    long = "(remote_share*EXP(recovery_s/mtti_s)/kept_by_swaps)"
    shorter = f"({formulas.expm1(f'(-{far})')}-spared_swaps)/(1+spared_swaps)"
    near, safe, kept, end, back = _FACTORS
    texts = (
        ("spared_swaps", swaps),
        (near, f"(1-remote_share)*EXP(-local_restart_s/mtti_s)*kept_by_swaps*{fewer}/{mixed}"),
        (safe, f"spared_near*{mixed}*EXP(-local_drain_s/mtti_s)/{settled}"),
        ("spared_y", f"(EXP(interval_per_mtti)-1)*remote_share/{settled}"),
        ("spared_step", step),
        ("spared_steps", f"local_every*{formulas.log1p('spared_step')}"),
        (kept, f"{formulas.expm1('spared_steps')}/(1-(1+spared_y)^-local_every)"),
        (end, drained),
        (back, f"{long}*{shorter}/(1-remote_share+{long})"),
    )
    label = "Restarts that see fewer failures: working of two levels"
    return [Result(name, label, "", text, "", _PRECISE) for name, text in texts]

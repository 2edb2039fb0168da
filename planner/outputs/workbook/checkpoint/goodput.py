"""Goodput, what it loses and what it yields, and the workings behind it."""

from __future__ import annotations

from planner.figures import FIGURES
from planner.outputs.scope import blocks
from planner.outputs.workbook import formulas
from planner.outputs.workbook.bom.columns import working_name
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_3, INTEGER, PERCENT_2
from planner.outputs.workbook.checkpoint import levels
from planner.outputs.workbook.checkpoint.shrinking import lost_to_units_out, shrinking_workings
from planner.outputs.workbook.rows import Result, Results
from planner.outputs.workbook.ways import scale
from planner.schema.beside import Ways
from planner.schema.plan import JobPlan, Plan, Repair


def goodput_sections(plan: Plan, job: JobPlan, ways: Ways | None) -> list[Results]:
    """Return the results under their headings; they rest on those of `model_sections`.

    Args:
        ways: the ways in which the job may run, where they stand on a sheet.
    """
    waiting = () if job.repair is None else _waiting(plan, job, job.repair)
    return [
        *([("Waiting for repairs", waiting)] if waiting else []),
        ("Goodput: the share of wall-clock time that is kept progress", _goodput(job)),
        ("Where the rest goes (sums to 1 - goodput)", _loss(job)),
        ("Useful work", (*_rate(job, ways), *_useful(job))),
    ]


def _waiting(plan: Plan, job: JobPlan, repair: Repair) -> tuple[Result, ...]:
    """Return the share of time waited for repairs: a Poisson number cut off at its places."""
    load = FIGURES["repair.load"].heading
    per_day = "failures_per_gpu_day*hardware_share*repair_s/86400"
    rows = [
        Result("kept_by_swaps", "What swaps leave", "share",
               "1-hardware_share+hardware_share*EXP(-swap_s/mtti_s)",
               "the mean of exp(-swap / MTTI): only failed hardware is swapped", PERCENT_2),
    ]  # fmt: skip
    if repair.in_rack:
        usable = job.usable_gpus_by_type[job.gpu_type]
        each = repair.spares // job.systems_used
        rows += [
            Result("repair_load", f"{load}, of one system", "units", f"{per_day}*{usable}",
                   "failures of its GPUs in use x share x repair time", DECIMAL_3),
            Result("system_waiting", "Time one system has too few units", "share",
                   formulas.waiting(str(each), "repair_load"),
                   f"Erlang's loss formula with {each} spares and one more", PERCENT_2),
            Result.of("loss.waiting",
                      formulas.waiting_in_racks("system_waiting", f"(gpus_in_use/{usable})"),
                      "at most: the job needs every system", PERCENT_2,
                      plan=1.0 - repair.availability, name="time_waiting"),
        ]  # fmt: skip
        return tuple(rows)
    spares = "spares"
    if repair.decided:
        spares = "units_standing_by"
        rows.append(
            Result(spares, "Units standing by", "units",
                   _standing_by(plan, job, repair), "units on BOM less those in use", INTEGER,
                   plan=repair.spares)
        )  # fmt: skip
    rows.append(
        Result("repair_load", load, "units", f"{per_day}*gpus_in_use",
               "failures x share x repair time", DECIMAL_3, plan=repair.load),
    )  # fmt: skip
    if repair.shrunk is not None:
        return (*rows, *lost_to_units_out(job, repair, repair.shrunk))
    rows += [
        Result.of("loss.waiting", formulas.waiting(spares, "repair_load"),
                  "Erlang's loss formula with as many places as spares, and one more", PERCENT_2,
                  plan=1.0 - repair.availability, name="time_waiting"),
    ]  # fmt: skip
    return tuple(rows)


def _standing_by(plan: Plan, job: JobPlan, repair: Repair) -> str:
    """Return the formula of the units that stand by: those of the type in use that it leaves."""
    entries = (entry for block in blocks(plan) for entry in block.entries)
    entry = next(entry for entry in entries if entry.line.sku == job.gpu_type)
    systems = working_name(entry.line, entry.number)
    if repair.unit == "system":
        return f"MAX(0,{systems}-systems_in_use)"
    each = entry.line.gpus // max(1, entry.line.quantity) // repair.unit_gpus
    return f"MAX(0,{systems}*{each}-ROUNDUP(gpus_in_use/{repair.unit_gpus}-1E-9,0))"


def _goodput(job: JobPlan) -> tuple[Result, ...]:
    swap = "" if job.repair is None else "+hardware_share*swap_s"
    first_order_loss = f"(recovery_s{swap}+interval_s/2+drain_s)/mtti_s"
    waits = "" if job.repair is None else "*(1-time_waiting)"
    mended = "" if job.repair is None else f"*kept_by_swaps{waits}"
    repairs = "" if job.repair is None else " x what swaps leave x time not waiting"
    stopped_s, words = levels.stopped(job)
    one = f"MAX(0,1-stopped_share)*EXP(-(drain_s+recovery_s)/mtti_s)*rework_factor{mended}"
    slowed = "drain_slowdown*drain_s/mtti_s*EXP(-(recovery_s+interval_s+drain_s)/mtti_s)"
    of_two = "what is left by checkpoints, rework, drains and restarts with their swaps"
    of_two += "" if job.repair is None else " x time not waiting"
    of_one = "(1 - share lost) x exp(-(drain + recovery) / MTTI) x z / (exp(z) - 1)"
    return (
        Result("stopped_share", "Share of the interval lost to checkpoints", "share",
               f"({stopped_s})/interval_s", f"({words}) / interval", PERCENT_2),
        Result("interval_per_mtti", "z = interval / MTTI", "", "interval_s/mtti_s", "", "0.000000",
               plan=job.interval_s / job.mtti_s),
        Result.of("goodput", levels.of_levels(job, f"{levels.GOODPUT}{waits}", one),
                  f"{of_one}{repairs}" if job.local is None else of_two, PERCENT_2,
                  plan=job.goodput),
        Result.of("goodput_understated", levels.of_levels(job, "0", f"{slowed}{mended}"),
                  "a slowdown while draining is charged to the first interval after a restart as "
                  "well, which has no drain; nothing without a slowdown", "0.0000%",
                  plan=job.goodput_understated),
        Result.of("goodput_first_order",
                  levels.of_levels(job, f"{levels.first_order(swap)}{waits}",
                                   f"MAX(0,1-stopped_share)*(1-{first_order_loss}){waits}"),
                  "(1 - share lost) x (1 - (recovery + interval / 2 + drain) / MTTI)", PERCENT_2,
                  plan=job.goodput_first_order),
        Result.of("young_s", "SQRT(2*charged_stall_s*mtti_s)", "sqrt(2 x stall x MTTI)", DECIMAL_1,
                  plan=job.young_s),
        Result.of("daly_s", formulas.daly_s("charged_stall_s", "mtti_s"),
                  "Daly 2006, doi 10.1016/j.future.2004.11.016", DECIMAL_1, plan=job.daly_s),
        Result.of("exact_s", "mtti_s*newton_6",
                  "MTTI x (1 + s/M + W0(-exp(-(1 + s/M)))); see the workings", DECIMAL_1,
                  plan=job.exact_s),
    )  # fmt: skip


def _loss(job: JobPlan) -> tuple[Result, ...]:
    loss = job.loss
    restarts = "restart_s/mtti_s"
    if job.repair is not None:
        restarts = f"({restarts}-LN(kept_by_swaps))"
    parts = [
        ("stall", loss.stall, "-LN(1-stopped_share)"),
        ("rework", loss.rework, "-LN(rework_factor)"),
        ("drain", loss.drain, "drain_s/mtti_s"),
        ("restart", loss.restart, restarts),
        ("restore", loss.restore, "restore_s/mtti_s"),
    ]
    if job.repair is not None:
        parts.append(("waiting", loss.waiting, "-LN(1-time_waiting)"))
    return tuple(
        Result.of(f"loss.{name}",
                  f"IF(stopped_share>=1,{1 if name == 'stall' else 0},"
                  f"{levels.log_of(job, name, log)}*loss_per_log)",
                  "its part of -ln(goodput), scaled to 1 - goodput", PERCENT_2, plan=value,
                  name=f"loss_{name}")
        for name, value, log in parts
    )  # fmt: skip


def _rate(job: JobPlan, ways: Ways | None) -> tuple[Result, ...]:
    """Return the rate of a GPU in the way that is chosen, where it is no input."""
    if ways is None:
        return ()
    text, how = f"way_tflops_per_gpu{scale(ways)}", "of the way that is chosen, on the sheet Ways"
    plan = job.tflops_per_gpu * job.rate_share
    return (
        Result("tflops_per_gpu", "Rate of one GPU in the chosen way", "TFLOP/s", text, how,
               DECIMAL_1, cross=True, plan=plan),
    )  # fmt: skip


def _useful(job: JobPlan) -> tuple[Result, ...]:
    return (
        Result.of("useful_gpus", "gpus_in_use*goodput", "GPUs in use x goodput", DECIMAL_1,
                  plan=job.useful_gpus),
        Result.of("useful_pflops", "useful_gpus*tflops_per_gpu*mfu/1000",
                  "useful GPUs x peak rate x MFU", DECIMAL_1, ("tflops_per_gpu", "mfu"),
                  plan=job.useful_pflops),
        Result("training_pflops_days", "Work of the training run", "PFLOP/s-days",
               "6*active_parameters_billion*tokens_trillion*1E+6/86400",
               "6 x active parameters x tokens", DECIMAL_1,
               ("active_parameters_billion", "tokens_trillion"), plan=_work(job)),
        Result.of("days_to_train", "training_pflops_days/useful_pflops",
                  "work of the training run / useful work", DECIMAL_1,
                  ("training_pflops_days", "useful_pflops"), plan=job.days_to_train),
    )  # fmt: skip


def _work(job: JobPlan) -> float | None:
    """Return the work of the training run, PFLOP/s-days."""
    if job.tokens is None or job.active_parameters is None:
        return None
    return 6 * job.active_parameters * job.tokens / 1e15 / 86400


_STEPS = 6
_SERIES_BELOW = 0.1
_PRECISE = "0.000000000"


def workings(plan: Plan, job: JobPlan) -> Results:
    """Return the helper rows; the last Newton step is z = I/M of the best interval."""
    stopped_s, _ = levels.stopped(job)
    rows = (
        Result("charged_stall_s", "Stall plus slowdown x drain", "s",
               stopped_s, number="0.000"),
        Result("rework_factor", "Rework factor", "", formulas.rework_factor("interval_per_mtti"),
               "z / (exp(z) - 1), by its series for small z", _PRECISE),
        Result("loss_per_log", "Share lost per unit of -ln(goodput)", "",
               "IF(goodput<=0,0,IF(goodput>=1,1,(1-goodput)/-LN(goodput)))", "", _PRECISE),
        *levels.level_workings(job),
        *shrinking_workings(plan, job),
        *_newton(),
    )  # fmt: skip
    return ("Workings", rows)


def _newton() -> tuple[Result, ...]:
    """Return the Newton steps for z - (1 - exp(-z)) = s/M."""
    rows = [
        Result("stall_per_mtti", "s/M", "", "charged_stall_s/mtti_s", "", _PRECISE),
        Result("newton_0", "z, first guess", "",
               "MIN(1+stall_per_mtti,SQRT(2*stall_per_mtti)+stall_per_mtti)",
               "solves z - (1 - exp(-z)) = s/M", _PRECISE),
    ]  # fmt: skip
    for step in range(1, _STEPS + 1):
        before = f"newton_{step - 1}"
        text = f"IF({before}=0,0,{before}-({_deficit(before)}-stall_per_mtti)/"
        rows.append(
            Result(f"newton_{step}", f"z, Newton step {step}", "", f"{text}(1-EXP(-{before})))",
                   "", _PRECISE)
        )  # fmt: skip
    return tuple(rows)


def _deficit(z: str) -> str:
    series = f"{z}^2*(1/2-{z}*(1/6-{z}*(1/24-{z}*(1/120-{z}*(1/720-{z}/5040)))))"
    return f"IF({z}<{_SERIES_BELOW},{series},{z}-1+EXP(-{z}))"

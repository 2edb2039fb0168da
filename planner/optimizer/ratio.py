"""Money per useful work at its least: the money is divided into ranges, and the best ratio prunes.

    minimise  log C - log U,    C the TCO, linear in the counts,  U useful work, log-concave

Only log C is not convex. Over a range of C its chord bounds it from below, so every plan's ratio
is at least what a range proves; ranges are divided at the master's C, best first, and tangents
stay. A chord over a range of log-width d is too low by at most d**2 / 8.

Of a plan with the ratio r every better plan keeps, with no logarithm in it,

    C <= r e sum_k f_k N_k

(f work of a GPU that never stops, N GPUs in use, k the ways to run the job, e the most of it that
goodput and the law of scale can leave), which rules out most ranges before fabrics are looked at.
"""

from __future__ import annotations

import math

from planner.figures import RATIOS
from planner.limits import MILLION
from planner.optimizer.branch import MOST_PASSED, PROBE_MARGIN, Found, Goal, Node, end, split_chord
from planner.optimizer.master import Bounds, Master, parts_of
from planner.optimizer.model import LogMoney, total
from planner.optimizer.objective import work_of_one_gpu
from planner.optimizer.solver import Outcome

MUCH = 0.2
LEAST_PRETENDED = 1e-7
ROUNDING = 1e-7


def prune(master: Master, goal: Goal, found: Found) -> None:
    """Hold the model to ratios that are hardly worse than the best one found, for good.

    Later stages keep this goal within the tolerance of ties, which the margin exceeds by far.
    """
    case, build = master.build.case, master.build
    if goal.name not in RATIOS or found.value is None or found.value >= master.held_ratio:
        return
    if math.isinf(master.held_ratio):
        master.narrow({})
        share = build.goodput
        if goal.name == "usd_per_million_tokens" and case.job.scale is not None:
            share = share + build.scale  # fewer GPUs than the law's reference do more than it says
        most = end(master, goal, share + 0, maximise=True)
        master.objective(goal.expression, goal.maximise)
        if most is None:
            return
        master.most_share = math.exp(most) * (1.0 + ROUNDING)
    master.held_ratio = found.value
    worst = found.value + math.log1p(max(PROBE_MARGIN, 2.0 * case.given_away))
    (money,) = (c.money for c in build.model.chords if isinstance(c, LogMoney))
    worth = math.exp(worst) * master.most_share / MILLION
    spent = money - total(
        worth * work_of_one_gpu(case, goal.name, way) * build.gpus_in(system, way)
        for system in case.systems
        for way in system.ways
    )
    rows = master.held_rows
    if rows:
        master.session.change(rows["ratio"], {}, worst - goal.expression.constant)
        master.session.change(rows["money"], {v.name: f for v, f in spent.items()}, 0.0)
    else:
        rows["ratio"] = master.row("held_ratio", goal.expression, "<=", worst)
        rows["money"] = master.row("held_money", spent, "<=", 0.0)


def divide_money(
    master: Master, goal: Goal, node: Node, outcome: Outcome, found: Found, margin: float
) -> list[Node]:
    """Split a range of money while its chord is much of what keeps bound and plan apart.

    Args:
        outcome: of the relaxation, which is cheap, or of whole numbers.
        margin: the least share of the range on either side.
    """
    if found.value is None or not outcome.values:
        return []
    apart = goal.beyond(found.value, node.bound)
    if goal.relative:
        apart /= max(abs(found.value), 1e-9)
    for chord in master.build.model.chords:
        pretended = chord.overdrawn(outcome.values)
        if isinstance(chord, LogMoney) and pretended > max(LEAST_PRETENDED, MUCH * apart):
            at = outcome.values[chord.divided.name]
            return split_chord(master, chord, node, at, margin)
    return []


def left_of_parts(
    master: Master, goal: Goal, parts: list[Node], value: float, width: float
) -> list[Bounds]:
    """Return the ranges of money, and ways, with plans that may come as close as a width.

    Later stages, which keep the goal so close, need to look there only. Without a logarithm of
    money or a choice of ways, or where parts of the search stayed open, everywhere.
    """
    names = {c.divided.name for c in master.build.model.chords if isinstance(c, LogMoney)}
    names |= {flag.name for flag in parts_of(master)}
    if not names or not parts:
        return [{}]
    kept: list[Bounds] = []
    width += MOST_PASSED * max(1.0, abs(value))
    for part in parts:
        if math.isfinite(part.bound) and goal.beyond(value, part.bound) >= -width:
            ranges = {name: bound for name, bound in part.bounds.items() if name in names}
            if ranges not in kept:
                kept.append(ranges)
    return [{}] if {} in kept else kept

"""The highest price at which an item enters the plan, proven from both sides.

A plan with the item, found at one price, holds up to a price that follows from its money alone;
just above it the question is asked again. Each answer raises the price or proves it the highest.
"""

from __future__ import annotations

from planner.schema.why_not import BreakEven
from planner.studies.why_not.rivals import Contest, Rival
from planner.studies.why_not.study import Study

STEP = 0.004
"""How far above a price that is good enough the next one is asked for, as a share."""
LEAST_STEP = 1e-5
"""The same for prices near nothing, as a share of today's."""
MOST_SEARCHES = 16
ASK = "not computed, as it takes too long; ask with --why-not {name}"


def break_even(study: Study, name: str, *, asked: bool) -> BreakEven:
    """Return the highest price of an item at which it enters the plan.

    Args:
        study: the problem.
        name: an item on offer that the plan does not hold.
        asked: whether to go on when the time is over.
    """
    contest = Contest(study, name)
    reason = _no_answer(study, contest)
    if reason is not None:
        return BreakEven(outcome="not_computed", reason=reason)
    found: Rival | bool | None = _nearest(study, contest)
    if found is None:
        if study.late and not asked:
            return _late(name)
        found = contest.find(0.0)
    if found is True:
        return BreakEven(outcome="not_computed", reason="the solver did not settle it")
    if found is False:
        return BreakEven(outcome="no_price_helps")
    return _climb(study, contest, found, asked=asked)


def _late(name: str) -> BreakEven:
    return BreakEven(outcome="not_computed", reason=ASK.format(name=name))


def _no_answer(study: Study, contest: Contest) -> str | None:
    """Return why no break-even price can be told, or None."""
    policy = study.inputs.problem.policy
    if not study.proven:
        return "the plan itself is not proven best"
    if contest.name not in study.inputs.prices:
        return "it has no price"
    if contest.free_of_charge:
        return "it is discounted to nothing"
    if policy.prefer is not None:
        return "the problem prefers vendors, which goes before money"
    if any(split.measure == "money" for split in policy.split):
        return "the problem splits money between vendors, so that a lower price may hurt"
    return None


def _nearest(study: Study, contest: Contest) -> Rival | None:
    """Return the rival of the highest price among plans met before, or None."""
    rivals = (contest.priced(operation) for operation in study.known.get(contest.name, []))
    return max((r for r in rivals if r is not None), key=lambda r: r.list_usd, default=None)


def _climb(study: Study, contest: Contest, best: Rival, *, asked: bool) -> BreakEven:
    """Raise the price until there is provably no rival any more."""
    today, step = contest.today_list_usd, STEP
    for _ in range(MOST_SEARCHES):
        if best.list_usd >= today:
            return _found(contest, best, None)
        if study.late and not asked:
            return _late(contest.name)
        price = max(best.list_usd * (1.0 + step), best.list_usd + today * LEAST_STEP)
        price = min(today, round(price, 2) + 0.01)
        found = contest.find(price)
        if found is False:
            return _found(contest, best, price)
        if isinstance(found, Rival):
            best = found
        else:
            step *= 2.0
    return BreakEven(outcome="not_computed", reason="the search did not settle it")


def _found(contest: Contest, best: Rival, not_at_list_usd: float | None) -> BreakEven:
    return BreakEven(
        outcome="found",
        enters_at_usd=contest.net_usd(best.list_usd),
        enters_at_list_usd=best.list_usd,
        not_at_usd=None if not_at_list_usd is None else contest.net_usd(not_at_list_usd),
        not_at_list_usd=not_at_list_usd,
        units=best.operation.units[contest.name],
    )

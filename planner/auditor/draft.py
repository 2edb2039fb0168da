"""A problem while edits are laid over it; what each input of ``Checkpoint`` means in its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from planner.case.model import Way
from planner.currency import Currency
from planner.inputs import Inputs
from planner.outputs.workbook.book import RATE
from planner.outputs.workbook.cells import Scalar
from planner.schema.catalog import Figure
from planner.schema.plan import JobPlan, Plan
from planner.schema.prices import Discount, Price, SupportMoney
from planner.schema.problem import FixedInterval, Problem, Quantity, Term
from planner.schema.running import FailureRate, Parallelism
from planner.schema.site import Pue

ModelT = TypeVar("ModelT", bound=BaseModel)

# A problem while the edits of a workbook are laid over it.


class EditError(ValueError):
    """An edit that the problem has no room for; the text says what would be right."""


@dataclass
class Draft:
    """The inputs with edits, and what the edited workbook decides itself.

    ``quantities`` holds the units in place by catalog id, companions included; ``spares`` the cold
    spares that were typed in; ``own_lines`` what was written of lines that were added, by section
    and number. ``standing`` units stand by as spares, where the plan decides them; the job runs in
    the ways ``way_ids``, those of the plan where there are none, and ``ways`` are the ids of those
    to choose from, by their labels.
    """

    inputs: Inputs
    plan: Plan
    quantities: dict[str, int] = field(default_factory=dict)
    mode: str = "async"
    interval_s: float = 0.0
    gpus_idle: int = 0
    term: dict[str, float | None] = field(default_factory=dict)
    spares: dict[str, int] = field(default_factory=dict)
    own_lines: dict[tuple[str, int], dict[str, Scalar]] = field(default_factory=dict)
    standing: int | None = None
    way_ids: tuple[str, ...] = ()
    ways: Mapping[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        """The problem as it stands."""
        return self.inputs.problem

    @property
    def job(self) -> JobPlan:
        """The job of the solved plan."""
        return self.plan.jobs[0]

    def most_gpus(self, way: Way, systems: int) -> int:
        """Return the GPUs in use that the workbook leaves of so many systems of the job's type."""
        if self.standing is None:
            return way.most_gpus(systems) - self.gpus_idle
        job = self.job
        line = next(x for x in self.plan.lines if x.sku == job.gpu_type and x.parent is None)
        each = line.gpus // line.working
        solved = job.most_gpus_beside(line.working, job.repair.spares if job.repair else 0, each)
        usable = {job.gpu_type: way.usable_gpus}
        replica = {"replica_gpus": way.replica_gpus, "usable_gpus_by_type": usable}
        job = job.model_copy(update=replica)
        most = job.most_gpus_beside(systems, self.standing, each)
        return most - (solved - self.job.gpus_used)

    def working(self, sku: str) -> int:
        """Return the units of an item in the cluster: all but owned ones that stay idle."""
        idle = next((line.idle for line in self.plan.lines if line.sku == sku and line.idle), 0)
        return max(0, self.quantities.get(sku, 0) - idle)

    def change_problem(self, **changes: Any) -> None:
        """Replace fields of the problem."""
        self.inputs = replace(self.inputs, problem=self.problem.model_copy(update=changes))

    def change(self, part: str, **changes: Any) -> None:
        """Replace fields of a part of the problem, such as ``site`` or ``budget``."""
        self.change_problem(**{part: getattr(self.problem, part).model_copy(update=changes)})

    def change_job(self, part: str = "", **changes: Any) -> None:
        """Replace fields of the job, or of a part of it, such as ``checkpoint``."""
        job = self.problem.job
        if part:
            changes = {part: getattr(job, part).model_copy(update=changes)}
        self.change_problem(jobs=(job.model_copy(update=changes),))

    def set_price(self, sku: str, price: Price) -> None:
        """Let an item have this price."""
        self.inputs = replace(self.inputs, prices={**self.inputs.prices, sku: price})

    def change_item(self, sku: str, **changes: Any) -> None:
        """Replace what the problem says of an item's count."""
        items = self.problem.items
        rule = items.get(sku, Quantity()).model_copy(update=changes)
        self.change_problem(items={**items, sku: rule})

    def change_discount(self, sku: str, share: float) -> None:
        """Let an item have this discount, whatever else applies to it."""
        others = tuple(each for each in self.inputs.discounts if each.item != sku)
        own = Discount.model_construct(discount=share, item=sku, vendor=None, category=None)
        self.inputs = replace(self.inputs, discounts=(*others, own))


# What each input of the sheet ``Checkpoint`` means in the problem file.


Setter = Callable[[Draft, Any], None]

_UNLIMITED_GB_PER_S = 1e12


def _site_pue(draft: Draft, value: float) -> None:
    pue = draft.problem.site.pue
    draft.change(
        "site", pue=pue.model_copy(update={"air": value}) if isinstance(pue, Pue) else value
    )


def _site_pue_liquid(draft: Draft, value: float) -> None:
    pue = draft.problem.site.pue
    if not isinstance(pue, Pue):
        raise EditError("the problem has one PUE")
    draft.change("site", pue=pue.model_copy(update={"liquid": value}))


def _term(name: str) -> Setter:
    def set_it(draft: Draft, value: Scalar) -> None:
        assert not isinstance(value, str)
        draft.term[name] = value

    return set_it


def finish_term(draft: Draft) -> None:
    """Lay the edits of the term over the problem; a term that is new needs years and energy.

    Raises:
        EditError: one of the two is missing.
    """
    if not draft.term:
        return
    term = draft.problem.term
    known = {} if term is None else {name: getattr(term, name) for name in Term.model_fields}
    fields: dict[str, Any] = known | draft.term
    if fields.get("years") is None or fields.get("electricity_usd_per_kwh") is None:
        raise EditError("the term in years and the price of electricity go together: give both")
    if term is None:
        draft.change_problem(term=Term.model_construct(**fields))
    else:
        draft.change("term", **draft.term)


def _job(name: str, part: str = "", scale: float = 1.0) -> Setter:
    def set_it(draft: Draft, value: Scalar) -> None:
        scaled = value * scale if isinstance(value, float) and scale != 1.0 else value
        draft.change_job(part, **{name: scaled})

    return set_it


def _mode(draft: Draft, value: Any) -> None:
    draft.mode = value
    draft.change_job("checkpoint", mode=value)


def _interval(draft: Draft, value: float) -> None:
    """Set the interval; where the problem does not leave it to the planner, in the problem too."""
    draft.interval_s = value
    if draft.problem.job.checkpoint.interval.policy != "optimal":
        by_hand = FixedInterval.model_construct(policy="fixed", every_s=value)
        draft.change_job("checkpoint", interval=by_hand)


def _idle(draft: Draft, value: float) -> None:
    draft.gpus_idle = round(value)


def _held(draft: Draft, value: float) -> None:
    draft.change_job("checkpoint", keep_last=round(value) - 1, milestones=0)


def _other_data(draft: Draft, value: float) -> None:
    draft.change_job("checkpoint", exports=0)
    draft.change_job(dataset_tb=value)


def _replica(draft: Draft, value: float | None) -> None:
    was = draft.problem.job.parallelism
    if value is None:
        draft.change_job(parallelisms=None)
        return
    if was is not None and was.expert_parameters is not None and round(value) != was.replica_gpus:
        raise EditError("the GPUs of a replica with experts follow from the problem's degrees")
    groups, rest = divmod(round(value), 1 if was is None else was.tensor)
    if rest or not groups:
        assert was is not None
        raise EditError(f"a replica is made of whole tensor groups of {was.tensor} GPUs")
    tensor = round(value) // groups
    draft.change_job(parallelisms=Parallelism(tensor=tensor, pipeline=groups))


def _failures(draft: Draft, value: float) -> None:
    shares = draft.problem.job.failure_shares
    draft.change_job(failures=FailureRate.model_construct(per_gpu_day=value, shares=shares))


def _client(kind: str) -> Setter:
    def set_it(draft: Draft, value: float | None) -> None:
        serving = draft.job.storage_families
        known = [f.client_factor for f in draft.inputs.families if f.id in serving]
        factors = [getattr(factor, kind).value for factor in known if factor is not None]
        each = _UNLIMITED_GB_PER_S if value is None else value / min(factors, default=1.0)
        limit = draft.problem.storage.client_limit.model_copy(update={kind: each})
        draft.change("storage", client_limit=limit)

    return set_it


def _delivered(kind: str) -> Setter:
    def set_it(draft: Draft, value: float) -> None:
        shares = draft.problem.storage.delivered_fraction.model_copy(update={kind: value})
        draft.change("storage", delivered_fraction=shares)

    return set_it


def _fill(draft: Draft, value: float) -> None:
    draft.change("storage", fill_limit=value)


def _tflops(draft: Draft, value: float) -> None:
    name = f"{draft.problem.job.training.precisions[0]}_dense"
    figure = Figure[float].model_construct(value=value, source="workbook", confidence="low")
    items = tuple(
        item.model_copy(update={"gpu": item.gpu.model_copy(update={name: figure})})
        if item.id in draft.job.gpu_types
        else item
        for item in draft.inputs.items
    )
    draft.inputs = replace(draft.inputs, items=items)


def _or_all(name: str) -> Setter:
    """Return the setter of a limit in percent, which blank means all of it."""

    def set_it(draft: Draft, value: float | None) -> None:
        most = 0.99 if name == "max_blocking" else 1.0
        draft.change_job("checkpoint", **{name: most if value is None else value})

    return set_it


def _restart(draft: Draft, value: float) -> None:
    """Set the restart from storage, where the problem has it."""
    if draft.problem.job.restart.remote_s is None:
        draft.change_job("restore", restart_s=value)
    else:
        draft.change_job("restart", remote_s=value)


def _repair(name: str) -> Setter:
    """Return the setter of a figure of repairs; classes become one share and one time."""

    def set_it(draft: Draft, value: float) -> None:
        asked, stated = draft.problem.job.repair, draft.job.repair
        if asked is None or stated is None:
            return
        one = {"share": stated.hardware_share, "time_s": stated.repair_s, "classes": ()}
        if asked.share is not None:
            one = {"share": asked.share, "time_s": asked.time_s, "classes": ()}
        update = {**one, name: int(value) if name == "spares" else value}
        draft.change_job(repair=asked.model_copy(update=update))

    return set_it


def _spares(draft: Draft, value: float) -> None:
    """Set the spares that stand by: a decision, or what the problem asks for."""
    if draft.job.spares_move:
        draft.standing = round(value)
    else:
        _repair("spares")(draft, value)


def _way(draft: Draft, value: str) -> None:
    if value not in draft.ways:
        raise EditError(f"'{value}' is no way in which the job may run")
    draft.way_ids = (draft.ways[value],)


def _rate(draft: Draft, value: float) -> None:
    """Set what one of the currency shown is in USD.

    What is stated in that currency stays what it is in it: prices that are quoted in it, budgets,
    and what energy and room cost.
    """
    problem, code = draft.problem, draft.problem.shown_in.code
    rate = problem.exchange[code]
    by = value / rate.usd
    new = rate.model_copy(update={"usd": value, "source": "workbook"})
    changes: dict[str, Any] = {
        "exchange": {**problem.exchange, code: new},
        "budget": scale_usd(problem.budget, by),
    }
    if problem.term is not None:
        changes["term"] = scale_usd(problem.term, by)
    draft.change_problem(**changes)
    old = rate.of(code)
    for sku, price in draft.inputs.prices.items():
        if price.currency == code:
            draft.set_price(sku, scale_usd(price, by))
        else:  # lists in other currencies follow the rate, amounts of support do not
            draft.set_price(sku, scaled_support(_support_in_cents(price, old), by))


def _support_in_cents(price: Price, money: Currency) -> Price:
    """Return a price whose support stands in whole cents of the currency shown, if it is money."""

    def in_cents(support: Any) -> Any:
        if not isinstance(support, SupportMoney):
            return support
        return support.model_copy(update={"usd": money.rounded_usd(support.usd)})

    levels = {
        name: level.model_copy(update={"per_year": in_cents(level.per_year)})
        for name, level in price.support_levels.items()
    }
    held = {"support_per_year": in_cents(price.support_per_year), "support_levels": levels}
    return price.model_copy(update=held)


def scaled_support(price: Price, by: float) -> Price:
    """Return a price whose support, where it is an amount of USD, is times so much."""
    every = scale_usd(price, by)
    support = {name: getattr(every, name) for name in ("support_per_year", "support_levels")}
    return price.model_copy(update=support)


def scale_usd(model: ModelT, by: float) -> ModelT:
    """Return a part of the inputs with every amount of USD times so much."""
    changes: dict[str, Any] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, float) and "usd" in name.split("_"):
            changes[name] = value * by
        elif isinstance(value, BaseModel):
            changes[name] = scale_usd(value, by)
        elif isinstance(value, dict):
            changes[name] = {
                key: scale_usd(part, by) if isinstance(part, BaseModel) else part
                for key, part in value.items()
            }
    return model.model_copy(update=changes)


FIGURES: dict[str, Setter] = {
    "checkpoint_gb": _job("size_gb", "checkpoint"),
    "save_mode": _mode,
    "async_stall_s": _job("stall_s", "checkpoint"),
    "interval_s": _interval,
    "drain_slowdown": _job("drain_slowdown", "checkpoint"),
    "failures_per_gpu_day": _failures,
    "restart_s": _restart,
    "hardware_share": _repair("share"),
    "repair_s": _repair("time_s"),
    "swap_s": _repair("swap_s"),
    "spares": _spares,
    "way": _way,
    "restore_fan_out": _job("fan_out", "restore"),
    "bytes_per_parameter": _job("bytes_per_parameter"),
    "checkpoints_held": _held,
    "other_data_tb": _other_data,
    "max_overlap": _or_all("max_overlap"),
    "max_blocking": _or_all("max_blocking"),
    "max_overlap_if_async": _or_all("max_overlap"),
    "max_blocking_if_sync": _or_all("max_blocking"),
    "max_restore_s": _job("max_time_s", "restore"),
    "gpus_idle": _idle,
    "replica_gpus": _replica,
    "writers": _job("writers", "checkpoint"),
    "readers": _job("readers", "restore"),
    "client_write_gb_per_s": _client("write"),
    "client_read_gb_per_s": _client("read"),
    "ingest_per_gpu_gb_per_s": _job("ingest_per_gpu_gb_per_s"),
    "delivered_fraction_write": _delivered("write"),
    "delivered_fraction_read": _delivered("read"),
    "fill_limit": _fill,
    "tflops_per_gpu": _tflops,
    "mfu": _job("mfu", "training"),
    "tokens_trillion": _job("tokens", "training", 1e12),
    "active_parameters_billion": _job("active_parameters", "training", 1e9),
    "pue": _site_pue,
    "pue_liquid": _site_pue_liquid,
    RATE: _rate,
    "electricity_usd_per_kwh": _term("electricity_usd_per_kwh"),
    "years": _term("years"),
    "colocation_usd_per_kw_month": _term("colocation_usd_per_kw_month"),
    "discount_rate": _term("discount_rate"),
}
"""By the defined name of the input."""

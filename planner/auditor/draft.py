"""The edits of a workbook laid over its problem: what each input means in the problem file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from planner.case.model import Way
from planner.currency import Currency
from planner.errors import Finding, InputError
from planner.inputs import Inputs, changed
from planner.limits import COUNTED_IN, named, path_of
from planner.outputs.workbook.book import RATE
from planner.outputs.workbook.inputs import Scalar
from planner.schema.catalog import Figure, Item
from planner.schema.levels import FailureRate
from planner.schema.live import Live
from planner.schema.plan import JobPlan, Plan
from planner.schema.prices import AS_LISTED, Discount, Price, SupportMoney
from planner.schema.problem import MOST_SPARES, Extra, FixedInterval, Problem, Quantity, Term
from planner.schema.running import Parallelism
from planner.schema.site import Pue
from planner.schema.verification import Edit

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
    the ways ``way_ids``, and ``ways`` are the ids of those to choose from, by their labels.
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
        """Return the units of an item in the cluster: owned ones that stood idle still do."""
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
        "budget": scaled(problem.budget, by),
    }
    if problem.term is not None:
        changes["term"] = scaled(problem.term, by)
    draft.change_problem(**changes)
    old = rate.of(code)
    for sku, price in draft.inputs.prices.items():
        if price.currency == code:
            draft.set_price(sku, scaled(price, by))
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
    every = scaled(price, by)
    support = {name: getattr(every, name) for name in ("support_per_year", "support_levels")}
    return price.model_copy(update=support)


def scaled(model: ModelT, by: float) -> ModelT:
    """Return a part of the inputs with every amount of USD times so much."""
    changes: dict[str, Any] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, float) and "usd" in name.split("_"):
            changes[name] = value * by
        elif isinstance(value, BaseModel):
            changes[name] = scaled(value, by)
        elif isinstance(value, dict):
            changes[name] = {
                key: scaled(part, by) if isinstance(part, BaseModel) else part
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
    "restart_s": _job("restart_s", "restore"),
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


MOST_YEARS = 50.0
"""Longer than any term."""

# What each limit on the sheet ``Checks`` means in the problem file.


def set_limit(draft: Draft, name: str, value: float | None) -> None:
    """Set a limit of the problem; None removes it.

    Args:
        draft: the problem with edits.
        name: the limit's name in the plan.
        value: what is allowed now, in the limit's unit.

    Raises:
        EditError: the problem has no such limit, or it cannot be removed.
    """
    row = named(name)
    if not row.editable:
        raise EditError("this limit follows from a product or a rule and is no input")
    kind, path = name.partition(".")[0], path_of(name)
    if value is not None and row.file_unit in COUNTED_IN:
        value = round(value)
    if kind == "split" and value is None:
        value = 1.0
    draft.inputs = changed(draft.inputs, path, value)
    if name == "facility_power":  # what the feeds leave is the same limit
        draft.change("site", feeds=None)
    if row.name == "items.*.min" and value is None:
        draft.inputs = changed(draft.inputs, path.removesuffix("min") + "required", False)
    sku = name.partition(".")[2]
    price = draft.inputs.prices.get(sku)
    if kind == "stock" and value is None and price is not None:
        draft.set_price(sku, price.model_copy(update={"stock": None}))


# Lines that were added to the bill: services of the order, each an item and a price of its own.


def finish_own_lines(draft: Draft) -> None:
    """Lay the lines that were added over the problem, as services that are counted once.

    Raises:
        EditError: a line has no name, or no price.
    """
    for (section, number), parts in sorted(draft.own_lines.items()):
        count, model, price = (parts.get(key) for key in ("quantity", "model", "unit_list"))
        where = f"own line {number} of {section}"
        if count == 0 or set(parts) <= {"remark"}:
            continue
        if model is None:
            raise EditError(f"{where}: it has no description; say what it is")
        if price is None and parts.get("per_year") is None:
            raise EditError(f"{where}: it has no list price; give one, 0 for what costs nothing")
        _add_own_line(draft, section, number, parts)


def _add_own_line(draft: Draft, section: str, number: int, parts: Mapping[str, Scalar]) -> None:
    sku = "own_" + "_".join([*re.findall("[a-z]+", section.lower()), str(number)])
    remark, vendor, part_number = (parts.get(key) for key in ("remark", "vendor", "part_number"))
    item = Item(
        id=sku,
        vendor="not named" if vendor is None else str(vendor),
        model=str(parts["model"]),
        part_number=None if part_number is None else str(part_number),
        category="service",
        description=f"added to the bill, in its section {section}",
        notes=() if remark is None else (str(remark),),
    )
    numbers = {key: parts.get(key) for key in ("quantity", "unit_list", "discount")}
    count = 1 if numbers["quantity"] is None else round(float(numbers["quantity"]))
    typed: dict[str, Any] = {"list_usd": float(numbers["unit_list"] or 0.0), **_TYPED}
    yearly = parts.get("per_year")
    if yearly is not None:
        typed["support_per_year"] = SupportMoney.model_construct(usd=float(yearly))
    price = Price.model_construct(**typed)
    problem = draft.problem
    draft.inputs = replace(draft.inputs, items=(*draft.inputs.items, item))
    draft.change_problem(extras={**problem.extras, sku: Extra(count=count)})
    draft.set_price(sku, price)
    # Paid the whole term, whatever support the problem asks of products.
    draft.change_item(sku, spares=0.0, support_level=AS_LISTED, support_years=MOST_YEARS)
    draft.change_discount(sku, float(numbers["discount"] or 0.0))
    draft.quantities[sku] = count


# Lay the edits of a workbook over the inputs of its plan.


def apply(
    name: str,
    inputs: Inputs,
    plan: Plan,
    edits: Sequence[Edit],
    quantities: Mapping[str, int],
    live: Live | None = None,
) -> Draft:
    """Return the problem with the edits, and what the workbook decides.

    Args:
        name: the workbook, for messages.
        inputs: what the solved plan was made from.
        plan: the solved plan.
        edits: what was changed.
        quantities: the units in place as the edited workbook lists them, by catalog id.
        live: what the workbook carries besides its plan.

    Raises:
        InputError: an edit does not fit the problem.
    """
    job, live = plan.jobs[0], live or Live()
    draft = Draft(
        inputs=inputs,
        plan=plan,
        quantities=dict(quantities),
        mode=job.mode,
        interval_s=job.interval_s,
        gpus_idle=_usable(plan) - job.gpus_used,
        standing=job.repair.spares if job.repair is not None and job.spares_move else None,
        way_ids=job.way_ids,
        ways={} if live.ways is None else {row.label: row.id for row in live.ways.rows},
    )
    # The sheet holds size and bytes apart; the problem would derive the one from the other.
    if any(edit.key in ("checkpoint_gb", "bytes_per_parameter") for edit in edits):
        draft.change_job("checkpoint", size_gb=job.checkpoint_gb)
        if job.bytes_per_parameter is not None:
            draft.change_job(bytes_per_parameter=job.bytes_per_parameter)
    findings = [finding for edit in edits if (finding := _applied(name, draft, edit))]
    endings = (
        ("Checkpoint", finish_term),
        ("Checkpoint", _check_replica),
        ("BOM", finish_spares),
        ("Own lines", finish_own_lines),
    )
    for sheet, finish in endings:
        try:
            finish(draft)
        except EditError as error:
            findings.append(Finding("input-cell", str(error), name, path=sheet))
    if findings:
        raise InputError(findings)
    return draft


def in_usd(edits: Sequence[Edit], plan: Plan) -> tuple[Edit, ...]:
    """Return edits with their amounts in USD, that of the rate of exchange first.

    Args:
        edits: what was changed, in the currency that the workbook shows.
        plan: the solved plan.
    """
    old = new = plan.shown_in.usd
    for edit in edits:
        if edit.key == RATE and isinstance(edit.after, float):
            new = edit.after

    def amount(edit: Edit, value: float | str | None, rate: float) -> float | str | None:
        paid = "USD" in edit.unit and edit.key != RATE and isinstance(value, float)
        return float(f"{value * rate:.15g}") if paid and isinstance(value, float) else value

    changed_ones = (
        edit.model_copy(
            update={
                "before": amount(edit, edit.before, old),
                "after": amount(edit, edit.after, new),
            }
        )
        for edit in edits
    )
    if plan.shown_in.code == "USD":
        return tuple(edits)
    return tuple(sorted(changed_ones, key=lambda edit: edit.key != RATE))


def _usable(plan: Plan) -> int:
    """Return the GPUs that the job could use of all systems of its types in the plan."""
    job = plan.jobs[0]
    lines = [line for line in plan.lines if line.parent is None and line.sku in job.gpu_types]
    return sum(job.most_gpus(line.sku, line.working) for line in lines)


def _applied(name: str, draft: Draft, edit: Edit) -> Finding | None:
    """Apply one edit; return what is wrong with it."""
    try:
        _apply(draft, edit)
    except EditError as error:
        return Finding(
            "input-cell", f"{edit.label}: {error}", name, path=f"{edit.sheet}!{edit.cell}"
        )
    return None


def _apply(draft: Draft, edit: Edit) -> None:
    value = edit.after
    if edit.kind == "figure":
        FIGURES[edit.key](draft, value)
        return
    if edit.kind == "own_line":
        section, number, part = edit.key.split("|")
        draft.own_lines.setdefault((section, int(number)), {})[part] = value
        return
    if edit.kind in _TEXTS:
        _TEXTS[edit.kind](draft, edit.key, None if value is None else str(value))
        return
    assert not isinstance(value, str)
    if edit.kind == "limit":
        set_limit(draft, edit.key, value)
    elif value is None:
        raise EditError("is blank")
    elif edit.kind == "unit_list":
        draft.set_price(edit.key, _priced(draft.inputs.prices.get(edit.key), value))
    elif edit.kind == "quantity":
        draft.quantities[edit.key] = round(value)
    elif edit.kind == "installed":
        _installed(draft, edit.key, round(value))
    elif edit.kind == "spares":
        draft.spares[edit.key] = round(value)
    else:
        draft.change_discount(edit.key, value)


_TYPED: dict[str, Any] = {"date": "0000", "source": "workbook", "confidence": "low"}


def _priced(price: Price | None, list_usd: float) -> Price:
    """Return a price that was typed into the workbook; what comes with the price stays."""
    if price is None:
        return Price.model_construct(list_usd=list_usd, **_TYPED)
    told = {"low_usd": None, "high_usd": None, "parts": (), "note": None}
    return price.model_copy(update={"list_usd": list_usd, **_TYPED, **told})


def _installed(draft: Draft, sku: str, count: int) -> None:
    """Let so many be owned and stay."""
    rule = draft.problem.items.get(sku, Quantity())
    for key, most in (("fixed", rule.fixed), ("max", rule.max)):
        if most is not None and most < count:
            raise EditError(f"the problem has items.{sku}.{key}: {most}, fewer than {count}")
    draft.change_item(sku, installed=count, retire=False)


def _lead_time(draft: Draft, sku: str, text: str | None) -> None:
    price = draft.inputs.prices.get(sku)
    if price is None:
        raise EditError("its price is not known: fill in its list price as well")
    draft.set_price(sku, price.model_copy(update={"lead_time": text}))


def _remark(draft: Draft, sku: str, text: str | None) -> None:
    """Let the item have one more note, which its line then shows."""
    more = () if text is None else (text,)
    items = tuple(
        item.model_copy(update={"notes": (*item.notes, *more)}) if item.id == sku else item
        for item in draft.inputs.items
    )
    draft.inputs = replace(draft.inputs, items=items)


_TEXTS: dict[str, Callable[[Draft, str, str | None], None]] = {
    "lead_time": _lead_time,
    "remark": _remark,
}


def finish_spares(draft: Draft) -> None:
    """Let what lies in store be the share that comes to what was typed.

    Raises:
        EditError: there is nothing that it could be a share of.
    """
    parts = {line.sku: line for line in draft.plan.lines if line.parent is None}
    for sku, count in draft.spares.items():
        whole = draft.working(sku)
        if parts[sku].quantity == 0:  # spare parts: a share of what is in the bundles
            whole = sum(
                part.quantity * draft.working(item.id)
                for item in draft.inputs.items
                for part in item.components
                if part.id == sku
            )
        if count and not whole:
            raise EditError(f"cold spares of {parts[sku].model}: nothing of it is in place")
        share = count / whole if whole else 0.0
        if share > MOST_SPARES:
            most = f"more than {MOST_SPARES:g} for each in place"
            raise EditError(f"cold spares of {parts[sku].model}: {most}")
        draft.change_item(sku, spares=share)


def _check_replica(draft: Draft) -> None:
    job = draft.problem.job
    needs = job.checkpoint.writers == "one_replica" or job.restore.readers == "one_replica"
    needs = needs or job.restore.fan_out != "broadcast" or job.gpus.whole == "replicas"
    if needs and job.parallelism is None:
        raise EditError(
            "one_replica, sharded_optimizer, every_replica and whole replicas need the GPUs that "
            "hold one replica"
        )

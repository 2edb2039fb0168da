"""Whom an output is for: the customer's edition of a plan holds no money, by construction."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from planner.outputs.text_safety import clean
from planner.schema.base import PlanModel
from planner.schema.plan import (
    Assumption,
    Device,
    FabricReport,
    FailureClass,
    IdleUnits,
    JobPlan,
    LimitReport,
    Line,
    LocalPlan,
    Loss,
    NextStep,
    NotConsidered,
    ObjectiveReport,
    PartByLength,
    Plan,
    PriceNote,
    Provenance,
    RackGroup,
    RackPlaces,
    Repair,
    ShrunkPlan,
    Site,
    StallPlan,
    StepNeed,
    Totals,
    WayPlan,
)
from planner.schema.storage_options import OptionItem, StorageOption, StorageOptions


@dataclass(frozen=True)
class Rule:
    """What becomes of the fields of one part of a plan.

    ``kept`` pass as they are, parts of a plan in them by their own rules; ``texts`` pass where they
    do not speak of money, else what is given here stands instead (a list loses such entries);
    ``removed`` never pass.
    """

    kept: frozenset[str] = frozenset()
    texts: Mapping[str, object] = field(default_factory=dict)
    removed: Mapping[str, object] = field(default_factory=dict)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


RULES: Mapping[type[PlanModel], Rule] = {
    Plan: Rule(
        _names(
            "schema_version status objective site lines totals jobs limits fabrics racks "
            "assumptions not_considered not_counted idle provenance cabling"
        ),
        {"problem": "Plan", "description": None, "message": None, "warnings": ()},
        # It names budgets, and what else the buyer could give up; the inputs hold every price.
        # Whose storage could do it as well is what the buyer negotiates with.
        {
            "infeasibility": None,
            "inputs": None,
            "checksums": None,
            "storage_options": None,
            "next_step": None,
        },
    ),
    Line: Rule(
        _names(
            "sku site period parent section vendor model part_number quantity installed purchased "
            "lead_time lead_time_days unit_it_power_kw it_power_kw unit_heat_btu_per_h "
            "heat_btu_per_h unit_rack_units rack_units racks unit_weight_kg weight_kg gpus "
            "read_gb_per_s write_gb_per_s usable_tb category role unit spares pack liquid_share "
            "facility_power_kw unit_typical_power_kw typical_power_kw rack_class "
            "units_per_rack idle"
        ),
        {"description": None, "notes": ()},
        {
            "unit_list_usd": None,
            "discount": 0.0,
            "unit_net_usd": None,
            "extended_list_usd": None,
            "extended_net_usd": None,
            "support_usd_per_year": None,
            "subscription_usd_per_year": None,
            "unit_subscription_list_usd": None,
            "support_share": None,
            "support_years": None,  # when support is paid is a matter of money too
            "support_from_years": 0.0,
            "support_level": None,
            "price": None,
        },
    ),
    PartByLength: Rule(
        _names("counted_as sku vendor model part_number category length_m quantity in_place_of"),
        removed={"unit_net_usd": None},
    ),
    NextStep: Rule(removed=dict.fromkeys(NextStep.model_fields)),
    StepNeed: Rule(removed=dict.fromkeys(StepNeed.model_fields)),
    StorageOptions: Rule(removed=dict.fromkeys(StorageOptions.model_fields)),
    StorageOption: Rule(removed=dict.fromkeys(StorageOption.model_fields)),
    OptionItem: Rule(removed=dict.fromkeys(OptionItem.model_fields)),
    PriceNote: Rule(removed=dict.fromkeys(PriceNote.model_fields)),
    Totals: Rule(
        _names(
            "gpus gpus_used it_power_kw facility_power_kw heat_btu_per_h rack_units racks "
            "weight_kg read_gb_per_s write_gb_per_s usable_tb typical_power_kw heat_air_kw "
            "heat_liquid_kw heat_air_btu_per_h heat_liquid_btu_per_h lead_time_days critical_skus"
        ),
        removed={
            "capex_usd": None,
            "support_usd_per_year": None,
            "energy_usd_per_year": None,
            "opex_usd_per_year": None,
            "tco_usd": None,
            "subscriptions_usd_per_year": None,
            "colocation_usd_per_year": None,
            "usd_per_useful_gpu_hour": None,
            "usd_per_million_tokens": None,
            "capex_by_section_usd": {},
        },
    ),
    Device: Rule(_names("sku position_ru rack_units it_power_kw weight_kg")),
    RackGroup: Rule(
        _names(
            "first count rack_class product height_ru power_limit_kw weight_limit_kg "
            "it_power_kw weight_kg pdus devices places"
        )
    ),
    RackPlaces: Rule(_names("group first count hall_first")),
    FabricReport: Rule(
        _names(
            "network switch_sku serves planes tiers units radix leaf_switches spine_switches "
            "core_switches endpoints parts_per_port capacity uplinks_per_leaf oversubscription "
            "system_links leaf_spine_links spine_core_links"
        )
    ),
    Loss: Rule(_names("stall rework drain restart restore waiting")),
    Repair: Rule(
        _names(
            "unit unit_gpus in_rack spares decided hardware_share repair_s swap_s load "
            "availability units_out waiting_h_per_year next_spare_gpus other_unit "
            "other_waiting_h_per_year shrunk"
        )
    ),
    ShrunkPlan: Rule(
        _names(
            "running failing least_replicas restarts_per_year restart_s short_h_per_year "
            "stopped_h_per_year"
        )
    ),
    JobPlan: Rule(
        _names(
            "gpu_type gpu_types storage_family storage_families mode gpus_used systems_used "
            "systems_by_type replica_gpus replicas whole_replicas tensor_gpus per_system_gpus "
            "usable_gpus_by_type idle_gpus tflops_per_gpu mfu failures_per_gpu_day "
            "checkpoint_gb delivered_write_gb_per_s delivered_read_gb_per_s write_limited_by "
            "read_limited_by client_write_limit_gb_per_s client_read_limit_gb_per_s "
            "writing_systems reading_systems interval_s interval_policy young_s daly_s exact_s "
            "stall_s drain_s overlap blocking fan_out restore_s restart_s drain_slowdown mtti_s "
            "goodput goodput_first_order goodput_understated loss useful_gpus useful_pflops "
            "days_to_train ingest_gb_per_s capacity_needed_tb write_volume_tb_per_day "
            "hot_spare_systems tolerate_down degraded_write_gb_per_s degraded_read_gb_per_s "
            "degraded_drain_s degraded_overlap degraded_restore_s fan_out_kind bytes_per_parameter "
            "writers readers checkpoints_held other_data_tb tokens active_parameters "
            "max_overlap max_blocking ways scale_share rate_share local derived_stall repair"
        ),
        {"name": "job"},
    ),
    WayPlan: Rule(
        _names(
            "id gpu_type precision gpu_cap gpu_limit_w power_share rated_it_power_kw throughput "
            "throughput_low throughput_high curve curve_confidence curve_note rate_tflops "
            "rate_gpus rate_source rate_confidence rate_note tensor pipeline context "
            "experts expert_tensor expert_parameters "
            "min_replicas option_factor"
        )
    ),
    LocalPlan: Rule(
        _names(
            "every remote_interval_s drain_s restart_s remote_share classes copies keep "
            "remote_drain write_gb_per_s part_gb room_tb capacity_tb volume_tb_per_day "
            "endurance_tb_per_day"
        )
    ),
    FailureClass: Rule(_names("share recovers level"), {"name": "class"}),
    StallPlan: Rule(_names("overhead_s gpu_gb copy_gb_per_s copy_s")),
    LimitReport: Rule(
        _names("name label value sense limit unit slack binding exact"), {"source": None}
    ),
    ObjectiveReport: Rule(
        _names(
            "name sense value unit bound gap log_value log_bound gap_asked best given_away "
            "indifference"
        ),
        removed={"best_capex_usd": None},
    ),
    Assumption: Rule(
        _names("name label value unit date confidence"), {"source": "not shown", "note": None}
    ),
    NotConsidered: Rule(_names("sku"), {"reason": "not on offer"}),
    IdleUnits: Rule(_names("sku units"), {"reason": "", "fix": ""}),
    Provenance: Rule(
        _names("tool input_sha256 solver versions iterations seconds"),
        {"catalogs": (), "problem_file": "", "scenario": None},
        {"price_books": (), "overrides": ()},
    ),
    Site: Rule(
        _names(
            "pue it_power_limit_kw facility_power_limit_kw racks_limit years "
            "delivered_fraction_read delivered_fraction_write fill_limit pue_liquid energy_basis"
        ),
        removed={
            "electricity_usd_per_kwh": None,
            "colocation_usd_per_kw_month": 0.0,
            "discount_rate": 0.0,
        },
    ),
}


Audience = Literal["internal", "customer"]
Prices = Literal["none", "net", "list+net", "discount", "all"]
"""Which prices an edition shows: none, net ones, list and net ones, discounts too, or everything
that is money, as inside."""

ModelT = TypeVar("ModelT", bound=PlanModel)

HIDDEN_OBJECTIVE = "a figure that is not shown"
"""Name of an objective that is money, where money is not shown."""

_SETTING = "--set "
_MONEY_INPUTS = ("electricity", "colocation", "discount_rate")
"""How the names of assumptions begin that are money though no word of theirs says so."""


def for_audience(plan: Plan, audience: Audience) -> Plan:
    """Return the plan that an edition may show.

    The customer's holds no prices, discounts, support or subscription money, totals, limits,
    assumptions and rates of money, no name of a price book, no ``--set``, and no text that speaks
    of money or states an amount that was taken out. The status and the proven gap stay; an
    objective that is money loses its name, value and bound.

    Args:
        plan: the plan as solved.
        audience: whom it is for.
    """
    return plan if audience == "internal" else _strip_money(plan, MoneyWords(_amounts(plan)))


def _strip_money(model: ModelT, speaks: MoneyWords) -> ModelT:
    """Return what an edition without money shows of a plan or of a part of one."""
    if isinstance(model, ObjectiveReport) and "USD" in model.unit:
        hidden = {"name": HIDDEN_OBJECTIVE, "unit": "", "value": None, "bound": None, "best": None}
        model = model.model_copy(update=hidden)
    if isinstance(model, Line) and "USD" in model.unit:  # what it counts is money
        once = {"quantity": 1, "purchased": 1, "unit": "order", "role": "once for the order"}
        model = model.model_copy(update=once)
    rule = RULES[type(model)]
    fields: dict[str, Any] = {
        name: _strip_value(getattr(model, name), speaks) for name in rule.kept
    }
    for name, instead in rule.texts.items():
        fields[name] = _text(getattr(model, name), instead, speaks)
    return type(model)(**fields, **rule.removed)


def _strip_value(value: object, speaks: MoneyWords) -> object:
    if isinstance(value, PlanModel):
        return _strip_money(value, speaks)
    if isinstance(value, tuple):
        return tuple(_strip_value(entry, speaks) for entry in value if not _is_money(entry, speaks))
    return value


def _text(value: object, instead: object, speaks: MoneyWords) -> object:
    if isinstance(value, tuple):
        return tuple(entry for entry in value if not speaks(entry))
    if not isinstance(value, str):
        return value
    if value.startswith(_SETTING):  # it may hold more than the value it is given as the source of
        return "set for this run"
    return instead if speaks(value) else value


def _is_money(entry: object, speaks: MoneyWords) -> bool:
    """Return whether an entry of a list is left out as a whole: limits, assumptions."""
    if isinstance(entry, LimitReport):
        return "USD" in entry.unit or speaks(entry.label)
    if isinstance(entry, Assumption):
        said = entry.value if isinstance(entry.value, str) else ""
        texts = (entry.name, entry.label, entry.unit, said)
        return entry.name.startswith(_MONEY_INPUTS) or any(speaks(text) for text in texts)
    return False


def _amounts(plan: Plan) -> Iterator[float]:
    """Yield every amount that an edition without money takes out of a plan."""
    yield from _amounts_in(plan.site)
    if plan.totals is not None:
        yield from _amounts_in(plan.totals)
        yield from plan.totals.capex_by_section_usd.values()
    for line in plan.lines:
        yield from _amounts_in(line)
        for yearly in (line.support_usd_per_year, line.subscription_usd_per_year):
            if yearly is not None and line.purchased:
                yield yearly / line.purchased
    goal = plan.objective
    yield from _amounts_in(goal)
    if "USD" in goal.unit:
        amounts = (goal.value, goal.bound, goal.best)
        yield from (amount for amount in amounts if amount is not None)
    for limit in plan.limits:
        if "USD" in limit.unit:
            yield from (limit.value, limit.limit, limit.slack)
    for entry in plan.assumptions:
        if "USD" in entry.unit and isinstance(entry.value, (int, float)):
            yield entry.value


def _amounts_in(model: PlanModel) -> Iterator[float]:
    for name in RULES[type(model)].removed:
        value = getattr(model, name)
        if isinstance(value, (int, float)) and not name.endswith("_years"):
            yield value


_CURRENCIES = "usd|eur|gbp|chf|jpy|cny|inr|dollars?|euros?"
_STEMS = (
    "prices?|priced|pricing|costs?|costing|costly|discounts?|discounted|discounting|margins?|"
    "mark-?ups?|rebates?|budgets?|budgeted|budgetary|capex|opex|tco|npv|roi|money|monetary|"
    "quotes?|quoted|quotations?|fees?|tariffs?|surcharges?|invoices?|invoiced|expenses?|expensive|"
    "cheap|cheaper|cheapest|spend|spent|spending|pay|pays|paid|payments?|payable|msrp|lease|leased|"
    "leasing|finance|financed|financing|financial"
)
# A word may touch digits and underscores, as in 150MUSD or capex_usd, but no other letter.
_WORDS = re.compile(
    rf"(?<![^\W\d_])(?:[kmb]?(?:{_CURRENCIES})|{_STEMS})(?![^\W\d_])|[$€£¥₹]", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:[,.'’ ]\d{3})+|\d+)(?:[.,]\d+)?(?![\d])"
    r"(?P<scale>\s?(?:thousand|millions?|billions?|mn|bn|[kKMB])(?![^\W\d_]))?"
)
_SCALES = {"t": 1e3, "k": 1e3, "m": 1e6, "b": 1e9}
_PERCENT = re.compile(r"\s?(?:%|per ?cent)")
# A number right before one of these is a measure or a count of things, whatever its value.
_UNIT = re.compile(
    r"\s?(?:[kMGTPE]?i?(?:Wh?|VA|B|b|B/s|b/s|FLOP/s)|[VA]|RU|U|kg|mm?|s|min|h|BTU/h|GPUs?|"
    r"systems?|units?|racks?|nodes?|servers?|switches|ports?|links?|cables?|drives?|seconds?|"
    r"hours?|days?|weeks?|months?|years?|tokens?|parameters?)(?![^\W\d_])"
)
_CONVENTIONS = ((r"[,'’ ]", r"\."), (r"[.'’ ]", ","))
"""Separators of thousands, and of decimals, in the two usual ways to write a number."""

_LARGE = 1000.0
_DIGITS = 3
_ROUNDED = 5e-4
_CENT = 0.005


class MoneyWords:
    """Tells texts that speak of money from those that do not.

    An amount counts however it is written: with or without thousands separators and decimals,
    rounded, in thousands or millions, as a percentage where it is a share. Numbers below 1,000 with
    fewer than 3 digits are not distinctive and left to the words around them.

    Args:
        amounts: what no text may state: amounts of money, and shares such as discounts.
    """

    def __init__(self, amounts: Iterable[float]) -> None:
        self._amounts = sorted({abs(amount) for amount in amounts if amount})

    def __call__(self, text: str) -> bool:
        """Return whether ``text`` has a word of money in it, or an amount."""
        plain = unicodedata.normalize("NFKC", clean(text, limit=None))
        return _WORDS.search(plain) is not None or self._states_an_amount(plain)

    def _states_an_amount(self, text: str) -> bool:
        for found in _NUMBER.finditer(text):
            scale = _SCALES[found["scale"].strip()[0].lower()] if found["scale"] else 1.0
            written = found[0].removesuffix(found["scale"] or "")
            percent = _PERCENT.match(text, found.end())
            if not percent and _UNIT.match(text, found.end()):
                continue
            for value, step in _readings(written):
                if percent and self._near(value / 100, step / 200):
                    return True
                if not percent and self._is_amount(value * scale, step * scale, written):
                    return True
        return False

    def _is_amount(self, value: float, step: float, written: str) -> bool:
        if value >= _LARGE:
            return self._near(value, max(step / 2, _ROUNDED * value))
        distinctive = len(re.sub(r"\D", "", written).strip("0")) >= _DIGITS
        return distinctive and self._near(value, min(step / 2, _CENT))

    def _near(self, value: float, tolerance: float) -> bool:
        low = value - tolerance * (1 + 1e-9)
        index = bisect_left(self._amounts, low)
        return index < len(self._amounts) and self._amounts[index] <= value + tolerance * (1 + 1e-9)


def _readings(written: str) -> Iterator[tuple[float, float]]:
    """Yield what a written number can mean, each with the worth of its last digit."""
    for text in {written, *written.split(" ")}:
        for thousands, point in _CONVENTIONS:
            grouped = rf"(\d+|\d{{1,3}}(?:{thousands}\d{{3}})+)(?:{point}(\d+))?"
            if found := re.fullmatch(grouped, text):
                whole, decimals = re.sub(r"\D", "", found[1]), found[2] or ""
                yield float(f"{whole}.{decimals or 0}"), 10.0 ** -len(decimals)

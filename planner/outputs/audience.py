"""Whom an output is for, and what it may show: of fields, and of texts by their words.

Inside everything is shown. A partner sees net prices and discounts, a customer net prices, list and
net ones, or none; neither sees where a figure is from, what else was looked at, how the plan was
found, a limit or rate of money, or any text that speaks of such things.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from planner.figures import FIGURES, STATED
from planner.outputs.words import clean
from planner.schema.base import PlanModel
from planner.schema.beside import OptionItem, StorageOption, StorageOptions
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
    Verdict,
    WayPlan,
)
from planner.schema.prices import ShownIn

_CURRENCIES = "usd|eur|gbp|chf|jpy|cny|inr|dollars?|euros?"
_STEMS = (
    "prices?|priced|pricing|costs?|costing|costly|discounts?|discounted|discounting|margins?|"
    "mark-?ups?|rebates?|budgets?|budgeted|budgetary|capex|opex|tco|npv|roi|money|monetary|"
    "quotes?|quoted|quotations?|fees?|tariffs?|surcharges?|invoices?|invoiced|expenses?|expensive|"
    "cheap|cheaper|cheapest|spend|spent|spending|pay|pays|paid|payments?|payable|msrp|lease|leased|"
    "leasing|finance|financed|financing|financial"
)
# A word may touch digits and underscores, as in 150MUSD or capex_usd, but no other letter.
_WORDS = rf"(?<![^\W\d_])(?:[kmb]?(?:{_CURRENCIES})|{_STEMS})(?![^\W\d_])|[$€£¥₹]"
"""Compiled by `re` where the first customer's text is read: it takes 7 ms, as `_INSIDE` 2."""
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
        return re.search(_WORDS, plain, re.IGNORECASE) is not None or self._states_an_amount(plain)

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


# Words of the solver, of where a figure is from and how sure it is, of rivals, of tone, and of
# files: no text with one of them leaves the house.
_SOLVER = (
    r"solvers?|highs|cbc|milp|optimi[sz]\w*|optimal\w*|optimum|infeasib\w*|heuristic\w*|"
    r"incumbent|gaps?|indifference|verifier|verified|given away|iterations?"
)
_PROVENANCE = (
    r"estimat\w*|guess\w*|assum\w*|placeholder|midpoint|unverified|unconfirmed|confidence|"
    r"rumou?rs?|hearsay|analysts?|trackers?|brokers?|resellers?|third[- ]part(?:y|ies)|from memory|"
    r"according to|price books?|planning range|restates?|sourced?|sources|prints?|printed|"
    r"found elsewhere|not stated|nobody states"
)
_RIVALS = (
    r"rivals?|rivalry|compet\w+|competing|alternatives?|instead of|lost|losers?|losing|los(?:es|e)|"
    r"beats?|beaten|outperforms?|undercuts?|undercutting|rejected|inferior|worse|better than"
)
_TONE = (
    r"internal\w*|confidential\w*|secrets?|nda|private|do not (?:tell|show|share|send|forward|"
    r"mention)|not for (?:the )?(?:customers?|clients?|buyers?)|never tell|negotiat\w*|leverage|"
    r"bluff\w*|walk[- ]away|desperate|naive|stupid|lousy|junk|crap|poor|sloppy|pushy|overpriced|"
    r"to-?do|fixme|tbd|xxx|careful|beware|risky|doubt\w*|suspicious|unreliable"
)
_FILES = (
    r"\S+\.(?:ya?ml|csv|json|xlsx?|py|md|txt|pdf|parquet|h5|lp|mps)\b|--\w+|https?://\S*|www\.\S+|"
    r"\b[a-z_]+\.[a-z_]+\.[a-z_0-9]+|(?:^|\s)(?:~|\.{1,2})?/[\w.-]+/\S*|\b[A-Za-z]:\\\S*"
)
_INSIDE = rf"(?<![^\W\d_])(?:{_SOLVER}|{_PROVENANCE}|{_RIVALS}|{_TONE})(?![^\W\d_])|{_FILES}"


class OutsideWords:
    """Tells texts that must stay inside: of money, of the solver, of sources, rivals and files.

    Args:
        amounts: what no text may state, as for `MoneyWords`.
    """

    def __init__(self, amounts: Iterable[float]) -> None:
        self._of_money = MoneyWords(amounts)

    def __call__(self, text: str) -> bool:
        """Return whether ``text`` has to stay inside."""
        seen = "".join(c for c in clean(text, limit=None) if unicodedata.category(c) != "Cf")
        plain = unicodedata.normalize("NFKC", seen)
        return re.search(_INSIDE, plain, re.IGNORECASE) is not None or self._of_money(plain)


Audience = Literal["internal", "customer", "partner"]
Prices = Literal["none", "net", "list+net", "discount", "all"]
"""Which prices an edition shows: none, net ones, list and net ones, discounts too, or everything
that is money, as inside."""

PRICES: Mapping[Audience, Prices] = {"internal": "all", "customer": "net", "partner": "discount"}
"""What each audience sees unless it is said otherwise."""


@dataclass(frozen=True)
class Rule:
    """What becomes of the fields of one part of a plan.

    ``kept`` pass as they are, parts of a plan in them by their own rules; ``texts`` pass where they
    say nothing that stays inside, else what is given here stands instead (a list loses such
    entries); ``removed`` never pass, but for what ``priced`` names where the edition shows such
    prices.
    """

    kept: frozenset[str] = frozenset()
    texts: Mapping[str, object] = field(default_factory=dict)
    removed: Mapping[str, object] = field(default_factory=dict)
    priced: Mapping[Prices, frozenset[str]] = field(default_factory=dict)

    def passes(self, name: str, prices: Prices) -> bool:
        """Return whether a field that is removed passes all the same, as a price."""
        return name in self.priced.get(prices, frozenset())


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _totals(*, money: bool) -> frozenset[str]:
    """Return the totals that are money, or those that are not."""
    figures = (FIGURES[name] for name in Totals.model_fields if name in FIGURES)
    return frozenset(figure.name for figure in figures if figure.money == money)


_NET = _names("unit_net_usd extended_net_usd support_usd_per_year subscription_usd_per_year")
_LIST = _NET | _names("unit_list_usd extended_list_usd")
_DISCOUNT = _LIST | _names("discount unit_subscription_list_usd support_share")
_SUMS = _names("capex_usd support_usd_per_year subscriptions_usd_per_year capex_by_section_usd")

RULES: Mapping[type[PlanModel], Rule] = {
    Plan: Rule(
        _names(
            "schema_version status objective site lines totals jobs limits fabrics racks "
            "not_counted idle provenance cabling currency public_notes"
        ),
        {"problem": "Plan", "message": None},
        # Free text of the inside, where figures are from, what was looked at and lost. What stands
        # in the way names budgets, and what else the buyer could give up; the inputs hold every
        # price; whose storage could do it as well is what the buyer negotiates with.
        {
            "description": None,
            "verdict": (),
            "warnings": (),
            "assumptions": (),
            "not_considered": (),
            "infeasibility": None,
            "inputs": None,
            "checksums": None,
            "storage_options": None,
            "next_step": None,
        },
    ),
    Line: Rule(
        _names(
            "sku site period parent section quantity installed purchased "
            "lead_time_days unit_it_power_kw it_power_kw unit_heat_btu_per_h "
            "heat_btu_per_h racks gpus "
            "read_gb_per_s write_gb_per_s usable_tb category spares pack liquid_share "
            "facility_power_kw unit_typical_power_kw typical_power_kw rack_class "
            "units_per_rack idle lifecycle min_order warranty_years public_notes"
        )
        | {name for row in STATED.values() for name in (row.of_one, row.name)},
        {
            "vendor": "",
            "model": "item",
            "part_number": None,
            "description": None,
            "role": None,
            "unit": "each",
            "lead_time": None,
            "country_of_origin": None,
            "hs_code": None,
            "export_class": None,
        },
        {
            "notes": (),
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
        {"net": _NET, "list+net": _LIST, "discount": _DISCOUNT},
    ),
    PartByLength: Rule(
        _names("counted_as sku vendor model part_number category length_m quantity in_place_of"),
        removed={"unit_net_usd": None},
        priced=dict.fromkeys(("net", "list+net", "discount"), _names("unit_net_usd")),
    ),
    NextStep: Rule(removed=dict.fromkeys(NextStep.model_fields)),
    StepNeed: Rule(removed=dict.fromkeys(StepNeed.model_fields)),
    # What one is in USD divides the offer's own prices; where the rate is from stays inside.
    ShownIn: Rule(_names("code usd"), removed={"on": "", "source": ""}),
    StorageOptions: Rule(removed=dict.fromkeys(StorageOptions.model_fields)),
    StorageOption: Rule(removed=dict.fromkeys(StorageOption.model_fields)),
    OptionItem: Rule(removed=dict.fromkeys(OptionItem.model_fields)),
    PriceNote: Rule(removed=dict.fromkeys(PriceNote.model_fields)),
    Totals: Rule(
        _totals(money=False) | {"critical_skus"},
        removed={**dict.fromkeys(sorted(_totals(money=True))), "capex_by_section_usd": {}},
        priced={"net": _SUMS, "list+net": _SUMS, "discount": _SUMS},
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
            "stopped_h_per_year late"
        )
    ),
    JobPlan: Rule(
        _names(
            "gpu_type gpu_types storage_family storage_families mode gpus_used systems_used "
            "systems_by_type replica_gpus replicas whole_replicas tensor_gpus per_system_gpus "
            "usable_gpus_by_type idle_gpus tflops_per_gpu mfu failures_per_gpu_day "
            "checkpoint_gb delivered_write_gb_per_s delivered_read_gb_per_s write_limited_by "
            "read_limited_by client_write_limit_gb_per_s client_read_limit_gb_per_s "
            "client_data_limit_gb_per_s "
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
            "throughput_low throughput_high rate_tflops rate_gpus tensor pipeline context "
            "experts expert_tensor expert_parameters "
            "min_replicas option_factor"
        ),
        removed=dict.fromkeys(
            (
                "curve",
                "curve_confidence",
                "curve_note",
                "rate_source",
                "rate_confidence",
                "rate_note",
            )
        ),
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
    Verdict: Rule(removed=dict.fromkeys(Verdict.model_fields)),
    LimitReport: Rule(
        _names("name label value sense limit unit slack binding exact"), removed={"source": None}
    ),
    ObjectiveReport: Rule(
        _names("name sense value unit"),
        removed={
            "bound": None,
            "gap": None,
            "log_value": None,
            "log_bound": None,
            "gap_asked": 0.0,
            "best": None,
            "given_away": None,
            "indifference": 0.0,
            "best_capex_usd": None,
        },
    ),
    # No assumption and nothing that was left aside passes: see `Plan`.
    Assumption: Rule(removed=dict.fromkeys(Assumption.model_fields)),
    NotConsidered: Rule(removed=dict.fromkeys(NotConsidered.model_fields)),
    IdleUnits: Rule(_names("sku units"), removed={"reason": "", "fix": ""}),
    Provenance: Rule(
        _names("tool input_sha256"),
        removed={
            "catalogs": (),
            "problem_file": "",
            "scenario": None,
            "price_books": (),
            "overrides": (),
            "solver": "",
            "versions": {},
            "iterations": 0,
            "seconds": 0.0,
        },
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


ModelT = TypeVar("ModelT", bound=PlanModel)

HIDDEN_OBJECTIVE = "a figure that is not shown"
"""Name of an objective that is money, where money is not shown."""


def for_audience(plan: Plan, audience: Audience, prices: Prices | None = None) -> Plan:
    """Return the plan that an edition may show.

    Outside there is no total, limit, assumption or rate of money but the prices asked for, no
    source of a figure, nothing that was left aside, no bound or solver, and no text that speaks of
    any of these, or of files, or states an amount that was taken out; an objective that is money
    loses its name and value.

    Args:
        prices: which prices it shows, by default those of the audience.
    """
    if audience == "internal":
        return plan
    shown = prices or PRICES[audience]
    return _strip(plan, OutsideWords(_amounts(plan)), shown)


def _strip(model: ModelT, stays: OutsideWords, prices: Prices) -> ModelT:
    """Return what an edition for the outside shows of a plan or of a part of one."""
    if isinstance(model, ObjectiveReport) and "USD" in model.unit:
        hidden = {"name": HIDDEN_OBJECTIVE, "unit": "", "value": None}
        model = model.model_copy(update=hidden)
    if isinstance(model, Line) and model.is_percentage:  # what it counts is money
        once = {
            "quantity": 1,
            "purchased": 1,
            "unit": "order",
            "role": "once for the order",
            "unit_net_usd": model.extended_net_usd,
            "unit_list_usd": model.extended_list_usd,
        }
        model = model.model_copy(update=once)
    rule = RULES[type(model)]
    fields: dict[str, Any] = {
        name: _strip_value(getattr(model, name), stays, prices) for name in rule.kept
    }
    for name, instead in rule.texts.items():
        value = getattr(model, name)
        fields[name] = instead if isinstance(value, str) and stays(value) else value
    for name, instead in rule.removed.items():
        fields[name] = getattr(model, name) if rule.passes(name, prices) else instead
    return type(model)(**fields)


def _strip_value(value: object, stays: OutsideWords, prices: Prices) -> object:
    if isinstance(value, PlanModel):
        return _strip(value, stays, prices)
    if isinstance(value, tuple):
        return tuple(
            _strip_value(entry, stays, prices) for entry in value if not _left_out(entry, stays)
        )
    return value


def _left_out(entry: object, stays: OutsideWords) -> bool:
    """Return whether an entry of a list is left out as a whole: a limit of money, a bare text."""
    if isinstance(entry, LimitReport):
        return "USD" in entry.unit or stays(entry.label)
    return isinstance(entry, str) and stays(entry)


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

"""Write the page of assumptions, ``docs/assumptions.md``: ``python scripts/make_assumptions.py``.

Values, sources and confidence are the plan's own, effects a tornado's; a test compares the page.
Ranges are published ones; where none is published, a fifth either way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import planner
from planner.case import resolve
from planner.loader import load
from planner.optimizer import optimise
from planner.optimizer.search import Effort
from planner.report.formats import money
from planner.schema.analysis import End, Swing, Tornado
from planner.schema.plan import Assumption, Line
from planner.sizing.availability import FAILURES_PER_GPU_DAY, LOST_TIME
from planner.sizing.checkpoint import BYTES_PER_PARAMETER

PAGE = Path(__file__).resolve().parents[1] / "docs" / "assumptions.md"
EXAMPLE = "10MW"
FIFTH = "a fifth either way"

_FAILURES = sorted(FAILURES_PER_GPU_DAY.values(), key=lambda preset: preset.value)
_STATE = sorted(
    (preset for name, preset in BYTES_PER_PARAMETER.items() if name != "weights_only"),
    key=lambda preset: preset.value,
)

INPUTS: Mapping[str, tuple[str, str, str]] = {
    "pue": (
        "site.pue",
        "1.16:1.58",
        "median with liquid to the chip (aiinframap.com) to the average of halls in 2024 "
        "(Uptime Institute, by lowdown.today)",
    ),
    "delivered_fraction.write": (
        "storage.delivered_fraction.write",
        "16 %:100 %",
        "seen in production, to nameplate",
    ),
    "delivered_fraction.read": (
        "storage.delivered_fraction.read",
        "20 %:100 %",
        "seen in production, to nameplate",
    ),
    "dwpd.tlc": (
        "storage.dwpd.tlc",
        "0.7:3",
        "5+2 stripes write 1.4 times what they are given, to mixed-use drives",
    ),
    "checkpoint_size": (
        "jobs.0.bytes_per_parameter",
        f"{_STATE[0].value:g}:{_STATE[-1].value:g}",
        f"optimizer states: {_STATE[0].source} to {_STATE[-1].source}",
    ),
    "failures": (
        "jobs.0.failures.per_gpu_day",
        f"{_FAILURES[0].value:g}:{_FAILURES[-1].value:g}",
        f"{_FAILURES[0].meaning} to {_FAILURES[-1].meaning} ({_FAILURES[-1].source})",
    ),
    "stall": ("jobs.0.checkpoint.stall", "0.3 s:7 s", "reported"),
    "restart": ("jobs.0.restore.restart", "2 min:20 min", "reported"),
    "lost_time": (
        "jobs.0.lost_time",
        f"{LOST_TIME.low:g}:{LOST_TIME.high:g}",
        LOST_TIME.meaning,
    ),
    "repair.share": ("jobs.0.repair.share", "+-20%", FIFTH),
    "repair.time": ("jobs.0.repair.time", "2.5 h:72 h", "published for a tray, to days for a rack"),
    "client_limit": (
        "storage.client_limit.write",
        "0.5 GB/s:2 GB/s",
        "half and twice: one source alone",
    ),
}
"""What a plan assumes of a problem, by the assumption's name: path, both ends, why these."""

MORE: Mapping[str, tuple[str, str]] = {
    "jobs.0.training.rate_factor": ("0.31:1.6", "the range of GB300's planning value"),
    "storage.fill_limit": ("+-20%", FIFTH),
    "jobs.0.dataset": ("+-20%", FIFTH),
    "catalog.*.consumes.it_power": ("x0.8:x1.2", FIFTH + ", all at once"),
}
"""Inputs that the plan's list of assumptions does not name."""

IN_MONEY = ("electricity", "years")
"""Assumptions that move money and not work, where work is what is asked for."""

AT_REST = {"repair.swap": "time of a swap beyond a restart"}
"""Assumptions of nothing, of which there is no fifth."""

FIGURES = {
    "Compute": ("consumes.it_power", "gpu.bf16_dense"),
    "Storage": ("consumes.it_power", "provides.read", "provides.write"),
}
"""Figures of what the plan buys that may move it, by section."""

GAP = 1e-3
"""To which plans with another lever are proven, as a share."""

MOST_WORK = 600.0
"""What is spent on each at most, as `planner.optimizer.search.Effort` counts."""

ALONE = "nvidia_gb200_nvl72"
"""The type that is shown by itself: its units are racks."""

_REPAIR = "repair={{share: 78 %, time: {}}}"
_TRAINING = "training={{tokens: 30 T, active_parameters: 32 B, {}}}"
_STALL = ("checkpoint.stall=derived", "checkpoint.stall_overhead=0.5 s")
_TWO_LEVELS = (
    *_STALL,
    "checkpoint.interval={policy: optimal, min: 30 s, max: 4 h}",
    "checkpoint.local={use: yes, copies: 2, restart: 2 min, "
    "recovers: {software: yes, gpu: peer, node: peer, rack: no}}",
    "failures={per_gpu_day: llama3, shares: {software: 22 %, gpu: 60 %, node: 15 %, rack: 3 %}}",
    "restore={max_time: 5 min, restart: 10 min, fan_out: broadcast}",
)
_SPREAD = "parallelism=[{tensor: 8, pipeline: 8}, {tensor: 8, pipeline: 16}]"

LEVERS: Mapping[str, tuple[str, ...]] = {
    "none: trays repaired in 24 h, spares decided": (),
    "repair not counted": ("repair=null",),
    "systems swapped, not trays; no spares": (_REPAIR.format("24 h, spares: 0"),),
    "systems swapped, spares decided": (_REPAIR.format("24 h"),),
    "the same, elastic (fewer replicas)": (_REPAIR.format("24 h, when_short: shrink"),),
    "systems swapped in 2.5 h, spares decided": (_REPAIR.format("2.5 h"),),
    "systems swapped in 5 days, spares decided": (_REPAIR.format("5 days"),),
    "replicas of 512 GPUs, not 64": ("parallelism={tensor: 8, pipeline: 64}",),
    "power points of the catalog open": ("power={points: open}",),
    "one MFU of 40 % in BF16 for all types": (_TRAINING.format("mfu: 40 %"),),
    "rates measured with DeepSeek-V3 in FP8, N^-0.05": (
        _TRAINING.format("model: deepseek_v3, precision: fp8, scale: {exponent: 0.05}"),
    ),
    "stall derived from the copy to the host": _STALL,
    "and checkpoints on drives, a restart from them in 2 min": _TWO_LEVELS,
    "power, replicas of 64 or 128 and both levels open": (
        "power={points: open}",
        _SPREAD,
        *_TWO_LEVELS,
    ),
}
"""Levers of the job, and what is set for each."""

LEFT_OUT: Mapping[str, str] = {
    "jobs.0.power": "power caps of the GPUs",
    "jobs.0.parallelism.memory": "gradients, optimizer and activations: the weights alone must "
    "fit into the memory of a GPU",
    "jobs.0.checkpoint.local": "local checkpoints on the systems' drives",
    "site.feeds": "power feeds and their redundancy",
    "site.weight_limit": "floor load",
    "site.cooling.air_limit": "limit of air-cooled load",
    "site.cooling.liquid_limit": "limit of liquid-cooled load",
    "site.floor": "layout of the hall: cables have the lengths of a rule",
    "software": "software licences",
    "services": "installation and other services",
    "targets.max_lead_time": "delivery date",
}
"""What the example does not ask about, by the place where a problem file would."""

ALWAYS = (
    "weights of transceivers, cables and software",
    "congestion in fabrics",
    "interference of other jobs, except their share of storage bandwidth",
    "tax and financing, and freight where no quote states it",
)
"""What no plan counts."""


@cache
def hall() -> planner.Inputs:
    """Return the example."""
    return planner.load(planner.example(EXAMPLE))


@cache
def plan() -> planner.Plan:
    """Return its best plan."""
    return planner.solve(hall())


def bought(section: str) -> list[Line]:
    """Return the products of a section that the plan has."""
    return [line for line in plan().lines if line.section == section and line.parent is None]


def spans() -> dict[str, tuple[str, str]]:
    """Return both ends of each input by its path, and why these."""
    found = {path: (ends, why) for path, ends, why in INPUTS.values()} | dict(MORE)
    for section, names in FIGURES.items():
        for line in bought(section):
            found |= {f"catalog.{line.sku}.{name}": ("x0.8:x1.2", FIFTH) for name in names}
    return found


@cache
def tornado() -> Tornado:
    """Return the best plan at each end."""
    ends = {path: span.removeprefix("=") for path, (span, _) in spans().items()}
    return planner.tornado(hall(), ends)


def page() -> str:
    """Return the page."""
    goal, totals = plan().objective, plan().totals
    assert totals is not None
    head = (
        "# Assumptions and the effect of each",
        f"Of the shipped example `{EXAMPLE}`: {goal.value:,.0f} useful {goal.unit}, "
        f"{money(totals.capex_usd)} capex. Written by `scripts/make_assumptions.py` from its plan "
        "and tornado; for your own problem: `planner sweep --mode tornado` and the workbook.",
    )
    parts = (*head, *_worth(), *_levers(), *_figures(), *_prices(), *_left_out())
    return "\n\n".join(parts) + "\n"


def _worth() -> Iterator[str]:
    swings = tornado().swings
    moving = [swing for swing in swings if _moves(swing)]
    still = [swing for swing in swings if swing not in moving]
    yield "## Inputs that change the plan"
    yield (
        "One input at a time goes to its low and to its high; the plan is decided again. "
        f"Change of the maximum useful work, {tornado().base:,.0f} PFLOP/s, proven within "
        f"{100 * tornado().gap_asked:g} %; `=`: no larger change. Measure the first rows before "
        "you order."
    )
    yield _table(
        ("assumption", "value", "from", "low", "work", "high", "work", "why this range"),
        [
            (
                swing.label,
                _now(swing),
                _source(swing.path),
                swing.low.text,
                _change(swing.low),
                swing.high.text,
                _change(swing.high),
                spans()[swing.path][1],
            )
            for swing in moving
        ],
    )
    listed = "; ".join(f"{s.label} ({_now(s)}, {s.low.text} to {s.high.text})" for s in still)
    yield f"No change within the proven gap: {listed}." if still else ""
    rest = "; ".join(
        f"{each.label} ({each.value:g} {each.unit})"
        for each in plan().assumptions
        if each.name in IN_MONEY
    )
    yield f"Change of money alone: {rest}. Set to zero: {'; '.join(AT_REST.values())}."


def _levers() -> Iterator[str]:
    yield "## Effect of the levers"
    yield (
        "One lever changed, the plan decided again: useful PFLOP/s, proven within "
        f"{100 * GAP:g} %, and systems in use + hot spares. Left: all five types; right: GB200 "
        "NVL72 alone. Training rates are the catalogs' planning values of mixtures of experts in "
        "FP8 unless a row states others."
    )
    heads = "lever", "work", "runs on", "work", "runs on GB200 NVL72"
    yield _table(heads, [(name, *best(name), *best(name, ALONE)) for name in LEVERS])


@cache
def best(lever: str, alone: str = "") -> tuple[str, str]:
    """Return the most useful work with a lever set, and what it runs on; of one type where asked.

    Systems that stand by are those left over, of whose trays some may be in use.
    """
    settings = [f"jobs.0.{setting}" for setting in LEVERS[lever]]
    settings += [f"consider.gpu_systems=[{alone}]"] if alone else []
    case = resolve(load(planner.example(EXAMPLE), settings=settings))
    case = replace(case, indifference=0.0)  # the most, and of equals the fewest spares
    found = optimise(case, gap=GAP, effort=Effort(most_work=MOST_WORK))
    if found.operation is None or found.value is None:
        return "none", "-"
    if found.gap is None or found.gap > GAP:
        raise ValueError(f"{lever}: proven within {found.gap} only; give it more work")
    ((system, way),) = case.in_use(found.operation.used, found.operation.ways)
    used = found.operation.used[system.id]
    left = found.operation.units[system.id] - used
    model = hall().by_id[system.id].model.removeprefix("DGX ").removesuffix(" NVL72")
    cap = f", provisioned for {100 * way.power_share:.1f} %" if way.power_share < 1.0 else ""
    kind = "" if alone else f" {model}"
    return f"{math.exp(found.value):,.0f}", f"{used:,} + {left}{kind}{cap}"


def _now(swing: Swing) -> str:
    """Return the value as it stands; where the file has none the plan says what it took."""
    if swing.base_text != "null":
        return swing.base_text
    name = next(name for name, row in INPUTS.items() if row[0] == swing.path)
    taken = next(each for each in plan().assumptions if each.name == name)
    return f"{taken.value:g} {taken.unit}, default"


def _moves(swing: Swing) -> bool:
    ends = (swing.low.objective, swing.high.objective)
    return any(each is None or abs(_share(each)) > tornado().gap_asked for each in ends)


def _share(objective: float) -> float:
    base = tornado().base
    assert base is not None
    return objective / base - 1.0


def _change(end: End) -> str:
    if end.objective is None:
        return "no plan"
    share = _share(end.objective)
    return f"{100 * share:+.1f} %" if abs(share) > tornado().gap_asked else "="


def _source(path: str) -> str:
    """Return where a value is from, with its confidence where it has one."""
    known = {each.name: each for each in plan().assumptions}
    named = next((known[name] for name, row in INPUTS.items() if row[0] == path), None)
    item = known.get(path.removeprefix("catalog."))
    if item is not None:
        return f"{_short(item.source)} ({item.confidence})"
    if "*" in path:
        return "each product's source"
    where = hall().where(path) or (named.source if named is not None else None)
    return "the example" if where and ".yaml" in where else _short(where or "default")


def _short(text: str) -> str:
    """Return what a source is called, without what it is about."""
    return text.removeprefix("Third party: ").split(",")[0].split(" (")[0]


def _figures() -> Iterator[str]:
    """Yield the figures of products by confidence, those of low confidence one by one."""
    yield "## Sources of the products"
    of: dict[str, list[Assumption]] = {}
    models = {line.sku: line.model for line in plan().lines}
    for each in plan().assumptions:
        sku = each.name.partition(".")[0]
        if sku in models:
            of.setdefault(sku, []).append(each)
    rows = []
    for sku, figures in of.items():
        counts = [
            sum(f.confidence == level for f in figures) for level in ("high", "medium", "low")
        ]
        weak = "; ".join(
            f"{f.label.partition(': ')[2]} {f.value:g} {f.unit}{f' ({f.note})' if f.note else ''}"
            for f in figures
            if f.confidence == "low"
        )
        rows.append((models[sku], *map(str, counts), weak or "-"))
    yield "Each figure has a source (`planner catalog ITEM`) and a confidence."
    yield _table(("product", "high", "medium", "low", "of low confidence"), rows)


def _prices() -> Iterator[str]:
    """Yield what prices rest on, and the purchase at both ends of all of them."""
    yield "## Sources of the prices"
    lines = [line for line in plan().lines if line.purchased and line.price is not None]
    lines.sort(key=lambda line: -(line.extended_net_usd or 0.0))
    total = sum(line.extended_net_usd or 0.0 for line in lines)
    low, high = (sum(_end(line, end) * line.purchased for line in lines) for end in ("low", "high"))
    yield (
        f"None is a quote. At the low end of every price the same purchase costs {money(low)}, at "
        f"the high end {money(high)}, instead of {money(total)}."
    )
    heads = ("product", "USD each", "low to high", "confidence", "date", "share of capex")
    yield _table(heads, [_price(line, total) for line in lines])


def _price(line: Line, total: float) -> tuple[str, ...]:
    assert line.price is not None
    ends = f"{_end(line, 'low'):,.0f} to {_end(line, 'high'):,.0f}"
    share = 100 * (line.extended_net_usd or 0.0) / total
    each = f"{line.unit_net_usd:,.0f}"
    return line.model, each, ends, line.price.confidence, line.price.date, f"{share:.1f} %"


def _end(line: Line, end: str) -> float:
    """Return an end of a line's net price, the price itself where that is not known."""
    assert line.price is not None
    listed = getattr(line.price, f"{end}_usd")
    net = line.unit_net_usd or 0.0
    return net if listed is None else listed * (1.0 - line.discount)


def _left_out() -> Iterator[str]:
    yield "## Exclusions"
    yield "Not in the example, so not in its plan:"
    places = ((path.replace("jobs.0.", "jobs[]."), words) for path, words in LEFT_OUT.items())
    yield "\n".join(f"- {words} (`{place}`)" for place, words in places)
    yield "In no plan:"
    yield "\n".join(f"- {words}" for words in ALWAYS)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

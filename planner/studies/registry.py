"""Studies and their results, each in one row: command, help, options, schema, view, sheets, charts.

A study that is not here, or among those of traces, does not exist: the command line, ``planner
schema``, ``planner solve --study``, ``planner report`` and what `-o` writes all follow from these
rows.

A new one is a ``Result``, listed in ``RESULTS``, and a ``Study`` in ``_STUDIES``. What is generated
of them is written by ``scripts/make_commands.py`` and ``planner schema NAME > schemas/NAME.json``.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from planner.cli_options import (
    DASK,
    EACH_GAP,
    EACH_LIMIT,
    FILES,
    FOLDER,
    GAP,
    JOBS,
    JSON,
    LIMIT,
    PROBLEM,
    QUIET,
    ROW_GAP,
    SCENARIO,
    SET,
    SOLVER,
    AgainstName,
    argument,
    least,
    option,
    seconds,
    share,
)
from planner.studies.study import TOLD, Function, Result, Study, load
from planner.studies.traces import CHARACTERIZATION, SIMULATION, TRACES

if TYPE_CHECKING:
    from planner.schema.base import Model

_SENSITIVITY = "planner.schema.sensitivity"

COMPARISON = Result(
    "comparison",
    record="planner.schema.comparison:Comparison",
    view="planner.outputs.compare_text:render_comparison",
    first="planner.outputs.compare_text:first_comparison",
    table="figures",
    book="{stem}",
)
RULES = Result(
    "rules",
    record="planner.schema.comparison:RulesTable",
    view="planner.outputs.compare_text:render_rules",
    first="planner.outputs.compare_text:first_rules",
    charts="planner.outputs.charts.rules:charts",
    kept="{stem}.rules",
    book="{stem}.rules",
    picture="{stem}.rules",
    kind="rules",
    beside="planner.studies.compare.rules:rules_table",
    reported=True,
)
ALTERNATIVES = Result(
    "alternatives",
    record="planner.schema.comparison:Alternatives",
    view="planner.outputs.alternatives_text:render",
    first="planner.outputs.alternatives_text:first",
    book="{stem}.alternatives",
    kind="alternatives",
    beside="planner.studies.alternatives:beside",
)
AUDIT = Result(
    "audit",
    record="planner.schema.verification:Audit",
    view="planner.outputs.verification_text:render_audit",
    first="planner.outputs.verification_text:first_audit",
)
VERIFICATION = Result(
    "verification",
    record="planner.schema.verification:Verification",
    view="planner.outputs.verification_text:render_verification",
)
EXPLANATION = Result(
    "explanation",
    record="planner.schema.explanation:Explanation",
    view="planner.outputs.explain_text:render",
    first="planner.outputs.explain_text:first",
    book="{stem}.explain",
    kind="why",
    beside="planner.studies.explain:beside",
)
SWEEP = Result(
    "sweep",
    record=f"{_SENSITIVITY}:Sweep",
    view="planner.outputs.sweep_text:view",
    first="planner.outputs.sweep_text:first",
    charts="planner.outputs.charts.sweep:charts",
    book="{stem}.sweep",
    picture="{stem}.sweep",
    reported=True,
)
FRONTIER = Result(
    "frontier",
    record=f"{_SENSITIVITY}:Frontier",
    view="planner.outputs.frontier_text:view",
    first="planner.outputs.frontier_text:first",
    charts="planner.outputs.charts.frontier:charts",
    kept="{stem}.frontier-{record.x_name}",
    book="{stem}.frontier",
    picture="{stem}.frontier-{record.x_name}",
    reported=True,
)
TORNADO = Result(
    "tornado",
    record=f"{_SENSITIVITY}:Tornado",
    view="planner.outputs.tornado_text:view",
    first="planner.outputs.tornado_text:first",
    charts="planner.outputs.charts.tornado:charts",
    kept="{stem}.tornado",
    book="{stem}.tornado",
    picture="{stem}.tornado",
    reported=True,
)
UNCERTAIN = Result(
    "uncertain",
    record=f"{_SENSITIVITY}:Uncertain",
    view="planner.outputs.uncertain_text:view",
    first="planner.outputs.uncertain_text:first",
    charts="planner.outputs.charts.uncertain:charts",
    table="outcomes",
    kept="{stem}.uncertain",
    book="{stem}.uncertain",
    picture="{stem}.uncertain.{chart}",
    reported=True,
)
BIDS = Result(
    "bids",
    record="planner.schema.bids:Bids",
    view="planner.outputs.bids_text:view",
    first="planner.outputs.bids_text:first",
    charts="planner.outputs.charts.bids:charts",
    table="bids",
    kept="{stem}.bids",
    book="{stem}.bids",
    picture="{stem}.bids",
    reported=True,
)

RESULTS = (
    AUDIT,
    BIDS,
    EXPLANATION,
    ALTERNATIVES,
    COMPARISON,
    RULES,
    SWEEP,
    FRONTIER,
    TORNADO,
    UNCERTAIN,
    CHARACTERIZATION,
    SIMULATION,
    VERIFICATION,
)
"""All of them, in the order in which ``planner schema`` lists them."""

BESIDE_PLANS = {each.kind: each for each in (EXPLANATION, RULES, ALTERNATIVES)}
"""Those that the workbook of a plan may hold, by what ``planner solve --study`` calls them."""

SCHEMAS = {
    "problem": "planner.schema.problem:Problem",
    "catalog": "planner.schema.catalog:Catalog",
    "prices": "planner.schema.prices:PriceBook",
    "plan": "planner.schema.plan:Plan",
    "bill": "planner.schema.bill:Bill",
    "quote": "planner.schema.bill:Quote",
    "quote-map": "planner.schema.bill:QuoteMap",
} | {each.name: each.record for each in RESULTS}
"""The files that have a JSON Schema."""


_STUDIES = (
    Study(
        "compare",
        "Compare plans side by side: what differs, by how much, and why it matters.",
        also="Problem files are solved first; --set and --scenario apply to each of them. Exit "
        "code 3 where there is no plan to compare.",
        example="planner compare 10MW.yaml --rules",
        run="planner.studies.compare.rules:run",
        options=(
            argument(
                "files", list[Path],
                "Plans (.plan.json), problem files (.yaml) and workbooks (.xlsx), the first to "
                "tell the others from. With --rules: one problem file.",
                "PlanSource | ProblemSource",
            ),
            option(
                "rules", bool,
                "Compare storage sized by what the job needs, by vendors' rules and otherwise.",
                "--rules", default=False,
            ),
            option(
                "everything", bool, "List what is the same in all plans, too.",
                "--all", default=False,
            ),
            SET, SCENARIO, FOLDER, JSON, *TOLD, GAP, EACH_LIMIT, SOLVER, QUIET,
        ),
        results=(COMPARISON, RULES),
        counts="plans",
        functions=(
            Function("compare", COMPARISON, settled={"rules": False, "everything": False}),
            Function(
                "compare_rules", RULES, settled={"rules": True, "everything": False},
                says="Compare storage sized by what the job needs, by vendors' rules and "
                "otherwise: `planner compare --rules`.",
            ),
        ),
    ),
    Study(
        "alternatives",
        "Find plans nearly as good as the best that differ from it: in vendors, GPUs, counts, "
        "money.",
        also="With -o it writes PROBLEM.alternatives.xlsx.",
        example="planner alternatives 10MW.yaml --within '1 %'",
        run="planner.studies.alternatives:run",
        options=(
            PROBLEM,
            option(
                "within", str, "How far behind the best a plan may be, as a share or in percent.",
                default="1 %", read=partial(share, "--within"),
            ),
            option(
                "most", int, "How many plans to show, the best included.",
                default=8, min=1, max=100,
            ),
            SET, SCENARIO, FOLDER, JSON, *TOLD, GAP, LIMIT, SOLVER, QUIET,
        ),
        results=(ALTERNATIVES,),
        counts="directions",
    ),
    Study(
        "bid",
        "Evaluate vendors' quotes as bids on a problem: which limits each keeps, useful work and "
        "cost over the term, what it lacks, the best mix with proof, and the price at which each "
        "would win.",
        also="Exit code 3 where no bid meets every limit.",
        example="planner bid 10MW.yaml --quotes acme.xlsx --quotes beta.csv",
        run="planner.studies.bids:run",
        options=(
            argument(
                "files", list[Path], "Problem file (YAML); files after it are bids, too.",
                "ProblemSource",
            ),
            option(
                "quotes", list[Path] | None, "Bids: .xlsx or .csv, as vendors send them.",
                metavar="FILES",
            ),
            option(
                "quantities", Literal["quoted", "free"],
                "Take quantities as quoted, or plan with the prices alone.",
                default="quoted",
            ),
            option(
                "vendor", list[str] | None, "Who bids; default: the file's name. Repeatable.",
                metavar="FILE=NAME",
            ),
            option(
                "mapping", list[str] | None,
                "How a file is laid out, as `planner quote import` writes it. Repeatable.",
                "--map", metavar="FILE=MAP",
            ),
            option(
                "date", list[str] | None, "Date of a quote where its file does not tell it.",
                metavar="FILE=DATE",
            ),
            option(
                "currency", list[str] | None,
                "Currency of a quote where its file does not tell it.", metavar="FILE=CODE",
            ),
            option(
                "rate", list[str] | None, "USD for one unit of a currency. Repeatable.",
                metavar="CODE=USD",
            ),
            SET, SCENARIO, FOLDER, JSON, *TOLD, GAP, EACH_LIMIT, SOLVER, QUIET,
        ),
        results=(BIDS,),
        counts="parts",
    ),
    Study(
        "audit",
        "Read an edited workbook back: what changed, which limits break, how far from the best "
        "plan.",
        also="Exit code 3 where the edited plan breaks a limit.",
        example="planner audit 10MW.xlsx",
        run="planner.studies.verification:run_audit",
        options=(
            argument("workbook", Path, "Workbook that planner wrote."),
            JSON, *TOLD,
            option(
                "gap", str, "Largest gap to prove of the plan compared with.",
                default="2e-6", read=partial(share, "--gap"),
            ),
            option(
                "time_limit", str | None, "Stop solving with the best plan so far, e.g. '30 s'.",
                read=partial(seconds, "--time-limit"),
            ),
            SOLVER,
            option(
                "solve_again", bool, "Compare with the best plan under the edited inputs.",
                "--solve/--no-solve", default=True,
            ),
        ),
        results=(AUDIT,),
    ),
    Study(
        "verify",
        "Check a plan file: every figure and limit computed again, prices against the catalogs it "
        "names, the bound proven again by the other solver. What could not be checked is said. "
        "Audit an edited workbook: what changed, which limits break, how far from the best plan.",
        also="Exit code 3 where anything does not hold, or the edited plan breaks a limit.",
        example="planner verify 10MW.plan.json",
        run="planner.studies.verification:run",
        options=(
            argument(
                "plan", Path, "PROBLEM.plan.json, or an edited PROBLEM.xlsx, of planner solve.",
                "PlanSource",
            ),
            option(
                "solve_again", bool, "Solve for the bound again with the other solver.",
                "--solve/--no-solve", default=True,
            ),
            option(
                "time_limit", str | None, "Stop solving with the bound so far, e.g. '2 min'.",
                read=partial(seconds, "--time-limit"),
            ),
            JSON, *TOLD,
        ),
        results=(VERIFICATION, AUDIT),
        functions=(Function("verify", VERIFICATION),),
    ),
    Study(
        "explain",
        "Explain the best plan: what binds, what one more unit is worth, why nothing else. "
        "Without a plan: which limits cannot hold together, and the least changes that help.",
        example="planner explain 10MW.yaml --why-not ddn_ai400x2",
        run="planner.studies.explain:run",
        options=(
            PROBLEM, SET, SCENARIO,
            option(
                "step", list[str] | None,
                "How far to move a limit: --step site.facility_power='1 kW'. Repeatable.",
                metavar="PATH=VALUE",
            ),
            option(
                "why_not", list[str] | None,
                "Explain exactly why this item is not bought. Repeatable.",
                metavar="ITEM",
            ),
            option(
                "weight", list[str] | None,
                "Without a plan: what changing a limit counts beside others. Repeatable.",
                metavar="PATH=NUMBER",
            ),
            option(
                "keep", list[str] | None, "Without a plan: a limit that must stay. Repeatable.",
                metavar="PATH",
            ),
            FOLDER, JSON, *TOLD, GAP, LIMIT, SOLVER, JOBS, DASK, QUIET,
        ),
        results=(EXPLANATION,),
        counts="questions",
    ),
    *TRACES,
    Study(
        "sweep",
        "Solve many scenarios, each to a proven gap; write PROBLEM.sweep.parquet and .csv, a "
        "workbook and a picture.",
        example="planner sweep 10MW.yaml --vary site.facility_power=5MW:15MW:0.5MW",
        run="planner.commands.sweep:run",
        options=(
            PROBLEM,
            option(
                "vary", list[str] | None,
                "What to vary: site.facility_power=5MW:20MW:0.1MW, a,b,c or LOW:HIGH:log:COUNT; "
                "also catalog.ITEM..., prices.ITEM.list, x0.8:x1.2:x0.1. Repeatable: a grid.",
                metavar="PATH=VALUES",
            ),
            option("scenarios", Path | None, "Scenarios in a CSV file, one a row.", metavar="FILE"),
            option(
                "named", list[str] | None, "A named scenario of the problem, or all. Repeatable.",
                metavar="NAME",
            ),
            SET, SCENARIO, ROW_GAP, EACH_LIMIT, JOBS, DASK, FILES, JSON, *TOLD,
            option(
                "workbook", bool, "Write the workbook and the picture as well as the table.",
                default=True,
            ),
            option(
                "html", Path | None,
                "Write one page with sliders over the plans, which opens offline.",
                metavar="FILE",
            ),
            QUIET,
        ),
        results=(SWEEP,),
        counts="scenarios",
        functions=(),
    ),
    Study(
        "frontier",
        "Show the most useful work against storage bandwidth, cost and power, and where it bends.",
        example="planner frontier 10MW.yaml --against power",
        run="planner.studies.frontier:run",
        options=(
            PROBLEM,
            option(
                "against", list[AgainstName] | None,
                "Against what: storage, cost or power. Repeatable; default: all three.",
            ),
            option(
                "points", int, "How many points to find at most.",
                default=50, read=least("--points", 3),
            ),
            SET, SCENARIO, EACH_GAP, EACH_LIMIT, JOBS, DASK, FOLDER, JSON, *TOLD, QUIET,
        ),
        results=(FRONTIER,),
        counts="parts",
        functions=(Function("frontier", FRONTIER, defaults={"against": "storage"}),),
    ),
    Study(
        "tornado",
        "Vary one input at a time, low and high, and rank them by what they do to the best plan.",
        example="planner tornado 10MW.yaml",
        run="planner.studies.tornado:run",
        options=(
            PROBLEM,
            option(
                "vary", list[str] | None,
                "An input and its two ends: site.pue=1.1:1.4, x0.8:x1.2 or +-20%. Repeatable; "
                "default: every number that may matter.",
                metavar="PATH=LOW:HIGH",
            ),
            option(
                "by", str, "How far to move each input where no ends are given.",
                default="20 %", read=partial(share, "--by"),
            ),
            SET, SCENARIO, EACH_GAP, EACH_LIMIT, JOBS, DASK, FOLDER, JSON, *TOLD, QUIET,
        ),
        results=(TORNADO,),
        counts="ends",
    ),
    Study(
        "uncertain",
        "Draw inputs that are not known: what the best plan becomes, how often the planned one "
        "breaks a limit, and which plan is regretted least.",
        example="planner uncertain 10MW.yaml --samples 64",
        run="planner.studies.uncertain:run",
        options=(
            PROBLEM,
            option(
                "dist", list[str] | None,
                "What is not known: PATH='uniform(LOW, HIGH)', triangular, normal, lognormal, "
                "loguniform or discrete. Repeatable; default: prices, power draw, failures, "
                "delivered write bandwidth, checkpoint size.",
                metavar="PATH=DISTRIBUTION",
            ),
            option(
                "samples", int, "How many scenarios to draw.",
                default=256, read=least("--samples", 2),
            ),
            option(
                "method", Literal["lhs", "sobol"], "How: Latin hypercube or Sobol.", default="lhs",
            ),
            option(
                "seed", int, "The same seed draws the same scenarios.",
                default=1, read=least("--seed", 0),
            ),
            option(
                "indices", bool, "Explain the spread by inputs; more scenarios.",
                "--indices", default=False,
            ),
            SET, SCENARIO, EACH_GAP, EACH_LIMIT, JOBS, DASK, FOLDER, JSON, *TOLD, QUIET,
        ),
        results=(UNCERTAIN,),
        counts="scenarios",
    ),
)  # fmt: skip

STUDIES = {each.name: each for each in _STUDIES}
"""Every study by the name of its command, in the order in which ``planner --help`` lists them."""


DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(name: str) -> str:
    """Return the JSON Schema of a file that users write or read, by its name in ``SCHEMAS``."""
    from planner.schema.base import Model

    model = load(SCHEMAS[name])
    _build_parts(Model)
    schema = model.model_json_schema(mode="validation", by_alias=True)
    if name == "problem":
        schema["properties"]["scenarios"] = {
            "type": "object",
            "description": "Named overrides, laid over the problem by --scenario NAME.",
            "additionalProperties": {"type": "object"},
        }
    whole = {"$schema": DRAFT, **schema, "title": f"planner {name} file"}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _build_parts(model: type[Model]) -> None:
    """Build all kinds of a model: pydantic below 2.14 cannot write defaults that are not built."""
    for part in model.__subclasses__():
        part.model_rebuild()
        _build_parts(part)

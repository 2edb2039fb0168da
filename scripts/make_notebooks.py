"""Write ``docs/notebooks/``: one notebook for each study: ``python scripts/make_notebooks.py``.

Notebooks are written without outputs and the same bytes each time; tests hold the files to what
this writes, and run every cell.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"

BEGIN = """import planner

hall = planner.load(planner.example("enterprise_1MW"))"""
"""How each begins: a company's hall of 1 MW, the least that trains a 70B model in 30 days."""

ABOUT = (
    "The example is one that planner ships: a company trains a model of 70 billion parameters within 30 "
    "days in its own hall of 1 MW, for the least money. Put the path of your own problem file in its place."
)

NOTEBOOKS: dict[str, Sequence[str]] = {
    "solve": (
        "# The best plan\n\nWhat to buy, proven within a gap. " + ABOUT,
        BEGIN,
        "The plan shows itself: what was asked, what to buy, what it does, what it costs, what binds.",
        "plan = planner.solve(hall)\nplan",
        "Every table is a pandas frame; names of columns end in their unit.",
        'plan.to_frame()[["sku", "quantity", "unit_net_usd", "extended_net_usd", "it_power_kw"]]',
        'plan.to_frame("limits")[["label", "value", "sense", "limit", "unit", "binding"]]',
        "What if there were less time? A setting is what `--set` takes. Catalogs are not read again.",
        'soon = planner.solve(hall, settings={"targets.max_days_to_train": "22 days"})\n'
        "soon.totals.capex_usd - plan.totals.capex_usd",
        "The workbook goes to whoever wants to see every formula; it recalculates.",
        'planner.write_workbook(plan, "enterprise.xlsx")',
    ),
    "size": (
        "# What the job asks of storage\n\nNo solving: sizes, intervals, and what vendors' rules would ask for.",
        BEGIN,
        "sized = planner.size(hall, gpus=512)\nsized",
        "Each rule, and the goodput of a job that has just that:",
        'sized.to_frame("rules")[["rule", "write_demand_gb_per_s", "running.goodput_share"]]',
    ),
    "explain": (
        "# Why this plan\n\nWhat binds, what a step of each limit is worth, why nothing else was bought.",
        BEGIN,
        "why = planner.explain(hall)\nwhy",
        "What one step of each limit changes, in the unit of the objective:",
        'why.to_frame()[["label", "text", "binding", "looser.change", "tighter.change"]]',
    ),
    "compare": (
        "# Plans side by side\n\nWhat differs from the first, by how much, and why it matters.",
        BEGIN,
        'plan = planner.solve(hall)\nsoon = planner.solve(hall, settings={"targets.max_days_to_train": "22 days"})\n'
        "found = planner.compare(plan, soon)\nfound",
        'figures = found.to_frame()\nfigures[~figures["equal"]][["label", "unit", "series.A", "series.B"]]',
    ),
    "alternatives": (
        "# Nearly as good\n\nPlans within a few percent of the best that differ from it: other vendors, less money or power.",
        BEGIN,
        'found = planner.alternatives(hall, within="5 %")\nfound',
        "Each is a whole plan, verified. How much further from the best than the bound each is at most:",
        "[(way.label, round(each.shortfall, 4)) for each in found.alternatives for way in each.ways]",
    ),
    "verify": (
        "# Does a plan hold\n\nEvery figure computed again by code that shares nothing with what made it, and the "
        "bound proven again by the other solver.",
        BEGIN,
        "plan = planner.solve(hall)\nplanner.verify(plan)",
        "A figure that somebody changed is found:",
        'totals = plan.totals.model_copy(update={"capex_usd": plan.totals.capex_usd - 1e6})\n'
        'better = plan.model_copy(update={"totals": totals})\n'
        "planner.verify(better, solve_again=False)",
    ),
    "edited": (
        "# An edited workbook\n\nWhat was changed in it, which limits break, how far it is from the best plan.",
        BEGIN,
        'path = planner.write_workbook(planner.solve(hall), "enterprise.xlsx")',
        "Somebody gives the hall a fifth less power, the first limit on the sheet Performance, and sends it back:",
        "import warnings\n\nimport openpyxl\n\n"
        'warnings.filterwarnings("ignore", module="openpyxl")  # it drops the bars of limits\n'
        "book = openpyxl.load_workbook(path)\n"
        'name = book.defined_names["limit.facility_power"]\n'
        "sheet, cell = next(iter(name.destinations))\n"
        "book[sheet][cell].value *= 0.8\n"
        "book.save(path)",
        "planner.verify(path)",
    ),
    "bid": (
        "# Vendors' quotes as bids\n\nWhich limits each keeps, what it lacks, the best mix.",
        BEGIN,
        'plan = planner.solve(hall)\nlines = plan.to_frame()\nbought = lines[lines["purchased"] > 0]\n'
        'bought = bought[bought["section"].isin(["Compute", "Storage"])]',
        "Two quotes on what the plan buys, one 4 % dearer, as files that vendors send:",
        'for name, factor in (("one", 1.0), ("two", 1.04)):\n'
        '    rows = bought.assign(price=bought["unit_net_usd"] * factor)\n'
        '    table = rows[["part_number", "model", "quantity", "price"]].copy()\n'
        '    table.columns = ["Part Number", "Description", "Qty", "Unit Price"]\n'
        '    with open(f"{name}.csv", "w") as file:\n'
        '        file.write("Quote date: 2026-11-20, prices in USD\\n")\n'
        "        table.to_csv(file, index=False)",
        'planner.bid(hall, "one.csv", "two.csv")',
    ),
    "sweep": (
        "# Many scenarios\n\nEach solved to a proven gap, as rows of one table. A row is proof of what is possible, "
        "not the plan to buy: solve that by itself.",
        BEGIN,
        'swept = planner.sweep(hall, {"targets.max_days_to_train": "18 days:42 days:6 days"})\nswept',
        "table = swept.to_frame()\n"
        'table[["targets.max_days_to_train [day]", "status", "capex_usd", "gpus_in_use", "goodput"]]',
    ),
    "frontier": (
        "# Where more storage stops paying\n\nThe most useful work against storage bandwidth, and where it bends.",
        BEGIN,
        'curve = planner.frontier(hall, "storage", points=5)\ncurve',
        'curve.to_frame()[["x", "y", "bound", "capex_usd", "goodput"]]',
    ),
    "tornado": (
        "# What matters most\n\nOne input at a time, low and high: which of them moves the best plan.",
        BEGIN,
        'swings = planner.tornado(hall, {"site.pue": "1.1:1.5", "jobs.0.training.mfu": "35 %:45 %",\n'
        '                                "jobs.0.checkpoint.stall": "0.3 s:7 s"})\nswings',
        'swings.to_frame()[["label", "base_text", "low.text", "low.objective", "high.text", "high.objective"]]',
    ),
    "uncertain": (
        "# Inputs that are not known\n\nWhat the best plan becomes, how often the planned one breaks a limit, and "
        "which plan is regretted least. Take hundreds of samples where it counts.",
        BEGIN,
        'found = planner.uncertain(hall, {"jobs.0.training.mfu": "triangular(35 %, 40 %, 45 %)",\n'
        '                                 "jobs.0.restore.restart": "uniform(2 min, 20 min)"}, samples=6)\nfound',
        'found.to_frame()[["label", "unit", "p5", "p50", "p95"]]',
    ),
    "simulate": (
        "# The job, failure by failure\n\nGoodput beside the predicted one, lost time by cause, whether another interval is better.",
        BEGIN,
        "plan = planner.solve(hall)\n"
        'seen = planner.simulate(plan, replications=50, length="30 days", failures="weibull:0.8")\nseen',
        'seen.to_frame()[["name", "predicted", "goodput.mean", "goodput.low", "goodput.high"]]',
    ),
    "characterize": (
        "# What telemetry shows\n\nCheckpoints and jobs in the bandwidth of a storage system. Here of a trace that is "
        "made up: 1.2 TB every 15 minutes.",
        BEGIN,
        "import numpy as np\nimport pandas as pd\n\ntime = 1_767_225_600 + 10 * np.arange(20_000)\n"
        'rates = {"time": time, "write_gb_per_s": np.where(time % 900 < 60, 20.0, 0.1)}\n'
        'pd.DataFrame(rates).to_csv("hall.csv", index=False)',
        'found = planner.characterize("hall.csv")\nfound',
        'found.to_frame()[["name", "checkpoints", "size_gb.value", "interval_s.value"]]',
    ),
}
"""By name: texts, which begin with a capital letter or a mark, and code, which does not."""


def notebook(parts: Sequence[str]) -> str:
    """Return the text of a notebook, without outputs."""
    cells: list[dict[str, object]] = []
    for place, source in enumerate(parts):
        kind: dict[str, object] = {"cell_type": "markdown", "metadata": {}}
        if source[0].islower() or source[0] == "[":
            kind = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
        cells.append(kind | {"id": f"cell-{place}", "source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, parts in NOTEBOOKS.items():
        (FOLDER / f"{name}.ipynb").write_text(notebook(parts), "utf-8")

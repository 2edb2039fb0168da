"""The plain way: one MILP in PuLP, solved by CBC. It does less than planner does.

It reads the same problem and catalogs, maximises peak PFLOP/s under the same power, space and cost
budgets, and sizes storage for one fixed interval and the restore limit: the linear part only. No
goodput, no choice of interval, no certificate, no check of the input. With a second argument it
writes the items bought and their prices to that workbook, by openpyxl.

    python benchmarks/baseline.py problems/10MW.yaml [BILL.xlsx]
"""

from __future__ import annotations

import sys
from math import floor
from pathlib import Path

import openpyxl
import pulp
import yaml

ROOT = Path(__file__).resolve().parent.parent
UNITS = {
    "kW": 1,
    "MW": 1e3,
    "W": 1e-3,
    "GB/s": 1,
    "TB": 1,
    "TFLOP/s": 1,
    "RU": 1,
    "USD": 1,
    "MUSD": 1e6,
    "s": 1,
    "min": 60,
    "T": 1e12,
}
BYTES_PER_PARAMETER = 14


def value(text: object) -> float:
    """Return the number of '10 MW' in the unit this script works with."""
    if isinstance(text, (int, float)):
        return float(text)
    number, _, unit = str(text).partition(" ")
    return float(number) * UNITS[unit]


def figure(item: dict, group: str, name: str) -> float | None:
    """Return a catalog figure, or None."""
    entry = item.get(group, {}).get(name)
    return None if entry is None else value(entry["value"])


def listed_usd(item: dict, book: dict) -> float | None:
    """Return an item's list price, or what its parts come to at the book's rates; None without."""
    price = book["prices"].get(item["id"])
    if price is None or "list" in price:
        return price and value(price["list"])
    raw_tb = sum(value(drives["raw"]) for drives in item.get("media", ()))
    tb = {"raw_tb": raw_tb, "usable_tb": figure(item, "provides", "usable") or 0.0}
    rates = [(book["rates"][part["rate"]], part.get("count", 1)) for part in price["parts"]]
    return sum(count * value(rate["usd"]) * tb.get(rate.get("per"), 1) for rate, count in rates)


def load(path: Path) -> dict:
    """Return a YAML file."""
    with path.open() as stream:
        return yaml.load(stream, Loader=yaml.CSafeLoader)


def write_bill(bought: list[tuple[str, int, float]], path: Path) -> None:
    """Write a bill: a line for each item, its price, and the sum."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Item", "Count", "List price, USD", "Sum, USD"])
    for row, line in enumerate(bought, start=2):
        sheet.append([*line, f"=B{row}*C{row}"])
    sheet.append(["Sum", None, None, f"=SUM(D2:D{len(bought) + 1})"])
    book.save(path)


def main() -> None:
    """Solve and print; write the bill where one is asked for."""
    problem = load(Path(sys.argv[1]))
    book = load(ROOT / "catalogs/prices/estimates_2026.yaml")
    items, prices = [], {}
    for name in problem["catalogs"]:
        items += load(ROOT / "catalogs" / f"{name}.yaml")["items"]
    site, job = problem["site"], problem["jobs"][0]
    power = value(site["facility_power"]) / float(site["pue"])
    height, rack_kw = value(site["rack"]["height"]), value(site["rack"]["power"])
    size_gb = value(job["parameters"]) * BYTES_PER_PARAMETER / 1e9
    model = pulp.LpProblem("plain", pulp.LpMaximize)
    flops, kw, usd, racks, read, write = [], [], [], [], [], []
    for item in items:
        draw, units = (figure(item, "consumes", name) for name in ("it_power", "rack_units"))
        price = prices[item["id"]] = listed_usd(item, book)
        if price is None or draw is None or units is None:
            continue
        count = model.add_variable(item["id"], 0, None, pulp.LpInteger)
        if item["category"] == "gpu_system":
            rate = figure(item, "gpu", "bf16_dense")
            flops.append(figure(item, "provides", "gpus") * rate / 1000 * count)
        elif figure(item, "provides", "read") is None:
            continue
        else:
            read.append(0.8 * figure(item, "provides", "read") * count)
            write.append(0.8 * figure(item, "provides", "write") * count)
        per_rack = max(1, floor(min(height / units, rack_kw / draw)))
        rack = model.add_variable(f"racks_{item['id']}", 0, None, pulp.LpInteger)
        model += per_rack * rack >= count
        racks.append(rack)
        kw.append(draw * count)
        usd.append(price / 1e6 * count)
    model += pulp.lpSum(flops)
    model += pulp.lpSum(kw) <= power
    model += pulp.lpSum(racks) <= site["racks"]
    model += pulp.lpSum(usd) <= value(problem["budget"]["capex"]) / 1e6
    model += pulp.lpSum(write) >= size_gb / (0.10 * 1800)
    model += pulp.lpSum(read) >= size_gb / 300
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False, gapRel=1e-6))
    if pulp.LpStatus[model.status] != "Optimal":
        raise SystemExit(f"the plain model is {pulp.LpStatus[model.status]}")
    print(pulp.value(model.objective))
    bought = [
        (variable.name, round(variable.varValue), prices[variable.name])
        for variable in model.variables()
        if variable.varValue and not variable.name.startswith("racks_")
    ]
    for name, count, _ in bought:
        print(name, count)
    if len(sys.argv) > 2:
        write_bill(bought, Path(sys.argv[2]))


if __name__ == "__main__":
    main()

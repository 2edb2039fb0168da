"""Solve the main job with a price list of near-clones beside the shipped products.

    python benchmarks/clones.py [--counts 0,100,1000,10000] [--kind price] [--whole]

Each clone is a product that the problem considers under another id, from its own vendor: at another
price (``price``), or with other power, bandwidth and capacity as well, each a few percent off
(``figures``). ``--whole`` writes every clone out in full, as an export of a price list has it,
instead of by ``extends``. Prints CPU seconds and peak memory of whole processes, and those of each
step in one process with ``--steps``. ``benchmarks/README.md`` holds the last results.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = ROOT / "problems" / "10MW.yaml"
PLANNER = str(Path(sys.executable).parent / "planner")


def write(folder: Path, count: int, kind: str, *, whole: bool, seed: int = 7) -> Path:
    """Write the problem with a catalog and a price book of clones; return its path."""
    from planner.case import resolve
    from planner.loader import load

    inputs = load(PROBLEM)
    case = resolve(inputs)
    draw = random.Random(seed)
    raw = {
        item["id"]: item
        for path in (ROOT / "catalogs").glob("*.yaml")
        for item in yaml.safe_load(path.read_text()).get("items", ())
    }
    parents = [offer.id for offer in (*case.systems, *case.storage)]
    items: list[dict[str, Any]] = []
    prices: dict[str, Any] = {}
    sources: set[str] = set()
    for number in range(count):
        parent = parents[number % len(parents)]
        clone: dict[str, Any] = {"id": f"clone_{number:05}", "extends": parent}
        if whole and "extends" not in raw[parent]:
            clone = {**raw[parent], "id": clone["id"]}
        if kind == "figures":
            _move(clone, inputs.item(parent), raw[parent], draw)
        items.append(clone)
        price = inputs.prices[parent]
        usd = round(price.list_usd * draw.uniform(0.97, 1.1), 2)
        known: dict[str, Any] = {"list": f"{usd} USD", "date": "2026-11", "confidence": "low"}
        prices[clone["id"]] = {**known, "source": "list", "support_per_year": "8 %"}
        prices[clone["id"]] |= {"support_source": "list", "support_confidence": "low"}
    for item in items:
        sources |= _cited(item)
    catalog = {"catalog": "Clones", "sources": {name: {"title": name} for name in sorted(sources)}}
    listed = _sources_of(sources)
    (folder / "clones.yaml").write_text(
        yaml.dump({**catalog, "sources": listed, "items": items}, Dumper=yaml.CDumper, width=200)
    )
    book = {"price_book": "Clones", "currency": "USD"}
    (folder / "prices.yaml").write_text(
        yaml.dump(
            {**book, "sources": {"list": {"title": "a list", "date": "2026-11"}}, "prices": prices},
            Dumper=yaml.CDumper,
        )
    )
    problem = yaml.safe_load(PROBLEM.read_text())
    problem["catalogs"].append("./clones.yaml")
    problem["prices"] = ["estimates_2026", "./prices.yaml"]
    problem["consider"]["gpu_systems"] += [i["id"] for i in items if _is_system(i, raw)]
    path = folder / "problem.yaml"
    path.write_text(yaml.dump(problem, sort_keys=False))
    return path


def _is_system(item: dict[str, Any], raw: dict[str, Any]) -> bool:
    parent = item.get("extends")
    return _is_system(raw[parent], raw) if parent else item.get("category") == "gpu_system"


def _move(clone: dict[str, Any], item: Any, own: dict[str, Any], draw: random.Random) -> None:
    """Give a clone other figures, a few percent off its parent's."""
    for group, names in (("consumes", ("it_power",)), ("provides", ("read", "write", "usable"))):
        for name in names:
            figure = getattr(getattr(item, group), name)
            stated = own.get(group, {}).get(name)
            if figure is None or stated is None:
                continue
            unit = {"it_power": "kW", "usable": "TB"}.get(name, "GB/s")
            value = f"{figure.value * draw.uniform(0.97, 1.03):.4f} {unit}"
            clone[group] = {**clone.get(group, {}), name: {**stated, "value": value}}


def _cited(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["source"]} if isinstance(value.get("source"), str) else set()
        return own.union(*(_cited(part) for part in value.values()))
    return set().union(*(_cited(part) for part in value)) if isinstance(value, list) else set()


def _sources_of(names: set[str]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for path in (ROOT / "catalogs").glob("*.yaml"):
        known |= yaml.safe_load(path.read_text()).get("sources", {})
    return {name: known[name] for name in sorted(names)}


def steps(path: Path) -> None:
    """Print the CPU seconds of each step of a solve, and what is left of the offers."""
    from planner.case import resolve
    from planner.loader import load
    from planner.optimizer import optimise
    from planner.plan import assemble
    from planner.verifier import verify

    clock, said = time.process_time(), []

    def lap(name: str) -> None:
        nonlocal clock
        now = time.process_time()
        said.append(f"{name} {now - clock:.2f}")
        clock = now

    inputs = load(path)
    lap("load")
    case = resolve(inputs)
    lap("resolve")
    answer = optimise(case)
    lap("optimise")
    plan = assemble(inputs, case, answer, solver="highs", gap=2e-6)
    lap("assemble")
    verify(inputs, plan)
    lap("verify")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert answer.operation is not None
    bought = {name: count for name, count in answer.operation.units.items() if count}
    print(", ".join(said), f"{peak:.0f} MB", bought, answer.value, answer.bound, answer.iterations)


def main() -> None:
    """Measure and print a line for each number of clones."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--counts", default="0,100,1000,10000")
    parser.add_argument("--kind", choices=("price", "figures"), default="price")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--steps", action="store_true")
    asked = parser.parse_args()
    for count in map(int, asked.counts.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder), count, asked.kind, whole=asked.whole)
            if asked.steps:
                steps(path)
                continue
            command = [PLANNER, "solve", str(path), "-o", folder]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            seconds, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
            print(f"{count:6} clones {seconds:7.1f} CPU s {peak:6.0f} MB, ended {status}")


if __name__ == "__main__":
    main()

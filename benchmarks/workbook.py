"""Write the workbook of a plan with many lines; print CPU seconds and the memory added.

    python benchmarks/workbook.py [--lines 10000] [--audience internal]

The plan is that of the main job, its lines repeated under other ids as services and accessories.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from datetime import datetime
from pathlib import Path

from planner.api import Options, solve_with
from planner.inputs import inputs_to_text
from planner.loader import load
from planner.workbook import write

PROBLEM = Path(__file__).resolve().parent.parent / "problems" / "10MW.yaml"


def peak_mb() -> float:
    """The most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--audience", default="internal")
    asked = parser.parse_args()
    inputs = load(PROBLEM)
    plan = solve_with(inputs, Options())
    own = [line for line in plan.lines if line.parent is None]
    more = []
    for number in range(asked.lines - len(plan.lines)):
        line = own[number % len(own)]
        changes = {"sku": f"{line.sku}_{number}"}
        if line.section in ("Compute", "Storage"):
            changes |= {"section": "Services", "working": 0}
        more.append(line.model_copy(update=changes))
    plan = plan.model_copy(update={"lines": (*plan.lines, *more)})
    text = inputs_to_text(inputs) if asked.audience == "internal" else None
    before, begun = peak_mb(), time.process_time()
    with tempfile.TemporaryFile() as stream:
        write(plan, stream, created=datetime(2026, 1, 1), audience=asked.audience, inputs=text)
        size = stream.tell() / 1e6
    seconds, added = time.process_time() - begun, peak_mb() - before
    print(f"{seconds:.1f} CPU s, {added:.0f} MB beside {before:.0f}, a file of {size:.1f} MB")


if __name__ == "__main__":
    main()

"""Each command once, as a user runs it: exit codes, JSON on standard output, files.

Standard library only, so that any installation can be tried: `.ci/smoke .venv`.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUOTE = """\
Part number,Description,Quantity,Unit price USD
AI400X2,DDN AI400X2 250 TB,2,300000
"""
COMMANDS = """
0 --version
0 --help
0 init gpt3_octet
0 init name=mine power='1 MW' racks=20 rack-power='40 kW' model='70 B'
0 check --schema problem
0 catalog --json
0 catalog ddn_ai400x2 --json
0 catalog --check --json
0 check gpt3_octet.yaml --json
0 size gpt3_octet.yaml --json
0 solve gpt3_octet.yaml --also bill.csv,bill.json,cables,netbox --html
0 solve gpt3_octet.yaml --json
0 solve gpt3_octet.yaml --json --solver cbc -o cbc
0 solve gpt3_octet.yaml --json --set 'policy={require_vendors: [DDN]}' -o vendor
3 solve gpt3_octet.yaml --json --set 'budget.capex=1 kUSD'
0 solve gpt3_octet.yaml --audience customer
0 verify gpt3_octet.plan.json --json
0 verify gpt3_octet.xlsx --json
0 explain gpt3_octet.yaml --json
0 compare gpt3_octet.yaml --near '1 %' --json
0 compare gpt3_octet.yaml --rules --json
0 compare gpt3_octet.plan.json cbc/gpt3_octet.plan.json --json
0 sweep gpt3_octet.yaml --vary site.pue=1.1,1.2 --workers 2 --json
0 sweep gpt3_octet.yaml --mode frontier --against storage --points 3 --json
0 sweep gpt3_octet.yaml --mode tornado --vary site.pue=1.1:1.2 --json
0 sweep gpt3_octet.yaml --mode uncertain --samples 4 --json
0 quote rfq gpt3_octet.yaml
0 explore --help
0 quote import quote.csv --vendor DDN --date 2026-11-01 --json
0 quote bid gpt3_octet.yaml quote.quote.json --json
0 characterize gpt3_octet.trace.csv --problem gpt3_octet.yaml -o . --json
0 simulate gpt3_octet.plan.json --replications 10 -o . --json
""".strip().splitlines()
"""Exit code and arguments; later commands read files of earlier ones."""
WRITTEN = """
mine.yaml
gpt3_octet.xlsx
gpt3_octet.plan.json
gpt3_octet.bill.csv
gpt3_octet.customer.xlsx
gpt3_octet.sweep.parquet
gpt3_octet.sweep.xlsx
gpt3_octet.rfq.xlsx
gpt3_octet.simulation.json
gpt3_octet.html
gpt3_octet.sweep.html
""".strip().splitlines()
FOREIGN = ("HiGHS (", "Copyright", "Traceback", "Warning:")
"""Words that libraries print, and no planner command."""


def run(planner: str, folder: Path, code: int, command: str) -> list[str]:
    """Return what is wrong with how a command ended."""
    ended = subprocess.run(
        [*shlex.split(planner), *shlex.split(command)],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    printed = ended.stdout + ended.stderr
    wrong = [f"{word!r} is printed" for word in FOREIGN if word in printed]
    if ended.returncode != code:
        wrong.append(f"exit code {ended.returncode}, not {code}: {ended.stderr[-600:]}")
    if "--json" in command:
        try:
            json.loads(ended.stdout)
        except ValueError as error:
            wrong.append(f"standard output is no JSON ({error}): {ended.stdout[:200]!r}")
    return wrong


def smoke(planner: str) -> list[str]:
    """Run all commands in one new folder; return what is wrong."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="smoke-") as name:
        folder = Path(name)
        (folder / "quote.csv").write_text(QUOTE)
        trace = Path(__file__).parent / "world" / "traces.py"
        subprocess.run([sys.executable, trace, folder / "gpt3_octet.trace.csv"], check=True)
        for line in COMMANDS:
            code, _, command = line.partition(" ")
            begun = time.monotonic()
            found = run(planner, folder, int(code), command)
            print(f"{time.monotonic() - begun:5.1f} s  planner {command}", flush=True)
            wrong += [f"planner {command}: {fault}" for fault in found]
        wrong += [f"{file} was not written" for file in WRITTEN if not (folder / file).exists()]
    return wrong


if __name__ == "__main__":
    faults = smoke(sys.argv[1])
    print("\n".join(faults) or f"{len(COMMANDS)} commands are as they should be")
    sys.exit(1 if faults else 0)

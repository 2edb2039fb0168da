"""Put the screen of the main example into ``README.md``: ``python scripts/make_screen.py``."""

from __future__ import annotations

import os
import re
from pathlib import Path

import planner
from planner.report import plan as plan_view

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- screen -->\n```text\n).*?(```\n<!-- /screen -->)", re.DOTALL)


def screen() -> str:
    """Return what ``planner solve problems/10MW.yaml`` prints in the project's folder."""
    before = Path.cwd()
    os.chdir(ROOT)  # places are shown relative to the folder one stands in
    try:
        return plan_view.render(planner.solve(Path("problems/10MW.yaml")))
    finally:
        os.chdir(before)


def shown() -> str:
    """Return the screen that the README shows."""
    found = BLOCK.search(README.read_text("utf-8"))
    assert found is not None, "README.md has lost its screen block"
    return found[0].removeprefix(found[1]).removesuffix(found[2])


if __name__ == "__main__":
    text = README.read_text("utf-8")
    README.write_text(BLOCK.sub(lambda m: m[1] + screen() + m[2], text), encoding="utf-8")
    print(f"wrote the screen into {README}")

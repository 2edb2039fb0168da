"""A report in a real browser: drawn without an error, wide and narrow, and it answers the mouse."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.report.charts import samples
from tests.report.charts.samples import report
from tests.world.shown import CASES, plan

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1400,2000", "--virtual-time-budget=20000",
)  # fmt: skip

# Runs only here: counts drawings and their tooltips, then makes the page narrow.


# What axe finds.
AXE = """
(() => {
  const tell = (found) => {
    const out = document.createElement("pre");
    out.id = "probe";
    out.textContent = JSON.stringify(found);
    document.body.append(out);
  };
    axe.run().then((found) => tell({
      dark: matchMedia("(prefers-color-scheme: dark)").matches,
      passed: found.passes.map((each) => each.id),
      broken: found.violations.map((each) => [
        each.impact, each.id, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)),
      ]),
    }), (error) => tell({ error: String(error) }));
})();
"""


def probed(page: str, script: str) -> str:
    """Return a report with a probe, which its policy then allows."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = page.replace(
        "default-src 'none';", f"default-src 'none'; script-src 'sha256-{digest}';", 1
    )
    return allowed.replace("</body>", f"<script>{script}</script></body>")


@pytest.mark.exhaustive(keep=0)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_axe_finds_nothing_serious(tmp_path: Path, width: int, dark: bool) -> None:
    """A plan and every study: contrast, names, headings, tables, what keys reach."""
    if BROWSER is None or importlib.util.find_spec("axe_core_python") is None:
        assert not os.environ.get("CI"), "chromium and the extra 'dev' must be installed"
        pytest.skip("chromium or axe-core-python is not installed")
    axe = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    page = probed(report("Report", plan(CASES["complete"]), samples.all_kinds()), axe + AXE)
    file = tmp_path / "report.html"
    file.write_text(page, "utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    found = _seen(file, tmp_path, scheme, f"--window-size={width},2000")
    assert "error" not in found
    assert found["dark"] == dark
    reached = {"scrollable-region-focusable"} if width < 1000 else set()
    assert {"color-contrast", "heading-order", *reached} <= {*found["passed"]}
    assert [each for each in found["broken"] if each[0] in ("serious", "critical")] == []


def _seen(file: Path, folder: Path, *flags: str) -> Any:
    assert BROWSER is not None
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [BROWSER, *FLAGS, *flags, profile, "--dump-dom", file.as_uri()],
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
    assert found is not None, done.stderr.decode()[-2000:]
    return json.loads(unescape(found[1]))

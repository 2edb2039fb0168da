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
PROBE = """
(() => {
  const measured = () => [...document.querySelectorAll(".plot")].map((plot) => ({
    room: plot.clientWidth, width: plot.querySelector("svg").getBoundingClientRect().width,
    hovers: [...plot.querySelectorAll("title")].map((each) => each.textContent),
  }));
  const found = { wide: measured() };
  document.body.style.width = "400px";
  setTimeout(() => {
    found.narrow = measured();
    found.page = document.querySelector("main").scrollWidth;
    const out = document.createElement("pre");
    out.id = "probe";
    out.textContent = JSON.stringify(found);
    document.body.append(out);
  }, 500);
})();
"""


# What axe finds. It adds styles of its own while it looks.
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


def probed(page: str, script: str = PROBE) -> str:
    """Return a report with a probe, which its policy then allows."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = page.replace(
        "default-src 'none';", f"default-src 'none'; script-src 'sha256-{digest}';", 1
    )
    return allowed.replace("</body>", f"<script>{script}</script></body>")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what the probe saw."""
    if BROWSER is None and not os.environ.get("CI"):
        pytest.skip("chromium is not installed")
    assert BROWSER is not None, "chromium must be installed where CI is set"
    folder = tmp_path_factory.mktemp("browser")
    file = folder / "report.html"
    studies = [*samples.all_kinds(), *samples.hostile()[:2]]
    file.write_text(probed(report("Report", plan(CASES["complete"]), studies)), "utf-8")
    return _seen(file, folder)


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


def test_every_chart_is_drawn_with_its_values_as_tooltips(seen: Any) -> None:
    assert len(seen["wide"]) == 7
    hovers = seen["wide"][0]["hovers"]
    assert any("34 × nvidia_gb200_nvl72" in each and "gap 0.05 %" in each for each in hovers)


def test_names_are_shown_as_they_are(seen: Any) -> None:
    texts = [text for plot in seen["wide"] for text in plot["hovers"]]
    assert any('<b>"R&D"</b> </script>' in text for text in texts)


def test_charts_keep_to_the_room_they_have(seen: Any) -> None:
    for plot in seen["wide"]:
        assert plot["width"] <= plot["room"] + 1
    assert {plot["room"] for plot in seen["narrow"]} == {352}  # 400 less the page's edges
    assert seen["page"] <= 400

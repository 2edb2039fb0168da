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

from planner.outputs.charts.html import ShownPlan, report
from tests.outputs.charts import samples
from tests.world.gear_plans import plan
from tests.world.setups import CASES

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1400,2000", "--virtual-time-budget=20000",
)  # fmt: skip

# Runs only here: points at a thing of every layer, goes over all things by the arrow keys, then
# makes the page narrow.
PROBE = """
(() => {
  const root = document.documentElement;
  const page = JSON.parse(document.getElementById("charts").textContent);
  const plots = () => [...document.querySelectorAll(".plot")];
  const drawn = (plot) => [...plot.querySelectorAll(":scope > svg")]
    .filter((each) => each.getBoundingClientRect().width);
  const tip = (plot) => {
    const found = plot.querySelector(".tip");
    return found.hidden ? "" : found.textContent;
  };
  const pointed = (plot, number) => {
    const [kind, layers] = Object.entries(page.figures[number].drawings)[0];
    const room = plot.querySelector("." + kind).getBoundingClientRect();
    return layers.map((layer) => {
      const [left, top, right = left, bottom = top] = layer.places[0];
      const clientX = room.left + (left + right) / 2 * room.width;
      const clientY = room.top + (top + bottom) / 2 * room.height;
      plot.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY }));
      return tip(plot);
    });
  };
  const pressed = (plot) => {
    const press = (key) => plot.dispatchEvent(new KeyboardEvent("keydown", { key }));
    const texts = [];
    press("Home");
    for (let more = 0; more < 3000; more += 1) {
      texts.push(tip(plot));
      press("ArrowRight");
    }
    press("Escape");
    return { texts: [...new Set(texts)].sort(), after: tip(plot), focus: plot.tabIndex };
  };
  const known = (number) => [...new Set(
    Object.values(page.figures[number].drawings)[0].flatMap((layer) => page.hovers[layer.hovers]),
  )].sort();
  const inside = (plot) => {
    const room = plot.getBoundingClientRect();
    plot.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
    const box = plot.querySelector(".tip").getBoundingClientRect();
    return box.width > 0 && box.left >= room.left - 1 && box.right <= room.right + 1;
  };
  const measured = () => plots().map((plot) => ({
    room: plot.clientWidth, width: drawn(plot)[0].getBoundingClientRect().width,
    drawings: drawn(plot).length, inside: inside(plot),
  }));
  const tell = () => {
    if (!root.hasAttribute("data-charts")) { setTimeout(tell, 20); return; }
    const found = { state: root.getAttribute("data-charts"), wide: measured() };
    found.hovers = plots().map(pointed);
    found.pressed = plots().map(pressed);
    found.known = plots().map((_, number) => known(number));
    document.body.style.width = "400px";
    setTimeout(() => {
      found.narrow = measured();
      found.page = document.querySelector("main").scrollWidth;
      found.after = root.getAttribute("data-charts");
      const out = document.createElement("pre");
      out.id = "probe";
      out.textContent = JSON.stringify(found);
      document.body.append(out);
    }, 1000);
  };
  tell();
})();
"""


# What axe finds, once the charts are drawn. It adds styles of its own while it looks.
AXE = """
(() => {
  const tell = (found) => {
    const out = document.createElement("pre");
    out.id = "probe";
    out.textContent = JSON.stringify(found);
    document.body.append(out);
  };
  const look = () => {
    if (!document.documentElement.hasAttribute("data-charts")) { setTimeout(look, 20); return; }
    axe.run().then((found) => tell({
      dark: matchMedia("(prefers-color-scheme: dark)").matches,
      passed: found.passes.map((each) => each.id),
      broken: found.violations.map((each) => [
        each.impact, each.id, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)),
      ]),
    }), (error) => tell({ error: String(error) }));
  };
  look();
})();
"""


def probed(page: str, script: str = PROBE) -> str:
    """Return a report with a probe, which its policy then allows."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
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
    file.write_text(
        probed(report("Report", [ShownPlan("hall", plan(CASES["complete"]))], studies)), "utf-8"
    )
    return _seen(file, folder)


@pytest.mark.exhaustive(keep=0)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_axe_finds_nothing_serious(tmp_path: Path, width: int, dark: bool) -> None:
    """Plans side by side and every study: contrast, names, headings, tables, what keys reach."""
    if BROWSER is None or importlib.util.find_spec("axe_core_python") is None:
        assert not os.environ.get("CI"), "chromium and the extra 'dev' must be installed"
        pytest.skip("chromium or axe-core-python is not installed")
    axe = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    plans = [ShownPlan(name, plan(CASES[name])) for name in ("complete", "minimal")]
    page = probed(report("Report", plans, samples.all_kinds()), axe + AXE)
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


@pytest.mark.exhaustive(keep=0)
def test_every_chart_is_drawn_without_an_error(seen: Any) -> None:
    assert seen["state"] == seen["after"] == f"drawn {len(seen['wide'])}"
    assert len(seen["wide"]) == 1 + 4 + 19


def test_every_chart_answers_the_mouse(seen: Any) -> None:
    assert all(hovers and all(hovers) for hovers in seen["hovers"])
    curve = seen["hovers"][0]
    said = curve[0]
    assert "34 × nvidia_gb200_nvl72" in said and "gap 0.05 %" in said


def test_the_arrow_keys_come_to_every_value(seen: Any) -> None:
    for pressed, known in zip(seen["pressed"], seen["known"], strict=True):
        assert pressed["texts"] == known and pressed["after"] == "" and pressed["focus"] == 0


def test_names_are_shown_as_they_are(seen: Any) -> None:
    texts = [text for hovers in seen["hovers"] for text in hovers]
    assert any('<b>"R&D"</b> </script>' in text for text in texts)


def test_charts_keep_to_the_room_they_have(seen: Any) -> None:
    for plot in (*seen["wide"], *seen["narrow"]):
        assert plot["width"] <= plot["room"] + 1
        assert plot["drawings"] == 1 and plot["inside"]
    assert {plot["room"] for plot in seen["narrow"]} == {352}  # 400 less the page's edges
    assert seen["page"] <= 400

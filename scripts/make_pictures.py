"""Draw pictures from real plans of the 10 MW example: ``python scripts/make_pictures.py``.

``goldilocks.svg``: one GPU system (DGX GB300 NVL72) and one appliance (DDN AI400X2); the number of
appliances is fixed, the planner decides everything else.
``frontier_storage.png``: work against write bandwidth, as ``sweep --mode frontier`` draws it.
``quote_sheet.png``: the workbook, if LibreOffice and poppler are installed.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from datetime import datetime
from pathlib import Path

import planner
from planner import workbook

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "goldilocks.svg"
FRONTIER = PICTURE.with_name("frontier_storage.png")
SHEET = PICTURE.with_name("quote_sheet.png")
OTHERS = "ddn_ai400x2_500tb: {exclude: true}, ddn_ai400x2_turbo: {exclude: true}"
ONLY = (
    "consider.gpu_systems=[nvidia_gb300_nvl72]",
    "consider.storage_families=[ddn_exascaler]",
)
COUNTS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160, 200)
RULES = ("light", "medium", "high")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 430, 78, 30, 64, 58
BLUE, RED, GREY, INK = "#1f5fa8", "#b3372c", "#8a8f98", "#22262b"


def useful_gpus(*settings: str) -> tuple[int, float]:
    """Return (appliances, useful GPUs) of the best plan under extra settings."""
    plan = planner.solve(ROOT / "problems" / "10MW.yaml", settings=(*ONLY, *settings))
    assert plan.status == "optimal", plan.message
    count = sum(line.quantity for line in plan.lines if line.sku == "ddn_ai400x2")
    return count, plan.jobs[0].useful_gpus


def measured() -> tuple[list[tuple[int, float]], tuple[int, float], dict[str, tuple[int, float]]]:
    """Return the curve, its best point and the plan of each vendor rule."""
    last = "objective.indifference=0"  # to the last digit, whatever it costs
    curve = [useful_gpus(f"items={{{OTHERS}, ddn_ai400x2: {{fixed: {n}}}}}", last) for n in COUNTS]
    free = f"items={{{OTHERS}}}"
    rules = {name: useful_gpus(free, f"storage.rule={name}") for name in RULES}
    return curve, useful_gpus(free), rules


class Chart:
    """A picture with a logarithmic axis across and a linear one up."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.parts: list[str] = []

    def x(self, count: float) -> float:
        """Return the position across of a number of appliances."""
        low = COUNTS[0] * 0.9
        share = math.log(count / low) / math.log(COUNTS[-1] * 1.15 / low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, gpus: float) -> float:
        """Return the position down of a number of useful GPUs."""
        share = (gpus - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def line(self, points: list[tuple[float, float]], colour: str, width: float) -> None:
        """Draw a line through positions."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )

    def dot(self, count: float, gpus: float, colour: str, radius: float) -> None:
        """Draw a dot at a plan."""
        x, y = self.x(count), self.y(gpus)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')

    def text(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = INK,
        size: int = 13,
        anchor: str = "start",
        weight: str = "normal",
    ) -> None:
        """Write words at a position."""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" '
            f'text-anchor="{anchor}" font-weight="{weight}">{words}</text>'
        )

    def svg(self) -> str:
        """Return the picture."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
        )
        return "\n".join([head, *self.parts, "</svg>"]) + "\n"


def _axes(chart: Chart) -> None:
    for gpus in range(math.ceil(chart.low / 50) * 50, int(chart.high) + 1, 50):
        y = chart.y(gpus)
        chart.line([(LEFT, y), (WIDTH - RIGHT, y)], "#e6e8eb", 1)
        chart.text(LEFT - 8, y + 4, f"{gpus:,}", GREY, 12, "end")
    for count in (2, 5, 10, 20, 50, 100, 200):
        chart.text(chart.x(count), HEIGHT - BOTTOM + 20, str(count), GREY, 12, "middle")
    middle = (LEFT + WIDTH - RIGHT) / 2
    chart.text(middle, HEIGHT - 14, "AI400X2 appliances (65 GB/s write each)", INK, 13, "middle")
    chart.text(LEFT - 62, 50, "useful GPUs", INK, 13)


def draw() -> str:
    """Return the picture of the measured plans."""
    curve, best, rules = measured()
    top = max(gpus for _, gpus in curve)
    chart = Chart(min(gpus for _, gpus in [*curve, *rules.values()]) - 20, top + 45)
    title = "Too little storage wastes GPUs, too much leaves no power for them"
    chart.text(LEFT - 62, 26, title, INK, 17, weight="bold")
    _axes(chart)
    chart.line([(chart.x(n), chart.y(gpus)) for n, gpus in curve], BLUE, 2.5)
    for count, gpus in curve:
        chart.dot(count, gpus, BLUE, 3)
    chart.dot(*best, BLUE, 7)
    label = f"planner: {best[0]} appliances, {best[1]:,.0f} useful GPUs, within 0.5 % of the best"
    chart.text(chart.x(best[0]) - 14, chart.y(top) - 14, label, BLUE, 14, "start", "bold")
    for name, (count, gpus) in rules.items():
        chart.dot(count, gpus, RED, 5)
        text = f"“{name}” rule: {count} appliances, {gpus:,.0f}"
        chart.text(chart.x(count) - 10, chart.y(gpus) + 16, text, RED, 13, "end")
    return chart.svg()


def draw_frontier() -> None:
    """Draw useful work against write bandwidth."""
    problem = str(ROOT / "problems" / "10MW.yaml")
    with tempfile.TemporaryDirectory() as folder:
        sweep = ["planner", "sweep", problem, "--mode", "frontier", "--against", "storage"]
        subprocess.run([*sweep, "-o", folder], check=True, capture_output=True)
        shutil.copyfile(Path(folder) / "10MW.frontier-storage.png", FRONTIER)


def photograph() -> None:
    """Render the sheet Quote and crop it."""
    plan = planner.solve(ROOT / "problems" / "10MW.yaml")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "plan.xlsx").open("wb") as stream:
            workbook.write(plan, stream, created=datetime(2026, 1, 1))
        profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
        office = ["soffice", "--headless", profile, "--convert-to", "pdf", "plan.xlsx"]
        subprocess.run(office, cwd=folder, check=True, capture_output=True)
        page = ["pdftoppm", "-png", "-r", "110", "-f", "1", "-l", "1"]  # the first is the quote
        crop = ["-x", "30", "-y", "40", "-W", "1230", "-H", "820", "-singlefile"]
        subprocess.run([*page, *crop, "plan.pdf", "sheet"], cwd=folder, check=True)
        shutil.copyfile(folder / "sheet.png", SHEET)


def main() -> None:
    """Write the pictures."""
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(), encoding="utf-8")
    draw_frontier()
    print(f"wrote {PICTURE} and {FRONTIER}")
    if shutil.which("soffice") and shutil.which("pdftoppm"):
        photograph()
        print(f"wrote {SHEET}")


if __name__ == "__main__":
    main()

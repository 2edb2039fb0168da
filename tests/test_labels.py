"""Wherever a number is a figure of a plan, it is called as its figure and stands in its unit."""

from __future__ import annotations

import ast
from pathlib import Path

from planner.figures import FIGURES

"""A number of so many digits is that of its figure, and of no other by chance."""

"""Fields whose figures are named after them."""

"""A limit has a name of its own where it compares no figure alone."""

"""What sheets call figures beside their labels: a word, and the figures that it stands for."""


"""Columns after a number in which its unit may stand."""


NO_FIGURES = {
    "GPU systems": "what is bought: a kind of item",
    "rack units": "what a catalog lacks", "Rack Units": "what vendors call it in a quote",
    "useful GPUs": "a unit",
    "Hot spares": "systems of one type",
}  # fmt: skip
"""Texts that are labels of figures, and what they stand for where the product writes them."""


def test_no_label_is_written_twice() -> None:
    """Who shows a figure takes its label, of several words or with a unit, from the table."""
    labels = {text.casefold() for figure in FIGURES.values() if " " in figure.label
              for text in (figure.label, f"{figure.label}, {figure.unit}")}  # fmt: skip
    root, again = Path(__file__).parents[1] / "planner", []
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
                 for part in node.values}  # fmt: skip
        again += [
            (path.relative_to(root).as_posix(), node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and id(node) not in parts and node.value.casefold() in labels
        ]  # fmt: skip
    tables = {"figures.py", "limits.py"}
    assert [each for each in again if each[0] not in tables and each[1] not in NO_FIGURES] == []
    assert NO_FIGURES.keys() <= {text for _, text in again}

"""Measure the style of docstrings and test titles: python scripts/check_words.py [--list].

Counts "what" and words of the project's old private language per 1,000 words of the docstrings in
planner/. Thresholds only ever go down. A title of a test has at most 60 characters.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WHAT = re.compile(r"\bwhat\b", re.IGNORECASE)
PRIVATE = re.compile(
    r"\b(so many|so much|is told|are told|tells? no|stands? (there|in|beside)|given away|"
    r"gives? way|lays? over|comes? to|mend(s|ed)?|is asked of|are asked of)\b",
    re.IGNORECASE,
)
MOST_WHAT = 1
"""Per 1,000 words of docstrings; linopy has 0.4."""
MOST_PRIVATE = 0.3
MOST_OF_TITLE = 60
"""Characters of a test's name after "test_"."""


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every docstring of the package."""
    for path in sorted((ROOT / "planner").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    line = 1 if isinstance(node, ast.Module) else node.lineno
                    yield f"{path.relative_to(ROOT)}:{line}", text


def long_titles() -> Iterator[str]:
    """Yield each test whose title is too long, with its place."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            title = node.name if isinstance(node, ast.FunctionDef) else ""
            if title.startswith("test_") and len(title) - len("test_") > MOST_OF_TITLE:
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {title}"


def main(arguments: list[str]) -> int:
    """Print the measures; return 1 where one is over its threshold."""
    words = 0
    found: Counter[str] = Counter()
    for place, text in docstrings():
        words += len(re.findall(r"\w+", text))
        for name, pattern in (("what", WHAT), ("private", PRIVATE)):
            hits = len(pattern.findall(text))
            found[name] += hits
            if hits and "--list" in arguments:
                print(f"{place}: {hits} x {name}")
    over = False
    for name, most in (("what", MOST_WHAT), ("private", MOST_PRIVATE)):
        rate = 1000.0 * found[name] / words
        over |= rate > most
        print(f"{name}: {rate:.1f} per 1,000 words of docstrings, at most {most:g}")
    titles = list(long_titles())
    print(f"test titles over {MOST_OF_TITLE} characters: {len(titles)}", *titles, sep="\n  ")
    return int(over or bool(titles))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

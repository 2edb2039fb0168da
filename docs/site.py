"""What MkDocs needs to make a site of these pages (``mkdocs.yml``): nothing is written twice.

The pages link to files as the repository has them. README, problems and whatever else lies outside
``docs/`` is brought into the site, and links to it are turned to where it is there.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"README.md": "index.md"}
"""Where a page from outside ``docs/`` is in the site, if it has another name there."""
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Put decisions into the navigation, by number, then history and pages without an entry."""
    parts = {name: below for entry in config.nav for name, below in entry.items()}
    docs = ROOT / "docs"
    parts["Decisions"] += [f"adr/{path.name}" for path in sorted((docs / "adr").glob("[0h]*.md"))]
    named = str(config.nav)
    parts["Reference"] += [x.name for x in sorted(docs.glob("*.md")) if x.name not in named]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Bring in what the pages link to outside ``docs/``, and what is linked from there."""
    waiting = [path for path in (ROOT / "docs").rglob("*.md")] + [ROOT / "README.md"]
    seen: set[Path] = set()
    while waiting:
        page = waiting.pop()
        if page in seen or not page.is_file():
            continue
        seen.add(page)
        place = in_site(page)
        if files.get_file_from_path(place) is None:
            files.append(File.generated(config, place, abs_src_path=str(page)))
        if page.suffix == ".md":
            text = FENCE.sub("", page.read_text("utf-8"))
            links = (found[2] for found in LINK.finditer(text))
            waiting += [(page.parent / x).resolve() for x in links if "://" not in x]
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links to where their targets are in the site."""
    source = Path(page.file.abs_src_path)
    here = posixpath.dirname(page.file.src_uri)

    def turned(found: re.Match[str]) -> str:
        if "://" in found[2]:
            return found[0]
        target = (source.parent / found[2]).resolve()
        if not target.is_relative_to(ROOT):
            return found[0]
        return found[1] + posixpath.relpath(in_site(target), here or ".") + found[3]

    return LINK.sub(turned, markdown)


def in_site(path: Path) -> str:
    """Return the place of a file of the repository in the site, as MkDocs names sources."""
    inside = path.relative_to(ROOT).as_posix()
    return PAGES.get(inside, inside.removeprefix("docs/"))

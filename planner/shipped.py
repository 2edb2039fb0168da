"""What a release ships: its version, catalogs, price books and example problems."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.2.0"
DEFAULT_PRICES = "estimates_2026"


def catalog_files() -> dict[str, Path]:
    """The shipped catalogs by name."""
    return _yaml_files("catalogs")


def price_files() -> dict[str, Path]:
    """The shipped price books by name."""
    return _yaml_files("catalogs/prices")


def problem_files() -> dict[str, Path]:
    """The shipped example problems by name."""
    return _yaml_files("problems")


def portfolio_files() -> dict[str, Path]:
    """The shipped examples of several jobs, sites and periods by name."""
    return _yaml_files("problems/portfolios")


def _yaml_files(folder: str) -> dict[str, Path]:
    package = Path(__file__).resolve().parent
    data = package / "data"  # of a wheel; in a source checkout the project's root
    root = data if data.is_dir() else package.parent
    return {path.stem: path for path in sorted((root / folder).glob("*.yaml"))}

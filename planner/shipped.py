"""Where the shipped catalogs, price books and example problems lie."""

from __future__ import annotations

from pathlib import Path

DEFAULT_PRICES = "estimates_2026"


def _data_folder() -> Path:
    """Return the wheel's data folder, or the project's root in a source checkout."""
    package = Path(__file__).resolve().parent
    data = package / "data"
    return data if data.is_dir() else package.parent


def catalog_files() -> dict[str, Path]:
    """Return the shipped catalogs by name."""
    return _yaml_files(_data_folder() / "catalogs")


def price_files() -> dict[str, Path]:
    """Return the shipped price books by name."""
    return _yaml_files(_data_folder() / "catalogs" / "prices")


def problem_files() -> dict[str, Path]:
    """Return the shipped example problems by name."""
    return _yaml_files(_data_folder() / "problems")


def portfolio_files() -> dict[str, Path]:
    """Return the shipped examples of several jobs, sites and periods by name."""
    return _yaml_files(_data_folder() / "problems" / "portfolios")


def _yaml_files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}

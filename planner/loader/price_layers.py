"""A price laid over that of an earlier book: terms that it does not state stay those below.

Support is one term: its price, its levels and the years in the list price are stated together.
``support_level`` alone chooses among the levels below, ``none`` none of them. A subscription is
kept by a price that is stated; one of parts has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.errors import Finding
from planner.loader.price_building import NoQuantityError, build_price
from planner.schema.catalog import Item, Source
from planner.schema.prices import NO_SUPPORT, Price, Rate, SupportShare

_SUPPORT = (
    "support_per_year", "support_included_years", "support_levels", "support_level",
    "support_source", "support_confidence", "support_low", "support_high",
)  # fmt: skip
_SUBSCRIPTION = ("per_year_usd", "per_year_low_usd", "per_year_high_usd")
_SINGLE = {"lead_time": "lead time", "pack": "pack", "min_order": "minimum order", "stock": "stock"}
_MOST_NAMES = 5


@dataclass(frozen=True)
class Layer:
    """The price of an item in one book, with the sources that it may cite."""

    price: Price
    book: str
    sources: Mapping[str, Source]


@dataclass
class Kept:
    """A price with the terms below it: ``terms`` name each with its text and its book."""

    price: Price
    sources: dict[str, Source]
    terms: dict[str, tuple[str, str]] = field(default_factory=dict)


def merge(layers: Sequence[Layer]) -> Kept:
    """Return the last of several prices of an item with the terms that it leaves to those below."""
    first = layers[0]
    result = Kept(first.price, dict(first.sources))
    below = first
    for layer in layers[1:]:
        origins = {label: book for label, (_, book) in result.terms.items()}
        result = _over(layer, Layer(result.price, below.book, result.sources), origins)
        below = layer
    return result


def _over(layer: Layer, below: Layer, origins: Mapping[str, str]) -> Kept:
    """Return a price over the one below; ``origins`` are the books of the terms kept down there."""
    price, stated = layer.price, layer.price.model_fields_set
    values: dict[str, object] = {}
    sources, terms = dict(layer.sources), {}
    known = below.price
    none = price.support_level == NO_SUPPORT
    if known.levels and not none and not stated & {*_SUPPORT[:3]}:
        values |= {name: getattr(known, name) for name in _SUPPORT if name not in stated}
        values["support_source"] = _cite(sources, known.support_source or known.source, below)
        values["support_confidence"] = known.support_confidence or known.confidence
        terms["support"] = _support_text(known)
    if known.per_year_usd and "per_year_usd" not in stated and not price.parts:
        values |= {name: getattr(known, name) for name in _SUBSCRIPTION if name not in stated}
        terms["subscription"] = f"{known.per_year_usd:,.0f} USD a year"
    for name, label in _SINGLE.items():
        value = getattr(known, name)
        if name not in stated and value != Price.model_fields[name].default:
            values[name] = value
            terms[label] = str(value)
    found = {label: (text, origins.get(label, below.book)) for label, text in terms.items()}
    if found:
        books = ", ".join(dict.fromkeys(f"'{book}'" for _, book in found.values()))
        note = f"{_listed(found)} as in {books}"
        values["note"] = f"{price.note}; {note}" if price.note else note
    return Kept(price.model_copy(update=values), sources, found)


def _support_text(price: Price) -> str:
    if price.support_levels:
        return f"levels {', '.join(price.support_levels)}"
    support, years = price.support_per_year, price.support_included_years
    if isinstance(support, SupportShare):
        text = f"{100.0 * support.share:.6g} % a year"
    else:
        text = f"{0.0 if support is None else support.usd:,.0f} USD a year"
    return f"{text}, {years:g} years included" if years else text


def _cite(sources: dict[str, Source], name: str, below: Layer) -> str | None:
    """Return under which name a source of the book below is cited, which is added."""
    source = below.sources.get(name)
    if source is None:
        return None
    while sources.get(name, source) != source:
        name = f"{name}_below"
    sources[name] = source
    return name


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def unknown_level(kept: Kept) -> str | None:
    """Return what is wrong with a level of support that is none of those below."""
    price = kept.price
    known = {*price.support_levels, NO_SUPPORT, None}
    if not price.support_levels or price.support_level in known:
        return None
    return f"no level '{price.support_level}' of support; known: {', '.join(price.support_levels)}"


def built(
    layer: Layer, item: Item | None, items: Mapping[str, Item] | None, rates: Mapping[str, Rate]
) -> Layer:
    """Return a price below as the sum of its parts; as it is where a part is not known."""
    if not layer.price.parts or item is None or items is None:
        return layer
    try:
        whole = build_price(layer.price, item, items, rates)
    except (KeyError, NoQuantityError):  # nothing of it is paid: it only lends its terms
        return layer
    return Layer(whole, layer.book, layer.sources)


def findings(
    kept: Mapping[str, Kept], books: Mapping[str, str], places: Mapping[str, tuple[str, int | None]]
) -> list[Finding]:
    """Return a warning for each book and set of terms that it leaves to the books below."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for name, one in kept.items():
        terms = tuple((label, book) for label, (_, book) in one.terms.items())
        if terms:
            groups.setdefault((books[name], terms), []).append(name)
    return [_finding(*group, names, kept, places) for group, names in groups.items()]


def _finding(
    book: str,
    terms: tuple[tuple[str, str], ...],
    names: list[str],
    kept: Mapping[str, Kept],
    places: Mapping[str, tuple[str, int | None]],
) -> Finding:
    labels = _listed(label for label, _ in terms)
    below = ", ".join(dict.fromkeys(f"'{other}'" for _, other in terms))
    shown = [f"{name} ({_values(kept[name])})" for name in names[:_MOST_NAMES]]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    message = f"'{book}' leaves {labels} to {below} for {', '.join(shown)}{more}"
    none = ", for example support_per_year: none" if "support" in labels else ""
    file, line = places[names[0]]
    return Finding(
        "kept-terms",
        message,
        file,
        line,
        f"prices.{names[0]}",
        f"state what differs{none}",
        "warning",
    )


def _values(kept: Kept) -> str:
    return ", ".join(f"{label} {text}" for label, (text, _) in kept.terms.items())

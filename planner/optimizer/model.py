"""The modelling layer: named rows and concave links, over PuLP, and the curves that links keep.

Only this file and ``cbc.py`` import PuLP; constraint families get everything from here. It is
imported where a model is made: most problems are proven without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol

from planner.sizing.packing import FULL, Packing

# Concave functions of one variable and their tangents.
#
# Every non-linear part of the model is ``low <= f(argument)`` with f one of these and a linear
# argument, so a tangent at any point is a valid linear row.


NEGLIGIBLE = 1e-7
"""Solvers drop coefficients near 1e-9: where the slope is below this, the most that the curve
reaches stands in for the tangent."""


FLAT = 1e-9
"""A surface that ends at 0 is so near its end here that the end itself will do."""


class Curve(Protocol):
    """A concave, differentiable function."""

    def value(self, at: float) -> float:
        """Return f(at)."""

    def slope(self, at: float) -> float:
        """Return f'(at)."""

    def top(self, high: float) -> float:
        """Return at least f(u) for every u up to ``high``."""


@dataclass(frozen=True)
class Log:
    """log(u), u > 0."""

    def value(self, at: float) -> float:
        """Return log(at)."""
        return math.log(at)

    def slope(self, at: float) -> float:
        """Return 1/at."""
        return 1.0 / at

    def top(self, high: float) -> float:
        """Return log(high)."""
        return math.log(high)


@dataclass(frozen=True)
class NegativeExp:
    """-exp(u)."""

    def value(self, at: float) -> float:
        """Return -exp(at)."""
        return -math.exp(at)

    def slope(self, at: float) -> float:
        """Return -exp(at)."""
        return -math.exp(at)

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class LogOneMinusExp:
    """log(1 - exp(shift - u)), u > shift: the share of an interval that is not stalled."""

    shift: float

    def value(self, at: float) -> float:
        """Return log(1 - exp(shift - at))."""
        return math.log(-math.expm1(self.shift - at))

    def slope(self, at: float) -> float:
        """Return the derivative at ``at``."""
        return 1.0 / math.expm1(at - self.shift)

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class LogRework:
    """log(z / (e^z - 1)) with z = exp(u): what work lost to failures leaves of the rest."""

    def value(self, at: float) -> float:
        """Return log(z) - log(e^z - 1)."""
        z = math.exp(at)
        if z < 1e-4:
            return -z / 2.0 - z * z / 24.0
        if z > 700.0:
            return at - z
        return at - math.log(math.expm1(z))

    def slope(self, at: float) -> float:
        """Return 1 - z / (1 - e^-z)."""
        z = math.exp(at)
        return -z / 2.0 - z * z / 12.0 if z < 1e-4 else 1.0 + z / math.expm1(-z)

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class NegativeSoftplus:
    """-log(1 + exp(u)): log of what remains where exp(u) of it comes on top, lost."""

    def value(self, at: float) -> float:
        """Return -log(1 + exp(at))."""
        return -max(at, 0.0) - math.log1p(math.exp(-abs(at)))

    def slope(self, at: float) -> float:
        """Return -exp(at) / (1 + exp(at))."""
        return -1.0 / (1.0 + math.exp(-at)) if at > -700.0 else 0.0

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0


Point = tuple[float, ...]


class Surface(Protocol):
    """A concave, differentiable function of several variables; never above 0 in a ``Sheet``."""

    def nearest(self, at: Point) -> Point:
        """Return a point near by at which a tangent may stand: there f is known to be concave."""

    def value(self, at: Point) -> float:
        """Return f(at)."""

    def slopes(self, at: Point) -> Point:
        """Return the gradient of f at ``at``."""


# Rows and links, over PuLP.


Variable = Any
"""A PuLP variable (PuLP ships no types)."""
Linear = Any
"""A PuLP variable or affine expression."""
Sense = Literal["<=", ">=", "=="]
OVERDRAWN = 2e-9


@cache
def _pulp() -> Any:
    """Return PuLP, which is loaded where the first model is made."""
    import pulp

    return pulp


def total(terms: Iterable[Linear]) -> Linear:
    """Return the sum of linear terms."""
    return _pulp().lpSum(terms)


def combination(pairs: Iterable[tuple[float, Variable]], constant: float = 0.0) -> Linear:
    """Return ``sum(coefficient * variable) + constant``, in one pass."""
    return _pulp().LpAffineExpression([(variable, factor) for factor, variable in pairs], constant)


class Row(NamedTuple):
    """A row under its name, which for a limit is that in ``planner.limits``."""

    name: str
    constraint: Any

    def terms(self) -> tuple[list[tuple[Variable, float]], float, int]:
        """Return (terms, right-hand side, sense as -1, 0 or 1)."""
        row = self.constraint
        return list(row.items()), -row.constant, row.sense


@dataclass
class Link:
    """``low <= curve(argument)``, kept by tangents; ``at`` holds where tangents stand."""

    name: str
    low: Linear
    argument: Linear
    curve: Curve
    domain: tuple[float, float]
    at: list[float] = field(default_factory=list)

    def clamp(self, point: float) -> float:
        """Return the nearest point of the domain."""
        return min(max(point, self.domain[0]), self.domain[1])

    def violation(self, values: dict[str, float]) -> float:
        """Return by how much the values break the link (negative: they do not)."""
        point = self.clamp(evaluate(self.argument, values))
        return evaluate(self.low, values) - self.curve.value(point)

    def tangent_at(self, model: Model, values: Mapping[str, float]) -> Row | None:
        """Add the tangent where the values stand; None where one stands there already."""
        return model.tangent(self, evaluate(self.argument, dict(values)))


class Cuttable(Protocol):
    """A concave relation that tangents keep."""

    def violation(self, values: dict[str, float]) -> float:
        """Return by how much the values break it (negative: they do not)."""

    def tangent_at(self, model: Model, values: Mapping[str, float]) -> Row | None:
        """Add the tangent where the values stand; None where there is none to add."""


@dataclass
class Sheet:
    """``low <= surface(arguments)``, kept by tangent planes; ``at`` holds where they stand."""

    name: str
    low: Linear
    arguments: tuple[Linear, ...]
    surface: Surface
    at: list[Point] = field(default_factory=list)

    def point(self, values: dict[str, float]) -> Point:
        """Return the arguments at the solver's values."""
        return tuple(evaluate(argument, values) for argument in self.arguments)

    def violation(self, values: dict[str, float]) -> float:
        """Return by how much the values pass the tangent plane nearest to them."""
        point = self.point(values)
        near = self.surface.nearest(point)
        slopes = self.surface.slopes(near)
        rise = sum(s * (p - q) for s, p, q in zip(slopes, point, near, strict=True))
        return evaluate(self.low, values) - self.surface.value(near) - rise


@dataclass
class Ratio:
    """``spent <= rate * exp(log)``: money per useful work, which no tangents can hold.

    ``spent <= rate * top * share`` is a row; ``chord`` keeps ``share`` below the chord of
    ``exp(log) / top`` between the bounds of ``log``, which overestimates it: the search splits
    there.
    """

    name: str
    spent: Linear
    rate: float
    work: Linear
    log: Variable
    share: Variable
    chord: Row
    top: float

    @property
    def divided(self) -> Variable:
        """The variable whose bounds the chord is between."""
        return self.log

    @property
    def ends(self) -> tuple[Linear, Linear]:
        """What is least where the variable is, and most where it is most."""
        return self.work, self.log + 0

    def between(self, low: float, high: float) -> tuple[dict[str, float], float]:
        """Return the row of the chord between two bounds: its factors and its right-hand side."""
        bottom, width = math.exp(low - self.top), high - low
        slope = math.exp(high - self.top)
        slope = (slope - bottom) / width if width > 1e-12 else slope
        return {self.share.name: 1.0, self.log.name: -slope}, bottom - slope * low

    def rows(self, ends: Ends) -> Iterator[Change]:
        """Yield the chord as it is in a part of the search."""
        yield self.chord, *self.between(*ends(self.divided))

    def overdrawn(self, values: dict[str, float]) -> float:
        """Return by how much, as a share, the values spend more than their work allows."""
        allowed = self.rate * math.exp(values[self.log.name])
        return evaluate(self.spent, values) / allowed - 1.0

    def width(self, low: float, high: float) -> float:
        """Return how far apart two bounds are, as a logarithm."""
        return high - low


@dataclass
class LogMoney:
    """``log >= log(money)``: the logarithm is concave, so no tangent holds this side of it.

    ``chord`` keeps ``log`` above the chord of the logarithm between the bounds of ``money``, which
    underestimates it: the search splits there. Over a range of log-width d it is too low by at most
    d**2 / 8.
    """

    name: str
    money: Variable
    log: Variable
    chord: Row

    @property
    def divided(self) -> Variable:
        """The variable whose bounds the chord is between."""
        return self.money

    @property
    def ends(self) -> tuple[Linear, Linear]:
        """What is least where the variable is, and most where it is most."""
        return self.money + 0, self.money + 0

    def between(self, low: float, high: float) -> tuple[dict[str, float], float]:
        """Return the row of the chord between two bounds: its factors and its right-hand side."""
        narrow = high - low <= 1e-12 * high
        slope = 1.0 / low if narrow else math.log(high / low) / (high - low)
        return {self.log.name: -1.0, self.money.name: slope}, slope * low - math.log(low)

    def rows(self, ends: Ends) -> Iterator[Change]:
        """Yield the chord as it is in a part of the search."""
        yield self.chord, *self.between(*ends(self.divided))

    def overdrawn(self, values: dict[str, float]) -> float:
        """Return by how much the logarithm of the values is too low."""
        return math.log(values[self.money.name]) - values[self.log.name]

    def width(self, low: float, high: float) -> float:
        """Return how far apart two bounds are, as a logarithm."""
        return math.log(high / low)


Ends = Callable[[Variable], tuple[float, float]]
"""Both ends of a variable in a part of the search."""
Change = tuple[Row, dict[str, float], float]
"""A row with its factors, by variable name, and its right-hand side."""


class Chord(Protocol):
    """What rows keep between two bounds of a variable, and the search splits: they fit better the
    closer these are."""

    name: str

    @property
    def divided(self) -> Variable:
        """The variable whose bounds the row is between."""

    @property
    def ends(self) -> tuple[Linear, Linear]:
        """What is least where the variable is, and most where it is most."""

    def rows(self, ends: Ends) -> Iterator[Change]:
        """Yield the rows as they are in a part of the search."""

    def overdrawn(self, values: dict[str, float]) -> float:
        """Return by how much, as a share, the values go beyond what is true of them."""

    def width(self, low: float, high: float) -> float:
        """Return how far apart two bounds are."""


@dataclass
class Shared:
    """``racks >= least(kinds)``: the least racks that hold so many of each kind, kept by prices.

    ``priced`` holds the prices that have a row.
    """

    name: str
    racks: Variable
    kinds: tuple[Variable, ...]
    packing: Packing
    priced: set[tuple[float, ...]] = field(default_factory=set)


class Model:
    """A mixed-integer linear master problem that grows tangents."""

    def __init__(self, name: str, maximise: bool) -> None:
        self.problem = _pulp().LpProblem(
            name, _pulp().LpMaximize if maximise else _pulp().LpMinimize
        )
        self.variables: list[Variable] = []
        self.rows: list[Row] = []
        self.links: list[Cuttable] = []
        self.sheets: list[Sheet] = []
        self.chords: list[Chord] = []
        self.shared: Shared | None = None
        self.cuts = 0

    def var(
        self, name: str, low: float | None, high: float | None, integer: bool = False
    ) -> Variable:
        """Return a new variable with its bounds (None: unbounded)."""
        category = _pulp().LpInteger if integer else _pulp().LpContinuous
        variable = self.problem.add_variable(name, low, high, category)
        self.variables.append(variable)
        return variable

    def row(self, name: str, left: Linear, sense: Sense, right: float) -> Row:
        """Add and return ``left sense right``."""
        left = left + 0  # a lone variable becomes an expression
        constraint = left <= right if sense == "<=" else left >= right
        if sense == "==":
            constraint = left == right
        self.problem += constraint, name
        row = Row(name, constraint)
        self.rows.append(row)
        return row

    def link(
        self,
        name: str,
        low: Linear,
        argument: Linear,
        curve: Curve,
        domain: tuple[float, float],
        seeds: int = 5,
    ) -> Link:
        """Add ``low <= curve(argument)`` with ``seeds`` first tangents over the domain."""
        link = Link(name, low, argument, curve, domain)
        self.links.append(link)
        for point in _spread(domain, seeds):
            self.tangent(link, point)
        return link

    def sheet(
        self, name: str, low: Linear, arguments: tuple[Linear, ...], surface: Surface,
        seeds: Iterable[Point],
    ) -> Sheet:  # fmt: skip
        """Add ``low <= surface(arguments)`` with first tangent planes at the seeds."""
        sheet = Sheet(name, low, arguments, surface)
        self.sheets.append(sheet)
        for point in seeds:
            self.plane(sheet, point)
        return sheet

    def plane(self, sheet: Sheet, point: Point) -> Row | None:
        """Add the tangent plane of ``sheet`` near ``point``; None where one stands there already,
        or where the surface is 0, its upper end."""
        near = sheet.surface.nearest(point)
        value = sheet.surface.value(near)
        if value > -FLAT or any(_close(near, other) for other in sheet.at):
            return None
        sheet.at.append(near)
        slopes = sheet.surface.slopes(near)
        self.cuts += 1
        scale = 1.0 / max(1.0, *(abs(slope) for slope in slopes))
        pairs = list(zip(slopes, sheet.arguments, near, strict=True))
        left = sheet.low - total(slope * argument for slope, argument, _ in pairs)
        right = value - sum(slope * at for slope, _, at in pairs)
        return self.row(f"{sheet.name}_tangent_{self.cuts}", scale * left, "<=", scale * right)

    def ratio(
        self, name: str, spent: Linear, rate: float, log: Linear, domain: tuple[float, float]
    ) -> Ratio:
        """Add ``spent <= rate * exp(log)`` over a domain of ``log``."""
        low, high = domain
        least = self.var(f"log_{name}", low, high)
        share = self.var(f"share_{name}", 0.0, 1.0)
        self.row(f"log_{name}", least - log, "<=", 0.0)
        self.row(name, spent - rate * math.exp(high) * share, "<=", 0.0)
        chord = self.row(f"chord_{name}", share + 0.0 * least, "<=", 1.0)
        ratio = Ratio(name, spent, rate, log, least, share, chord, high)
        self.chords.append(ratio)
        return ratio

    def log_money(self, name: str, money: Linear, domain: tuple[float, float]) -> Variable:
        """Return a variable for the logarithm of money, held from below over a domain of it."""
        low, high = domain
        spent = self.var(f"money_{name}", low, high)
        log = self.var(f"log_money_{name}", math.log(low), math.log(high))
        self.row(f"money_{name}", spent - money, ">=", 0.0)
        self.row(f"money_{name}_most", spent - money, "<=", low)  # so much where nothing is spent
        chord = self.row(f"chord_log_{name}", spent - log, "<=", high)
        self.chords.append(LogMoney(name, spent, log, chord))
        return log

    def share(
        self, name: str, racks: Variable, kinds: tuple[Variable, ...], packing: Packing
    ) -> None:
        """Add ``racks >= least(kinds)`` with first prices: each side's shares, each kind alone."""
        self.shared = shared = Shared(name, racks, kinds, packing)
        for side in zip(*packing.shares, strict=True):
            self.price(shared, tuple(share / FULL for share in side))
        for kind, fit in enumerate(packing.alone):
            self.price(shared, tuple(1.0 / fit if k == kind else 0.0 for k in range(len(kinds))))

    def price(self, shared: Shared, prices: tuple[float, ...]) -> Row | None:
        """Add the row of prices that no content of a rack passes; None where it stands already."""
        if prices in shared.priced:
            return None
        shared.priced.add(prices)
        worth = combination((-price, k) for price, k in zip(prices, shared.kinds, strict=True))
        name = f"count_{shared.name}_{len(shared.priced)}"
        return self.row(name, worth + shared.racks, ">=", 0.0)

    def tangent(self, link: Link, point: float, nearest: float = 1e-9) -> Row | None:
        """Add the tangent of ``link`` at ``point``; None where one stands there already."""
        point = link.clamp(point)
        scale = max(1.0, abs(point))
        if any(abs(point - other) <= nearest * scale for other in link.at):
            return None
        link.at.append(point)
        slope, value = link.curve.slope(point), link.curve.value(point)
        self.cuts += 1
        name = f"{link.name}_tangent_{self.cuts}"
        if abs(slope) < NEGLIGIBLE:
            return self.row(name, link.low, "<=", link.curve.top(link.domain[1]))
        scale = 1.0 / max(1.0, abs(slope))  # steep tangents would otherwise dwarf the other rows
        left = scale * (link.low - slope * link.argument)
        return self.row(name, left, "<=", scale * (value - slope * point))


def _close(one: Point, other: Point) -> bool:
    pairs = zip(one, other, strict=True)
    return all(abs(a - b) <= 1e-9 * max(1.0, abs(a)) for a, b in pairs)


def _spread(domain: tuple[float, float], count: int) -> list[float]:
    """Return points over a domain: geometric where it is positive and wide, else even."""
    low, high = domain
    if not math.isfinite(low + high):
        raise ValueError(f"a link needs a finite domain, not {domain}")
    if high - low <= 1e-12 * max(1.0, abs(low)) or count == 1:
        return [low]
    if low > 0 and high / low > 4:
        ratio = (high / low) ** (1 / (count - 1))
        return [low * ratio**k for k in range(count)]
    return [low + (high - low) * k / (count - 1) for k in range(count)]


def highest(expression: Linear) -> float:
    """Return the most that a linear expression can be within the bounds of its variables."""
    expression = expression + 0
    ends = [(f, v.upBound if f > 0 else v.lowBound) for v, f in expression.items() if f]
    if any(end is None for _, end in ends):
        return math.inf
    return float(expression.constant + sum(factor * end for factor, end in ends))


def evaluate(expression: Linear, values: dict[str, float]) -> float:
    """Return the value of a linear expression or variable at ``values``."""
    if isinstance(expression, _pulp().LpVariable):
        return values[expression.name]
    result = expression.constant
    for variable, factor in expression.items():
        result += factor * values[variable.name]
    return float(result)


def is_whole(variable: Variable) -> bool:
    """Say whether a variable takes whole numbers only."""
    return bool(variable.cat == _pulp().LpInteger)

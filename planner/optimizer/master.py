"""The master problem in a solver: solve, cut where links are broken; what an item leaves at best.

The relaxation only ever allows more, so its value bounds every plan that holds the item. One model
serves all items: each is demanded for a moment, and the tangents it needs stay for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from planner.case import Case, Storage
from planner.case.model import Mode, Offer
from planner.figures import RATIOS
from planner.optimizer.build import build
from planner.optimizer.context import Build
from planner.optimizer.model import Cuttable, Linear, Model, Row, Sense, Sheet, Variable
from planner.optimizer.objective import EXPRESSIONS
from planner.optimizer.operate import Run, restarts
from planner.optimizer.solver import Effort, Outcome, Session
from planner.optimizer.tightening import Box

Bounds = dict[str, tuple[Variable, float, float]]
MAGNIFY = 1e3
CONFINE_SLACK = 1e-6
RELEASED = 1e30
"""Infinite to both solvers: a row with this on its right holds nothing back."""
WHOLE = 1e-6
COUNT = 5e-4
"""The work that one more number of units is for a chord: that of 20,000 takes half a second."""
MANY_TYPES = 8
"""So many types of GPU system one model takes at once; of more each is a part of the search."""
MANY_ITEMS = 40
"""So many storage items one model takes at once; of more each family is a part of the search."""


class Master:
    """A build and the session that solves it, kept in step.

    ``parts`` is where a search begins: everywhere, or the ranges that earlier stages have left; or
    it begins in ``boxes`` of counts.
    Of a ``final`` objective the best value alone is asked for, and no choice among plans follows.
    """

    def __init__(
        self, build: Build, session: Session, effort: Effort, *, final: bool = False
    ) -> None:
        self.final = final
        self.build = build
        self.session = session
        self.effort = effort
        self.solves = 0
        self.probed = False
        self.magnified = 0
        self.careful = False
        self.parts: list[Bounds] = [{}]
        self.boxes: list[Box] | None = None
        self.most_boxes = 40
        self.held_ratio = math.inf
        self.held_rows: dict[str, Row] = {}
        self.most_share = 1.0
        self.asked: Row | None = None
        self._narrowed: Bounds = {}
        self._originals: dict[str, tuple[float, float]] = {}

    @property
    def by_way(self) -> bool:
        """Whether a search begins with the ways in which plans may be."""
        flags = (*self.build.way_used.values(), *self.build.serves.values())
        names = {flag.name for flag in flags}
        return any(names & part.keys() for part in self.parts)

    @property
    def counts_decide(self) -> bool:
        """Whether plans follow from counts that relaxations can settle: of a job on one type, with
        HiGHS, which keeps the basis of a relaxation. CBC stays a check of another kind; parts of
        the search are small, and models of them quicker."""
        build = self.build
        one = build.case.job.max_types == 1 and not build.model.chords and not parts_of(self)
        return one and build.case.objective != "overrun" and self.session.name == "highs"

    def objective(self, expression: Linear, maximise: bool) -> None:
        """Replace the objective."""
        self.session.objective(expression, maximise)

    def solve(self, *, relaxed: bool, gap: float, relative: bool, careful: bool = False) -> Outcome:
        """Solve the model as it stands."""
        self.solves += 1
        return self.session.solve(
            relaxed=relaxed,
            gap=gap,
            relative=relative,
            effort=self.effort,
            careful=careful or (self.careful and not relaxed),
        )

    def row(self, name: str, left: Linear, sense: Sense, right: float) -> Row:
        """Add a row to model and solver."""
        row = self.build.model.row(name, left, sense, right)
        self.session.add(row)
        return row

    def release(self, row: Row) -> None:
        """Take a ``<=`` row out of effect."""
        self.session.change(row, {}, RELEASED)

    def ask_for(self, expression: Linear, most: float) -> None:
        """Bound an expression from above, in place of the one that was bounded before."""
        if self.asked is None:
            self.asked = self.row(f"asked_{len(self.build.model.rows)}", expression, "<=", most)
        else:
            self.session.change(self.asked, {}, most - (expression + 0).constant)

    def ask_for_all(self) -> None:
        """Remove that bound."""
        if self.asked is not None:
            self.release(self.asked)
        self.asked = None

    def cut(self, values: Mapping[str, float], tolerance: float) -> int:
        """Add tangents where ``values`` break links by more than ``tolerance``, and prices where
        racks cannot hold what they are to hold; return how many."""
        added = 0
        values = dict(values)
        for link in self.build.model.links:
            if link.violation(values) > tolerance:
                added += self._tangent_at(link, values)
        for sheet in self.build.model.sheets:
            if sheet.violation(values) > tolerance:
                added += self._plane_at(sheet, values)
        return added or self.price(self._sharing(values), values, max(tolerance, WHOLE))

    def cut_at(self, values: Mapping[str, float], operation: Run) -> int:
        """Add tangents at the exact point of a feasible operation; return how many."""
        point = dict(values) | self._point(operation)
        added = sum(self._tangent_at(link, point) for link in self.build.model.links)
        return added + sum(self._plane_at(sheet, point) for sheet in self.build.model.sheets)

    def price(
        self, counts: Sequence[float], values: Mapping[str, float], tolerance: float = WHOLE
    ) -> int:
        """Add the row of prices at which what shares racks takes more than ``values`` have."""
        shared = self.build.model.shared
        if shared is None or not any(counts):
            return 0
        prices = shared.packing.prices_of(counts)
        if prices.of(counts) <= values[shared.racks.name] + tolerance:
            return 0
        row = self.build.model.price(shared, prices.each)
        if row is None:
            return 0
        self.session.add(row)
        return 1

    def _sharing(self, values: Mapping[str, float]) -> list[float]:
        """Return how many of each kind the values have in shared racks, the solver's noise off."""
        shared = self.build.model.shared
        counts = [] if shared is None else [values[kind.name] for kind in shared.kinds]
        return [n if n > WHOLE and abs(n - round(n)) > WHOLE else max(0, round(n)) for n in counts]

    def _tangent_at(self, link: Cuttable, values: dict[str, float]) -> int:
        row = link.tangent_at(self.build.model, values)
        if row is None:
            return 0
        self.session.add(row)
        return 1

    def _plane_at(self, sheet: Sheet, values: dict[str, float]) -> int:
        row = self.build.model.plane(sheet, sheet.point(values))
        if row is None:
            return 0
        self.session.add(row)
        return 1

    def _point(self, operation: Run) -> dict[str, float]:
        known = {
            "gpus": float(operation.gpus),
            "write": operation.write_gb_per_s,
            "read": operation.read_gb_per_s,
            "log_gpus": math.log(operation.gpus),
            "log_write": math.log(operation.write_gb_per_s),
            "log_read": math.log(operation.read_gb_per_s),
            "log_interval": math.log(operation.interval_s),
            **{f"spare__{name}": float(operation.spares) for name in operation.used},
        }
        if self.build.log_running is not None:
            assert operation.shrunk is not None
            known["log_running"] = math.log(operation.running_gpus)
            known["log_failing"] = math.log(operation.gpus * operation.shrunk.failing)
            spared = operation.shrunk.spared(restarts(self.build.case.job, operation))
            known["log_resting"] = math.log(operation.gpus * (operation.shrunk.failing - spared))
            ways = self.build.case.ways
            known |= {
                f"running__{way.id}": operation.running_gpus * (way.id in operation.ways)
                for way in ways
            }
        every = self.build.every.items()
        known |= {flag.name: float(k == operation.every) for k, flag in every}
        if len(self.build.case.ways) > len(self.build.case.systems):
            flags = self.build.way_used.items()
            known |= {flag.name: float(way in operation.ways) for way, flag in flags}
        names = {variable.name for variable in self.build.model.variables}
        return {name: value for name, value in known.items() if name in names}

    def tighten(self, names: list[str]) -> None:
        """Add magnified copies of rows that whole numbers break by less than the solver sees.

        What meets a limit exactly still meets its copy.
        """
        self.magnified += 1
        scale = MAGNIFY**self.magnified
        # Limits on what follows from a purchase may be broken by its rounding.
        exact = [row for row in self.build.model.rows if "_magnified_" not in row.name]
        rows = [row for row in exact if row.name in names or row.name.startswith("count_")]
        for row in rows:
            terms, right, sense = row.terms()
            left = sum(scale * factor * variable for variable, factor in terms)
            direction: Sense = "<=" if sense < 0 else ">="
            self.row(f"{row.name}_magnified_{self.magnified}", left, direction, scale * right)

    def narrow(self, bounds: Bounds) -> None:
        """Apply a node's bounds in place of the last node's."""
        for variable, _, _ in self._narrowed.values():
            low, high = self.original(variable)
            self.session.bounds(variable, low, high)
        for variable, low, high in bounds.values():
            _, most = self.original(variable)
            self.session.bounds(variable, low, min(high, most))
        self._narrowed = dict(bounds)
        for chord in self.build.model.chords:
            self.effort.count(COUNT * chord.width(*self.ends(chord.divided, bounds)))
            for row, factors, right in chord.rows(lambda variable: self.ends(variable, bounds)):
                self.session.change(row, factors, right)

    def ends(self, variable: Variable, bounds: Bounds) -> tuple[float, float]:
        """Return a variable's bounds in a node."""
        return bounds[variable.name][1:] if variable.name in bounds else self.original(variable)

    def original(self, variable: Variable) -> tuple[float, float]:
        """Return a variable's bounds outside any node."""
        return self._originals.setdefault(variable.name, (variable.lowBound, variable.upBound))

    def confine(self, variable: Variable, low: float | None, high: float | None) -> None:
        """Bring a variable's bounds closer for good, with room for the solver's tolerance."""
        least, most = self.original(variable)
        if low is not None:
            least = max(least, low - CONFINE_SLACK)
        if high is not None:
            most = min(most, high + CONFINE_SLACK)
        if least <= most:
            self._originals[variable.name] = (least, most)
            self.session.bounds(variable, least, most)

    def exclude(self, flag: Variable) -> None:
        """Fix a flag at 0 for good."""
        self._originals[flag.name] = (0.0, 0.0)
        self.session.bounds(flag, 0.0, 0.0)


def session(model: Model) -> Session:
    """Return a session of HiGHS for ``model``."""
    from planner.optimizer.highs import HighsSession

    return HighsSession(model)


def flags_of(master: Master) -> list[Variable]:
    """Return the flags of all ways where the search takes one by one: where some type has several,
    or checkpoints have a local level, and the job runs on one type."""
    build = master.build
    several = len(build.case.ways) > len(build.case.systems) or build.mode == "local"
    several = several or build.case.objective in RATIOS or len(build.case.systems) > MANY_TYPES
    if not several or build.case.job.max_types > 1:
        return []
    return [build.way_used[way.id] for way in build.case.ways]


def parts_of(master: Master) -> list[Variable]:
    """Return the flags that make parts of the search: of ways and of families."""
    return [*flags_of(master), *families_of(master)]


def families_of(master: Master) -> list[Variable]:
    """Return the flags of storage families where the search takes one by one: where a plan holds
    one, and there are many products."""
    build = master.build
    if len(build.case.storage) <= MANY_ITEMS or build.case.max_families > 1:
        return []
    return list(build.serves.values())


FIRST_ROUNDS = 12
ROUNDS = 4
VIOLATION = 1e-5

Bound = float | Literal["no plan"] | None
"""In the model's scale; None where the solver gave no verdict."""


def bounds_with(case: Case, ids: Iterable[str], effort: Effort) -> Mapping[str, Bound]:
    """Return for each item a value of the objective that no plan with it passes.

    Args:
        ids: GPU systems (which are then to be in use) and storage items.
        effort: how far to go; beyond it nothing is told any more.
    """
    if effort.over:  # building the models alone takes its time
        return dict.fromkeys(ids)
    probes = [_Probe.of(case, mode, effort) for mode in case.job.modes]
    return {name: _over_modes(case, [probe.bound(name) for probe in probes]) for name in ids}


def _over_modes(case: Case, bounds: list[Bound]) -> Bound:
    """Return the bound of plans in any mode."""
    known = [bound for bound in bounds if not isinstance(bound, str)]
    if not known:
        return "no plan"
    if any(bound is None for bound in known):
        return None
    pick = max if case.maximise else min
    return pick(bound for bound in known if bound is not None)


@dataclass
class _Probe:
    """The relaxation of one mode, cut until its tangents hold."""

    case: Case
    master: Master
    offers: Mapping[str, Offer]

    @classmethod
    def of(cls, case: Case, mode: Mode, effort: Effort) -> _Probe:
        problem = build(case, mode)
        expression = EXPRESSIONS[case.objective](problem)
        master = Master(problem, session(problem.model), effort)
        master.objective(expression, case.maximise)
        probe = cls(case, master, {offer.id: offer for offer in case.offers()})
        probe._cut(FIRST_ROUNDS)
        return probe

    def bound(self, name: str) -> Bound:
        """Return the bound of plans with an item; the model is afterwards as it was."""
        wanted = list(self._demanded(self.offers[name]))
        for variable, least in wanted:
            low, high = self.master.original(variable)
            self.master.session.bounds(variable, max(low, min(least, high)), high)
        outcome = self._cut(ROUNDS)
        for variable, _ in wanted:
            self.master.session.bounds(variable, *self.master.original(variable))
        return "no plan" if outcome.status == "infeasible" else outcome.bound

    def _demanded(self, offer: Offer) -> Iterator[tuple[Variable, float]]:
        """Yield each variable that holding an item raises, with its least value."""
        problem = self.master.build
        if isinstance(offer, Storage):
            yield problem.serves[offer.family], 1.0
            counts = [self.master.build.counts[key] for key in problem.case.keys(offer.id)]
            if len(counts) == 1:  # of several none is known to be the one that rises
                yield counts[0], float(max(1, offer.min_units))
        else:
            yield problem.type_used[offer.id], 1.0
            yield problem.used[offer.id], 1.0

    def _cut(self, rounds: int) -> Outcome:
        """Solve the relaxation, adding tangents where it breaks links; return the last outcome."""
        outcome = self.master.solve(relaxed=True, gap=0.0, relative=False)
        for _ in range(rounds):
            if not outcome.values or not self.master.cut(outcome.values, VIOLATION):
                break
            outcome = self.master.solve(relaxed=True, gap=0.0, relative=False)
        return outcome

"""Counts settled by linear programs: known answers, and the same problems as whole models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, log

import pytest
from planner.optimizer.branch import Found, Goal, Node
from planner.optimizer.build import build
from planner.optimizer.master import Master, session
from planner.optimizer.tightening import Box

from planner.case import Case, resolve
from planner.errors import InputError
from planner.optimizer import counting
from planner.optimizer.effort import Effort
from planner.optimizer.objective import EXPRESSIONS
from planner.optimizer.optimise import Certificate, goal_of, optimise
from tests.world.random_cases import inputs_of, random_case
from tests.world.requests import Request, price, store

PROVEN = 2e-6
"""As exactly as `optimise` proves where nothing else is said."""


@dataclass
class Counted:
    """What linear programs made of a problem: what is known, and the parts that are left."""

    master: Master
    goal: Goal
    node: Node
    found: Found
    left: list[Node] | None

    def hold(self, units: Mapping[str, int], boxes: list[Box]) -> bool:
        """Say whether counts stand in one of the boxes."""
        index = self.master.session.index
        columns = {index[v.name]: units[key.sku] for key, v in self.master.build.counts.items()}
        return any(all(b.low[c] <= n <= b.high[c] for c, n in columns.items()) for b in boxes)

    def leave(self, units: Mapping[str, int]) -> bool:
        """Say whether counts stand in one of the parts that are left."""
        wanted = {v.name: units[key.sku] for key, v in self.master.build.counts.items()}
        return any(
            all(
                low <= wanted.get(name, low) <= high for name, (_, low, high) in part.bounds.items()
            )
            and not (part.boxes and not self.hold(units, part.boxes))
            for part in self.left or ()
        )


def begun(case: Case, effort: Effort | None = None) -> tuple[Master, Goal, Node, Found]:
    """Return the search of a case as it stands before its first look."""
    model = build(case, case.job.modes[0])
    goal = goal_of(case, EXPRESSIONS[case.objective](model), PROVEN / 20)
    master = Master(model, session(model.model), effort or Effort())
    master.objective(goal.expression, goal.maximise)
    return master, goal, Node(inf if goal.maximise else -inf), Found()


def counted(case: Case, most_boxes: int = 400) -> Counted:
    master, goal, node, found = begun(case)
    master.most_boxes = most_boxes
    return Counted(master, goal, node, found, counting.count_down(master, goal, node, found))


def case_of(request: Request) -> Case:
    return resolve(inputs_of(request.case()))


def two_stores(*, usd: int = 10_000) -> Request:
    """The least cost of 24 GPUs; a crate is a box in all but its price."""
    request = Request(minimize="cost")
    request.items.append(store("crate", "fs"))
    request.prices["crate"] = price(str(usd))
    request.more["targets"] = {"min_gpus": 24}
    return request


def test_the_least_purchase_is_counted() -> None:
    """24 GPUs are three systems; a drain of 60 s takes two boxes of 1 GB/s."""
    request = Request(minimize="cost")
    request.more["targets"] = {"min_gpus": 24}
    answer = counted(case_of(request))
    assert answer.left == []
    assert answer.found.operation is not None
    assert answer.found.operation.units == {"gpu": 3, "box": 2}
    assert answer.found.value == answer.goal.value(answer.found.operation)
    assert answer.node.bound == pytest.approx(answer.found.value, rel=1e-9)


def test_the_most_systems_that_power_allows_are_counted() -> None:
    """Two boxes draw 10 of the 50 kW: four systems of 10 kW stand beside them."""
    answer = counted(case_of(Request(maximize="gpus")))
    assert answer.left == []
    assert answer.found.operation is not None
    assert answer.found.operation.units == {"gpu": 4, "box": 2}
    assert answer.node.bound == pytest.approx(answer.found.value, rel=1e-9)


def test_all_plans_that_are_as_good_are_kept() -> None:
    """Two of either store, or one of each, cost the same: ties are broken among the three."""
    answer = counted(case_of(two_stores()))
    answer.found.parts = [answer.node]
    boxes = counting.as_good(answer.goal, answer.found)
    assert boxes is not None
    for boxed in range(3):
        assert answer.hold({"gpu": 3, "box": boxed, "crate": 2 - boxed}, boxes)
    assert not answer.hold({"gpu": 4, "box": 2, "crate": 0}, boxes)


def test_what_is_dearer_is_not_kept() -> None:
    """A crate for ten dollars more, of 320,000, is further off than a tie."""
    answer = counted(case_of(two_stores(usd=10_010)))
    answer.found.parts = [answer.node]
    boxes = counting.as_good(answer.goal, answer.found)
    assert boxes is not None
    assert answer.hold({"gpu": 3, "box": 2, "crate": 0}, boxes)
    assert not answer.hold({"gpu": 3, "box": 1, "crate": 1}, boxes)
    # Of a part that has not been counted nobody knows what is as good as the best.
    answer.found.parts = [answer.node, Node(answer.node.bound)]
    assert counting.as_good(answer.goal, answer.found) is None
    # One that is worse holds none.
    assert answer.found.value is not None
    answer.found.parts = [answer.node, Node(1.1 * answer.found.value)]
    assert counting.as_good(answer.goal, answer.found) is not None


def test_useful_work_leaves_storage_to_the_model() -> None:
    """What it hands on is narrower than the model, and holds the best plan."""
    request = Request(maximize="goodput")
    request.items.append(store("crate", "fs", write="1.5 GB/s"))
    request.prices["crate"] = price("11000")
    request.job["checkpoint"] = request.checkpoint | {"interval": {"policy": "optimal"}}
    answer = counted(case_of(request))
    assert answer.left
    best = optimise(answer.master.build.case, ties=False)
    assert best.best is not None
    assert best.operation is not None
    assert answer.leave(best.operation.units)
    assert all(part.counted for part in answer.left)
    assert best.best - 1e-9 <= max(part.bound for part in answer.left) < best.best + 0.01
    wide, closer = answer.master.session.current_rows()[1:], answer.left[0].bounds
    index = answer.master.session.index
    assert closer
    for name, (_, low, high) in closer.items():
        assert (low, high) != (wide[0][index[name]], wide[1][index[name]])


def test_of_many_boxes_some_are_handed_on() -> None:
    """After one box the rest goes to the model; so does a later stage after few."""
    answer = counted(case_of(two_stores()), most_boxes=1)
    assert answer.left
    assert answer.master.most_boxes == counting.FEWER_BOXES
    assert answer.leave({"gpu": 3, "box": 2, "crate": 0})
    assert all(part.counted for part in answer.left)
    assert all(part.bounds for part in answer.left if part.boxes is None)


def test_what_cannot_be_run_is_left_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A purchase whose worth is not known is neither taken nor ruled out."""
    monkeypatch.setattr(counting._Counting, "_run", lambda *_: None)
    answer = counted(case_of(Request(maximize="gpus")))
    assert answer.found.operation is None
    assert answer.leave({"gpu": 4, "box": 2})


def test_what_is_not_allowed_is_worth_nothing() -> None:
    """Four systems are not allowed here, whatever the model says: three are the most."""
    master, goal, node, found = begun(case_of(Request(maximize="gpus")))
    goal = replace(goal, allowed=lambda run: run.units["gpu"] != 4)
    assert counting.count_down(master, goal, node, found) == []
    assert found.operation is not None
    assert found.operation.units["gpu"] == 3
    assert node.bound == pytest.approx(found.value, rel=1e-9)


def test_no_plan_leaves_nothing() -> None:
    request = Request(maximize="gpus")
    request.site["it_power"] = "9 kW"
    answer = counted(case_of(request))
    assert answer.left == []
    assert answer.found.operation is None
    assert answer.node.bound == -inf


def test_boxes_without_the_best_plan_are_not_believed() -> None:
    """A plan is in hand that no box holds: something was lost, and the whole part is asked."""
    case = case_of(Request(maximize="gpus"))
    best = counted(case).found
    assert best.operation is not None
    master, goal, node, found = begun(case)
    found.take(goal, best.operation)
    _, low, high = master.session.current_rows()
    systems = next(v for k, v in master.build.counts.items() if k.sku == "gpu")
    high[master.session.index[systems.name]] = 3.0
    node.boxes = [Box(inf, low, high)]
    assert counting.count_down(master, goal, node, found) == [Node(inf, {}, counted=True)]
    high[master.session.index[systems.name]] = 4.0
    node.boxes = [Box(inf, low, high)]
    assert counting.count_down(master, goal, node, found) == []


def test_without_work_left_nothing_is_known() -> None:
    master, goal, node, found = begun(case_of(Request(maximize="gpus")), Effort(most_work=0.0))
    assert counting.count_down(master, goal, node, found) is None
    assert found.stopped
    assert node.boxes is None


def test_the_relaxation_is_as_it_was() -> None:
    """Boxes are bounds of the columns: afterwards they are those of the model."""
    answer = counted(case_of(two_stores()))
    _, low, high = answer.master.session.current_rows()
    _, low_before, high_before = begun(case_of(two_stores()))[0].session.current_rows()
    assert low.tolist() == low_before.tolist()
    assert high.tolist() == high_before.tolist()


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, -4e6, 7e8])
def test_more_is_kept_than_a_later_stage_may_give_away(value: float) -> None:
    assert counting.room(value) > PROVEN / 2 * abs(value)
    assert counting.room(value) >= -log(1 - PROVEN / 2)


def whole(case: Case, monkeypatch: pytest.MonkeyPatch, *, ties: bool) -> Certificate:
    """Return the answer where no count is settled before models in whole numbers."""
    with monkeypatch.context() as patch:
        patch.setattr(Master, "counts_decide", False)
        return optimise(case, ties=ties)


@pytest.mark.exhaustive(keep=15, most=60)
@pytest.mark.parametrize("seed", range(72_000, 72_120))
def test_counts_hold_what_the_whole_model_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proven is true, and where something is left the best plan is in hand or in there."""
    case = drawn(seed)
    if case is None or not begun(case)[0].counts_decide or case.policy.disliked:
        return
    truth = whole(case, monkeypatch, ties=False)
    answer = counted(case, most_boxes=(40, 5, 400)[seed % 3])
    goal, found = answer.goal, answer.found
    assert answer.left is not None
    bounds = [answer.node.bound] if not answer.left else [part.bound for part in answer.left]
    if truth.best is None or truth.operation is None:
        assert found.value is None
        return
    margin = PROVEN * max(1.0, abs(truth.best))
    assert found.value is None or goal.beyond(truth.best, found.value) <= margin
    assert max(goal.beyond(truth.best, bound) for bound in bounds) >= -margin
    if not answer.left:
        assert found.value == pytest.approx(truth.best, abs=margin)
    else:
        in_hand = found.value is not None and goal.beyond(found.value, truth.best) <= margin
        assert in_hand or answer.leave(truth.operation.units)


@pytest.mark.exhaustive(keep=8, most=30)
@pytest.mark.parametrize("seed", range(73_000, 73_060))
def test_ties_are_broken_as_by_whole_models(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = drawn(seed)
    if case is None:
        return
    by_counts, by_models = optimise(case), whole(case, monkeypatch, ties=True)
    assert by_counts.status == by_models.status
    if by_counts.operation is not None and by_models.operation is not None:
        assert by_counts.operation.units == by_models.operation.units


def drawn(seed: int) -> Case | None:
    """Return the random case of a seed, None where it offers nothing or contradicts itself."""
    try:
        case = resolve(inputs_of(random_case(seed, wide=seed % 4 == 0)))
    except InputError:
        return None
    if not case.systems or not case.storage:
        return None
    return replace(case, job=replace(case.job, modes=case.job.modes[:1]))

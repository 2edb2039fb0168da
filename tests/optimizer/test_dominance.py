"""Products that no plan needs: leaving them out changes no plan; what rules tell apart stays."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from planner.case import Case, resolve
from planner.case.model import Policy
from planner.optimizer import Certificate, Question, objective, optimise, relative_distance
from planner.optimizer.objective import measure, name_weight, without_dominated
from planner.optimizer.search import Effort
from tests.world.random_cases import inputs_of, random_case, read
from tests.world.random_hardware import Raw
from tests.world.requests import Request, price

SEEDS = range(5000, 5400)
CHANGED = ("it_power", "read", "write", "usable")


@pytest.fixture(autouse=True)
def looked_at_whatever_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objective, "MANY", 0)


def with_clones(seed: int) -> Case:
    """Return a random problem with one to three near-clones of some of its products."""
    draw, made = Random(seed), random_case(seed)
    documents = {name: dict(raw) for name, raw in made.documents.items()}
    catalog, book, problem = documents["catalog"], documents["prices"], documents["problem"]
    rules = {name: dict(rule) for name, rule in problem.get("items", {}).items()}
    chosen = [i for i in catalog["items"] if i["category"] in ("gpu_system", "storage")]
    items, prices = list(catalog["items"]), dict(book["prices"])
    for item in draw.sample(chosen, min(len(chosen), 2)):
        if draw.random() < 0.8:  # what is limited itself stands in for nothing
            rules.get(item["id"], {}).pop("max", None)
        for number in range(draw.randint(1, 3)):
            clone = {**item, "id": f"{item['id']}_{number}"}
            if draw.random() < 0.6:
                clone = _moved(clone, draw)
            items.append(clone)
            if item["id"] in prices:
                prices[clone["id"]] = _priced(prices[item["id"]], draw)
    catalog["items"], book["prices"] = items, prices
    problem["items"] = {name: rule for name, rule in rules.items() if rule}
    return resolve(inputs_of(read(documents)))


def _moved(clone: Raw, draw: Random) -> Raw:
    """Give a clone another figure, a little better or worse."""
    result = dict(clone)
    for group in ("consumes", "provides"):
        figures = dict(result.get(group, {}))
        for name in CHANGED:
            if name in figures and draw.random() < 0.5:
                amount, unit = str(figures[name]["value"]).split(" ", 1)
                moved = float(amount) * draw.choice((0.9, 0.97, 1.0, 1.05))
                figures[name] = {**figures[name], "value": f"{moved:.6g} {unit}"}
        if figures:
            result[group] = figures
    return result


def _priced(price: Raw, draw: Random) -> Raw:
    result: dict[str, Any] = dict(price)
    if "list" in result:
        amount, unit = str(result["list"]).split(" ", 1)
        result["list"] = f"{float(amount) * draw.choice((0.9, 1.0, 1.0, 1.2)):.6g} {unit}"
    return result


@pytest.mark.exhaustive(keep=15, most=50)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_without_dominated_products_is_the_plan_of_all(seed: int) -> None:
    case = with_clones(seed)
    if case.job.levels is not None:  # minutes of search
        return
    whole = Question(case, 2e-6, Effort(), ties=True).answer()
    check_same(case, optimise(case), whole)


def check_same(case: Case, answer: Certificate, whole: Certificate) -> None:
    """Check two proven answers against each other: as good, and as cheap."""
    assert answer.status == whole.status
    if whole.operation is None or answer.operation is None:
        return
    assert answer.value is not None and whole.value is not None
    assert answer.operation.units.keys() == {offer.id for offer in case.offers()}
    assert answer.bound is not None and whole.best is not None and answer.best is not None
    for one, other in ((answer.best, whole.bound), (whole.best, answer.bound)):
        assert other is not None
        assert relative_distance(case, one, other) <= 5e-6
    if not case.policy.disliked:
        ours, theirs = (measure(case, "capex")(o) for o in (answer.operation, whole.operation))
        assert ours <= theirs + 3e-6 * abs(theirs)


def listed(*, twin_usd: str = "11000", maximize: str = "") -> Case:
    """Return a problem with a box, and a twin of it that differs in price alone."""
    request = Request(maximize=maximize) if maximize else Request(minimize="cost")
    request.items.append({**request.items[1], "id": "twin"})
    request.prices["twin"] = price(twin_usd)
    request.job["gpus"] = {"min": 16}
    return resolve(inputs_of(request.case()))


def with_store(case: Case, name: str, **changed: Any) -> Case:
    stores = (replace(s, **changed) if s.id == name else s for s in case.storage)
    return replace(case, storage=tuple(stores))


def gone(case: Case) -> set[str]:
    left = {offer.id for offer in without_dominated(case).offers()}
    return {offer.id for offer in case.offers()} - left


def test_of_equal_products_the_choice_of_ties_stays() -> None:
    case = listed(twin_usd="10000")
    last = max(("box", "twin"), key=name_weight)
    assert gone(case) == {last}
    taken = optimise(case).operation
    assert taken is not None
    assert taken.units == {"gpu": 2, last: 0, min(("box", "twin"), key=name_weight): 2}


STAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "it draws less": ("twin", {"it_power_kw": 4.9}),
    "it writes faster": ("twin", {"nameplate_write_gb_per_s": 1.1}),
    "it reads faster": ("twin", {"nameplate_read_gb_per_s": 4.4}),
    "it holds more": ("twin", {"usable_tb": 101.0}),
    "it is asked for": ("twin", {"low": 1}),
    "it is demanded": ("twin", {"forced": True}),
    "it is owned": ("twin", {"installed": 1}),
    "it is of another family": ("twin", {"family": "other"}),
    "its wear is stated": ("twin", {"endurance_tb_per_day": 1.0}),
    "there are few of the other": ("box", {"high": 5}),
    "some of the other are owned": ("box", {"installed": 1}),
    "the other comes in packs": ("box", {"pack": 2}),
    "the other has a minimum order": ("box", {"min_order": 3}),
    "the other is used in numbers": ("box", {"min_units": 3}),
    "the other needs spares": ("box", {"spare_share": 0.1}),
}


@pytest.mark.parametrize("why", STAYS)
def test_a_product_better_in_one_figure_stays(why: str) -> None:
    name, changed = STAYS[why]
    assert gone(with_store(listed(), name, **changed)) == set()


def test_a_product_that_a_rule_names_stays() -> None:
    case = listed()
    assert gone(replace(case, must_use=("twin",))) == set()
    assert gone(replace(case, policy=Policy(required=(("twin",),)))) == set()
    assert gone(replace(case, policy=Policy(disliked=("box",), within=0.01))) == set()
    assert gone(replace(case, policy=Policy(disliked=("box", "twin"), within=0.01))) == {"twin"}
    assert gone(replace(case, objective="least_write")) == set()
    capped = case.limits.replace_values(most_write_gb_per_s=2.0)
    assert gone(replace(case, limits=capped)) == set()
    slow = with_store(case, "twin", nameplate_write_gb_per_s=0.9)
    assert gone(slow) == {"twin"}
    assert gone(replace(slow, tolerate_down=1)) == set()  # more is lost with the faster one down

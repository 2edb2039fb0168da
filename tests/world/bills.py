"""The enumerator against bills worked out by hand: companions, spares, policies, money in time.

Without more, one GPU system needs two boxes: 10 kW and 100,000 USD; 5 kW and 10,000 USD each.
"""

from __future__ import annotations

from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, price

SOURCED = {"source": "made_up", "confidence": "low"}


def companion(name: str, category: str, draw: str | None = None, **more: object) -> Raw:
    item: Raw = {"id": name, "vendor": "Net", "model": name, "category": category, "consumes": {}}
    if draw is not None:
        item["consumes"] = {"it_power": figure(draw), "rack_units": figure("1 RU")}
    return item | more


def port(count: int, speed: int, **more: object) -> Raw:
    return {"count": count, "speed": f"{speed} Gb/s", **SOURCED, **more}


def switch(name: str, groups: list[Raw]) -> Raw:
    panel = {"protocol": "ethernet", "ports": groups, **SOURCED}
    return companion(name, "switch", "1 kW", switch=panel)


def group(count: int, speed: int, cable: str | None = "cable") -> Raw:
    link = {} if cable is None else {"link": {"cable": cable}}
    return {"count": count, "speed": f"{speed} Gb/s", **link}


class Bill(Request):
    """A request whose companions have prices."""

    def add(self, item: Raw, amount: str, **more: str) -> None:
        self.items.append(item)
        self.prices[item["id"]] = price(amount, **more)

    def ports(self, network: str, gpu: Raw | None, box: Raw | None) -> None:
        for item, given in zip(self.items, (gpu, box), strict=False):
            if given is not None:
                item.setdefault("ports", {})[network] = given


def bill_of_two() -> Bill:
    """Return a request for the cheapest two systems: 220,000 USD, 30 kW."""
    request = Bill(minimize="cost")
    request.job["gpus"] = {"min": 16}
    return request

"""Small problems written by hand, for answers worked out by hand."""

from __future__ import annotations

from tests.oracle.enumerate import Best, best
from tests.world.random_cases import SOURCES, Case, read
from tests.world.random_hardware import Raw, figure


def gpu_system(name: str, gpus: int, draw: str, flops: str = "1000 TFLOP/s") -> Raw:
    return {
        "id": name,
        "vendor": "Alpha",
        "model": name,
        "category": "gpu_system",
        "provides": {"gpus": figure(gpus)},
        "consumes": {"it_power": figure(draw), "rack_units": figure("10 RU")},
        "gpu": {"bf16_dense": figure(flops)},
    }


def store(name: str, family: str, draw: str = "5 kW", write: str = "1 GB/s") -> Raw:
    return {
        "id": name,
        "vendor": "Beta",
        "model": name,
        "category": "storage",
        "family": family,
        "provides": {
            "read": figure("4 GB/s"),
            "write": figure(write),
            "usable": figure("100 TB"),
        },
        "consumes": {"it_power": figure(draw), "rack_units": figure("2 RU")},
    }


def price(amount: str, **more: str) -> Raw:
    return {
        "list": f"{amount} USD",
        "date": "2026-01",
        "source": "made_up",
        "confidence": "low",
        **more,
    }


class Request:
    """One GPU system, one store, a 100 GB checkpoint every 600 s: tests change what they need.

    A drain of 60 s at most needs 100/60 GB/s: two stores of 1 GB/s.
    """

    def __init__(self, **objective: str) -> None:
        self.items = [gpu_system("gpu", 8, "10 kW"), store("box", "fs")]
        self.families: list[Raw] = [{"id": "fs", "vendor": "Beta", "name": "fs"}]
        self.prices: Raw = {"gpu": price("100000"), "box": price("10000")}
        self.discounts: list[Raw] = []
        self.site: Raw = {"pue": 1.25, "it_power": "50 kW"}
        self.storage: Raw = {"delivered_fraction": {"read": 1.0, "write": 1.0}}
        self.checkpoint: Raw = {
            "size": "100 GB",
            "stall": "5 s",
            "max_overlap": 0.1,
            "interval": {"policy": "fixed", "every": "600 s"},
        }
        self.job: Raw = {
            "name": "train",
            "lost_time": "none",
            "failures": {"per_gpu_day": 0.01},
            "restore": {"restart": "600 s"},
            "training": {"mfu": 0.5},
        }
        self.more: Raw = {"objective": {"indifference": 0, **objective}}

    def case(self) -> Case:
        job = self.job | {"checkpoint": self.checkpoint}
        problem: Raw = {"name": "by hand", "site": self.site, "storage": self.storage}
        problem |= {"jobs": [job]} | self.more
        catalog: Raw = {"catalog": "by hand", "sources": SOURCES, "families": self.families}
        catalog["items"] = self.items
        book: Raw = {"price_book": "by hand", "sources": SOURCES, "prices": self.prices}
        book["discounts"] = self.discounts
        return read({"problem": problem, "catalog": catalog, "prices": book})

    def best(self) -> Best | None:
        case = self.case()
        return best(case.problem, case.items, case.families, case.prices, case.discounts)

    def plan(self) -> Best:
        found = self.best()
        assert found is not None
        return found


def two_systems(parameters: str, **parallelism: int) -> Request:
    """Three GPU systems, each dearer: of 80 GB, of 192 GB, and one of which nobody knows."""
    request = Request(minimize="cost")
    request.items[0] = gpu_system("small", 8, "1 kW")
    request.items.append(gpu_system("large", 8, "1 kW"))
    request.items.append(gpu_system("silent", 8, "1 kW"))
    for item, memory in zip((request.items[0], request.items[2]), ("80 GB", "192 GB"), strict=True):
        item["gpu"]["memory"] = figure(memory)
    del request.prices["gpu"]
    request.prices |= {"small": price("1000"), "large": price("5000"), "silent": price("9000")}
    request.job |= {"parameters": parameters, "parallelism": parallelism}
    request.job["gpus"] = {"min": 8}
    return request


# The enumerator against bills worked out by hand: companions, spares, policies, money in time.


SOURCED = {"source": "made_up", "confidence": "low"}


def companion(name: str, category: str, draw: str | None = None, **more: object) -> Raw:
    item: Raw = {"id": name, "vendor": "Net", "model": name, "category": category, "consumes": {}}
    if draw is not None:
        item["consumes"] = {"it_power": figure(draw), "rack_units": figure("1 RU")}
    return item | more


def port(count: int, speed: int, **more: object) -> Raw:
    return {"count": count, "speed": f"{speed} Gb/s", **SOURCED, **more}


def switch(name: str, groups: list[Raw], protocol: str = "ethernet") -> Raw:
    panel = {"protocol": protocol, "ports": groups, **SOURCED}
    return companion(name, "switch", "1 kW", switch=panel)


def group(count: int, speed: int, cable: str = "cable", **ends: Raw) -> Raw:
    return {"count": count, "speed": f"{speed} Gb/s", "link": {"cable": cable, **ends}}


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

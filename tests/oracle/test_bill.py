"""The enumerator against bills worked out by hand: companions, spares, policies, money in time.

Without more, one GPU system needs two boxes: 10 kW and 100,000 USD; 5 kW and 10,000 USD each.
"""

from __future__ import annotations

import pytest

from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, gpu_system, price, store

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
    request.more["targets"] = {"min_gpus": 16}
    return request


def test_software_and_extras() -> None:
    request = bill_of_two()
    request.add(companion("per_gpu", "software", licence={"per": "gpu"}), "100")
    licence = {"per": "usable_tb", "vendors": ["Beta"]}
    request.add(companion("per_tb", "software", licence=licence), "7")
    request.add(companion("nobody", "software", licence={"per": "gpu", "vendors": ["Beta"]}), "9")
    request.add(companion("server", "management", "2 kW"), "5000")
    request.add(companion("head", "management", "1 kW"), "3000")
    request.more["software"] = ["per_gpu", "per_tb", "nobody"]
    request.more["extras"] = {"server": {"per": "gpu", "every": 15}, "head": {"count": 1}}
    plan = request.plan()
    assert plan.capex_usd == pytest.approx(220_000 + 16 * 100 + 200 * 7 + 2 * 5000 + 3000)
    assert plan.it_power_kw == pytest.approx(30 + 2 * 2 + 1)


def test_compute_fabric_and_a_type_without_a_port() -> None:
    request = bill_of_two()
    request.add(switch("leaf", [group(8, 400)]), "1000")
    request.add(companion("cable", "cable"), "10")
    request.ports("compute", port(4, 400, rails=4), None)
    request.items.append(gpu_system("blind", 16, "1 kW"))
    request.prices["blind"] = price("1")
    request.more["network"] = {"compute": {"switches": ["leaf"]}}
    # Two systems on one switch; a third takes 4 leaves of one unit of 4, 2 spines, 16 links.
    assert request.plan().capex_usd == pytest.approx(220_000 + 1000 + 8 * 10)
    request.more["targets"] = {"min_gpus": 24}
    assert request.plan().capex_usd == pytest.approx(320_000 + 6000 + (12 + 16) * 10)


def test_types_on_different_fabrics_do_not_join() -> None:
    request = Bill(maximize="gpus")
    request.add(switch("leaf", [group(8, 400), group(16, 200)]), "1000")
    request.add(companion("cable", "cable"), "10")
    request.items.append(gpu_system("big", 16, "15 kW"))
    request.prices["big"] = price("100000")
    request.job["gpus"] = {"max_types": 2}
    request.more["network"] = {"compute": {"switches": ["leaf"]}}
    request.more["items"] = {"big": {"max": 1}, "gpu": {"max": 1}}
    request.ports("compute", port(2, 400), None)
    request.items[-1]["ports"] = {"compute": port(2, 400)}
    assert request.plan().gpus_used == 24
    request.items[-1]["ports"] = {"compute": port(2, 200)}
    assert request.plan().gpus_used == 16


def test_storage_in_band_and_out_of_band_fabrics() -> None:
    request = bill_of_two()
    request.add(switch("edge", [group(8, 200)]), "1000")
    request.add(switch("oob", [group(6, 1, "copper"), group(2, 100, None)]), "100")
    request.add(companion("cable", "cable"), "10")
    request.add(companion("copper", "cable"), "1")
    request.ports("storage", port(2, 200), port(2, 100))
    request.ports("in_band", port(1, 100), None)
    request.ports("out_of_band", port(1, 1), port(1, 1))
    edge = {"switch": "edge", "min_switches": 1}
    wanted = {"switch": "oob", "reserve_ports": 2, "uplinks": 2}
    request.more["network"] = {"storage": edge, "in_band": edge, "out_of_band": wanted}
    # Storage: 8 ports on one switch. Out of band: 4 devices and that switch on 2 of 4 ports.
    # In band: 2 systems and 4 uplinks on one switch. It and the 2 below have a cable each as well.
    cables = (8 + 6) * 10 + 5 + (1 + 2)
    assert request.plan().capex_usd == pytest.approx(220_000 + 2 * 1000 + 2 * 100 + cables)
    # All switches draw 1 kW; a second in-band switch joins the first by 4 cables.
    assert request.plan().it_power_kw == pytest.approx(34)
    request.more["network"]["in_band"] = {"switch": "edge", "min_switches": 2}
    more = 1000 + 4 * 10 + 1
    assert request.plan().capex_usd == pytest.approx(220_000 + 2 * 1000 + 2 * 100 + cables + more)


def test_racks_pdus_and_network_racks() -> None:
    request = bill_of_two()
    request.site["rack"] = {"height": "20 RU", "power": "20 kW", "item": "rack"}
    request.site["rack"]["pdu"] = {"item": "pdu", "redundancy": "N+1"}
    request.site["racks"] = 3
    request.add(companion("rack", "rack"), "1000")
    request.add(companion("pdu", "pdu", provides={"feed": figure("12 kW")}), "100")
    # Two systems in a rack and two boxes in another, 20 kW each: 2 PDUs and one more.
    assert request.plan().capex_usd == pytest.approx(220_000 + 2 * 1000 + 6 * 100)
    # Five managers of a quarter each are 2 racks, of 4 kW at most.
    manager = companion("manager", "management", "1 kW")
    manager["consumes"]["rack_units"] = figure("5 RU")
    request.add(manager, "10")
    request.more["extras"] = {"manager": {"count": 5}}
    assert request.best() is None
    request.site["racks"] = 4
    assert request.plan().capex_usd == pytest.approx(220_000 + 4 * 1000 + 10 * 100 + 50)
    # Of eleven units each stands alone.
    manager["consumes"]["rack_units"] = figure("11 RU")
    request.site["racks"] = 6
    assert request.best() is None
    request.site["racks"] = 7
    assert request.plan().capex_usd == pytest.approx(220_000 + 7 * 1000 + 16 * 100 + 50)


def test_racks_by_weight_and_class() -> None:
    request = Bill(maximize="gpus")
    request.site["rack"] = {"height": "48 RU", "weight": "500 kg"}
    request.site["racks"] = 3
    request.items[0]["consumes"]["weight"] = figure("200 kg")
    assert request.plan().gpus_used == 32
    request.site["rack_classes"] = {"gpu": {"weight": "399 kg"}}
    assert request.plan().gpus_used == 16
    request.site["rack_classes"] = {"gpu": {"weight": "199 kg"}}
    assert request.best() is None


def test_cdus_heat_and_two_pues() -> None:
    request = bill_of_two()
    request.items[0]["consumes"]["liquid_share"] = figure(0.8)
    cdu = companion("cdu", "cdu", "2 kW", provides={"cooling": figure("10 kW")})
    request.add(cdu, "1000")
    request.site |= {"pue": {"air": 1.5, "liquid": 1.1}}
    request.site["cooling"] = {"cdu": "cdu", "redundancy": "N+1"}
    # 16 kW of liquid heat: two CDUs and one more, which heat the air with 6 kW.
    assert request.plan().capex_usd == pytest.approx(220_000 + 3 * 1000)
    request.site["cooling"] |= {"liquid_limit": "16 kW", "air_limit": "20 kW"}
    request.site["facility_power"] = f"{16 * 1.1 + 20 * 1.5} kW"
    assert request.best() is not None
    request.site["facility_power"] = "47.5 kW"
    assert request.best() is None
    del request.site["facility_power"]
    request.site["cooling"]["air_limit"] = "19.9 kW"
    assert request.best() is None
    request.site["cooling"] |= {"liquid_limit": "15.9 kW", "air_limit": "30 kW"}
    assert request.best() is None


@pytest.mark.parametrize(("redundancy", "gpus"), [("N", 32), ("N+1", 24), ("2N", 8)])
def test_feeds(redundancy: str, gpus: int) -> None:
    request = Bill(maximize="gpus")
    # 12.5 kW at the meter for each system or two boxes: 62.5, 50 or 31.25 of 62.5 kW.
    request.site["feeds"] = {"count": 4, "power": "15.7 kW", "redundancy": redundancy}
    request.site["feeds"]["power"] = {"N": "15.7 kW", "N+1": "16.7 kW", "2N": "15.7 kW"}[redundancy]
    assert request.plan().gpus_used == gpus


def test_hot_spares_run_idle() -> None:
    request = Bill(maximize="gpus")
    request.job["gpus"] = {"hot_spares": 1}
    plan = request.plan()
    assert (plan.gpus_used, plan.counts["gpu"]) == (24, 4)
    # A third of three is one more; of two it is one as well, and of one too.
    request.job["gpus"] = {"hot_spares": "33.333333333333 %"}
    assert request.plan().gpus_used == 24
    request.job["gpus"] = {"hot_spares": "34 %"}
    assert request.plan().gpus_used == 16


def test_cold_spares_packs_and_least_orders() -> None:
    request = bill_of_two()
    request.more["spares"] = {"gpu_system": 0.1, "storage": 0.5}
    # Three systems, one of them installed; three boxes.
    request.more["items"] = {"gpu": {"installed": 1}}
    assert request.plan().capex_usd == pytest.approx(2 * 100_000 + 3 * 10_000)
    assert request.plan().it_power_kw == pytest.approx(30)
    request.prices["box"]["pack"] = 2
    assert request.plan().capex_usd == pytest.approx(2 * 100_000 + 4 * 10_000)
    request.prices["box"]["min_order"] = 5
    assert request.plan().capex_usd == pytest.approx(2 * 100_000 + 6 * 10_000)
    request.prices["box"]["stock"] = 5
    assert request.best() is None
    request.more["items"]["box"] = {"stock": 6}
    assert request.best() is not None


def test_stock_of_companions_and_those_installed() -> None:
    request = bill_of_two()
    request.add(companion("server", "management", "1 kW"), "1000", stock=3)  # type: ignore[arg-type]
    request.more["extras"] = {"server": {"count": 4}}
    assert request.best() is None
    request.more["items"] = {"server": {"installed": 2}}
    assert request.plan().capex_usd == pytest.approx(222_000)


def test_owned_units_stand_there_in_use_or_not() -> None:
    request = Bill(maximize="gpus")
    request.items.append(gpu_system("big", 16, "15 kW"))
    request.prices["big"] = price("100000")
    request.more["items"] = {"gpu": {"installed": 2}}
    # 50 kW: two boxes and two big ones, or the owned 20 kW, two boxes and one big one or one more.
    plan = request.plan()
    assert (plan.gpus_used, plan.it_power_kw, plan.counts) == (32, 50, {"gpu": 4, "box": 2})
    request.more["items"]["gpu"] |= {"max": 2}
    plan = request.plan()
    assert (plan.gpus_used, plan.capex_usd) == (16, 20_000)
    request.more["items"]["gpu"] |= {"retire": True}
    assert request.plan().gpus_used == 32
    request.more["consider"] = {"gpu_systems": ["big"]}
    assert request.plan().gpus_used == 32
    del request.more["items"]["gpu"]["retire"]
    plan = request.plan()
    assert (plan.gpus_used, plan.it_power_kw, plan.counts) == (16, 45, {"big": 1, "box": 2})


def test_spares_of_a_bundle_are_of_its_components() -> None:
    request = bill_of_two()
    node = companion("node", "component", "2 kW")
    request.add(node, "700", pack=2)  # type: ignore[arg-type]
    request.items.append(companion("shelf", "component", "1 kW"))
    parts = [{"id": "node", "quantity": 2}, {"id": "shelf", "quantity": 1}]
    request.items[1] |= {"consumes": {}, "components": parts}
    request.more["spares"] = {"storage": 0.3}
    # Two boxes of 5 kW: 1.2 nodes are two, in a pack; what a shelf costs nobody knows.
    plan = request.plan()
    assert plan.capex_usd == pytest.approx(220_000 + 2 * 700)
    assert plan.it_power_kw == pytest.approx(30)


def test_clusters_need_their_parts() -> None:
    request = bill_of_two()
    request.add(companion("joint", "management", "1 kW"), "500")
    cluster = {"max_units": figure(3), "alone": figure(1)}
    request.families[0]["cluster"] = cluster | {
        "parts": [{"item": "joint", "quantity": 2, **SOURCED}]
    }
    for boxes, clusters in ((2, 1), (3, 1), (4, 2)):
        request.more["items"] = {"box": {"fixed": boxes}}
        request.site["it_power"] = "90 kW"
        plan = request.plan()
        assert plan.capex_usd == pytest.approx(200_000 + 10_000 * boxes + 1000 * clusters)
        assert plan.it_power_kw == pytest.approx(20 + 5 * boxes + 2 * clusters)
    request.families[0]["cluster"]["alone"] = figure(3)
    request.more["items"] = {"box": {"fixed": 3}}
    assert request.plan().capex_usd == pytest.approx(230_000)


def test_lead_time() -> None:
    request = bill_of_two()
    request.items.append(store("slow", "fs"))
    request.prices["slow"] = price("1000", lead_time="8-16 weeks")
    assert request.plan().counts == {"gpu": 2, "slow": 2}
    request.more["targets"]["max_lead_time"] = "112 days"
    assert request.plan().counts == {"gpu": 2, "slow": 2}
    request.more["targets"]["max_lead_time"] = "111 days"
    assert request.plan().counts == {"gpu": 2, "box": 2}
    request.more["items"] = {"slow": {"installed": 1}}
    assert request.plan().counts == {"gpu": 2, "slow": 1, "box": 1}
    request.prices["box"]["lead_time"] = "4 months"
    assert request.best() is None


def test_money_over_time() -> None:
    request = bill_of_two()
    request.more["objective"] = {"minimize": "tco"}
    request.prices["gpu"] |= {"support_per_year": "1000 USD", "support_included_years": 0.5}
    request.prices["box"] |= {"support_per_year": "10 %", "per_year": "200 USD"}
    request.discounts = [{"discount": 0.25, "item": "box"}]
    request.items[1]["consumes"]["typical_power"] = figure("4 kW")
    term: Raw = {"years": 2.5, "electricity": "0.1 USD/kWh", "discount_rate": 0.1}
    request.more["term"] = term | {"support_years": 1.75, "energy_basis": "typical"}
    request.more["items"] = {"box": {"support_years": 9}}
    worth = [1 / 1.1, 1 / 1.1**2, 1 / 1.1**3]
    whole = worth[0] + worth[1] + 0.5 * worth[2]
    capex = 200_000 + 2 * 7500
    support = 2000 * (0.5 * worth[0] + 0.75 * worth[1]) + 2 * 750 * whole
    energy = (20 + 2 * 4) * 1.25 * 8760 * 0.1
    plan = request.plan()
    assert plan.value == pytest.approx(capex + support + (2 * 150 + energy) * whole, rel=1e-12)


@pytest.mark.parametrize(
    ("key", "amount"),
    [
        ("support_per_year", 2000.0),
        ("subscriptions_per_year", 600.0),
        ("energy_per_year", 30 * 1.25 * 8760 * 0.1),
        ("opex_per_year", 2000 + 600 + 30 * 1.25 * 876),
    ],
)
def test_yearly_budgets(key: str, amount: float) -> None:
    request = bill_of_two()
    request.prices["gpu"] |= {"support_per_year": "1 %", "per_year": "300 USD"}
    request.more["term"] = {"years": 3, "electricity": "0.1 USD/kWh"}
    request.more["budget"] = {key: f"{amount:.2f} USD"}
    assert request.best() is not None
    request.more["budget"] = {key: f"{amount - 0.01:.2f} USD"}
    assert request.best() is None


def test_budgets_on_useful_work() -> None:
    request = bill_of_two()
    request.job |= {"parameters": 1e9, "training": {"mfu": 0.5, "active_parameters": 2e9}}
    request.more["term"] = {"years": 2, "electricity": "0 USD/kWh"}
    plan = request.plan()
    hourly = 220_000 / (16 * plan.goodput * 8760 * 2)
    useful_flops = 16 * 1000e12 * 0.5 * plan.goodput
    tokens = useful_flops / (6 * 2e9) * 2 * 8760 * 3600
    for key, amount in (
        ("per_useful_gpu_hour", hourly),
        ("per_million_tokens", 220_000 / (tokens / 1e6)),
    ):
        request.more["budget"] = {key: f"{amount * 1.000001:.12g} USD"}
        assert request.plan().counts == plan.counts
        # A third system, or a third box, is more work for the money, or not.
        request.more["budget"] = {key: f"{amount * 0.999999:.12g} USD"}
        dearer = request.best()
        assert dearer is None or dearer.capex_usd > plan.capex_usd


def test_one_box_down() -> None:
    # 100/60 GB/s are needed with one box down, or with one of its four nodes.
    request = Bill(minimize="cost")
    request.storage["tolerate_down"] = 1
    assert request.plan().counts["box"] == 3
    request.items[1]["fail_units"] = figure(4)
    assert request.plan().counts["box"] == 2
    request.storage["tolerate_down"] = 2
    assert request.plan().counts["box"] == 3
    # The drain in the goodput is that of all three boxes.
    whole = request.plan().goodput
    request.storage["tolerate_down"] = 0
    request.more["items"] = {"box": {"min": 3}}
    assert request.plan().goodput == whole


def test_the_box_that_loses_most_goes_down() -> None:
    request = Bill(minimize="cost")
    request.storage["tolerate_down"] = 1
    request.items.append(store("large", "fs", write="2 GB/s"))
    request.prices["large"] = price("10000.01")
    # With a large one, 1.7 GB/s must be left besides it.
    assert request.plan().counts == {"gpu": 1, "large": 2}
    request.more["items"] = {"large": {"max": 1}}
    assert request.plan().counts == {"gpu": 1, "box": 2, "large": 1}


def test_tables_of_sizes_with_one_down() -> None:
    request = Bill(minimize="cost")
    rows = [
        {"units": 2, "read": "4 GB/s", "write": "2 GB/s"},
        {"units": 4, "read": "8 GB/s", "write": "3 GB/s"},
    ]
    request.items[1]["sizes"] = {"rows": rows, **SOURCED}
    request.storage["tolerate_down"] = 1
    # Two units write 2 GB/s and one of them half of it; three write 2.5 and two are left with 2.
    assert request.plan().counts["box"] == 3


def rivals(**objective: str) -> Bill:
    """Return a request with a dearer system and a dearer box of vendor Rival."""
    request = Bill(**objective)
    request.items += [gpu_system("other", 8, "10 kW"), store("vault", "fs")]
    for item in request.items[2:]:
        item["vendor"] = "Rival"
    request.prices |= {"other": price("108000"), "vault": price("12000")}
    return request


def test_forbidden_and_required_vendors() -> None:
    request = rivals(minimize="cost")
    assert request.plan().counts == {"gpu": 1, "box": 2}
    request.more["policy"] = {"forbid_vendors": ["Alpha"]}
    assert request.plan().counts == {"other": 1, "box": 2}
    request.more["policy"] = {"require_vendors": ["Rival"]}
    assert request.plan().counts == {"gpu": 1, "box": 1, "vault": 1}
    # An idle system is the only way to please two vendors of systems.
    request.more["policy"] = {"require_vendors": ["Alpha", "Rival"], "forbid_vendors": []}
    request.items.pop()
    del request.prices["vault"]
    assert request.plan().counts == {"gpu": 1, "other": 1, "box": 2}
    assert request.plan().gpus_used == 8


def test_split_by_units_and_by_money() -> None:
    request = rivals(minimize="cost")
    split = {"category": "storage", "max_share": "50 %"}
    request.more["policy"] = {"split": [split]}
    assert request.plan().counts == {"gpu": 1, "box": 1, "vault": 1}
    # One of each spend 12 of 22, four and three 40 of 76, five and four 50 of 98: 51 %.
    request.more["policy"] = {"split": [split | {"measure": "money", "max_share": "52 %"}]}
    request.site["it_power"] = "1 MW"
    request.more["items"] = {"gpu": {"max": 1}, "other": {"max": 0}}
    assert request.plan().counts == {"gpu": 1, "box": 5, "vault": 4}


def test_exactly_two_families() -> None:
    request = rivals(minimize="cost")
    request.families.append({"id": "other", "vendor": "Rival", "name": "other"})
    request.items[-1]["family"] = "other"
    request.storage |= {"exact_families": 2, "max_families": 2}
    assert request.plan().counts == {"gpu": 1, "box": 1, "vault": 1}


def test_preferred_vendors_within_a_share() -> None:
    request = rivals(minimize="cost")
    # 120,000 at best. Rival's system and boxes: 132,000; its system alone: 128,000; boxes: 124,000.
    request.more["policy"] = {"prefer": {"vendors": ["Rival"], "within": "1 %"}}
    plan = request.plan()
    assert (plan.counts, plan.others) == ({"gpu": 1, "box": 2}, 3)
    for within, counts, others in (
        ("4 %", {"gpu": 1, "vault": 2}, 1),
        ("9.9 %", {"gpu": 1, "vault": 2}, 1),
        ("10 %", {"other": 1, "vault": 2}, 0),
    ):
        request.more["policy"]["prefer"]["within"] = within
        plan = request.plan()
        assert (plan.counts, plan.others, plan.top) == (counts, others, 120_000)


def test_an_idle_system_can_make_a_fabric_cheaper() -> None:
    # Radix 12, 7 down and 5 up, a unit of 4 leaves for every system. Five systems take 20 leaves,
    # 20 spines and 25 cores, six 24, 20 and 10: 11 switches less for one more system.
    request = Bill(minimize="cost")
    request.site["it_power"] = "1 MW"
    request.more["targets"] = {"min_gpus": 40}
    request.more["items"] = {"gpu": {"max": 8}}
    request.add(switch("leaf", [group(12, 400, None)]), "20000")
    request.ports("compute", port(28, 400, rails=4), None)
    request.more["network"] = {"compute": {"switches": ["leaf"], "oversubscription": 1.5}}
    plan = request.plan()
    assert plan.counts["gpu"] == 6
    assert plan.capex_usd == pytest.approx(620_000 + 54 * 20_000)

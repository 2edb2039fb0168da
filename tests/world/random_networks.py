"""Random fabrics: small switches, so that spines, cores and steps appear at small counts."""

from __future__ import annotations

from random import Random

from tests.world.random_hardware import VENDORS, Hardware, Raw, figure, spread, text

NETWORK_VENDOR = "Nexus"
"""Makes no GPU system and no storage, so that no policy can forbid it."""
RADICES = (4, 4, 6, 8, 8, 12, 16)
SOURCED = {"source": "made_up", "confidence": "low"}


def companion(
    hardware: Hardware, random: Random, name: str, category: str, usd: tuple[float, float]
) -> Raw:
    """Add an item that comes with others, and its price, and return it."""
    item: Raw = {"id": name, "vendor": NETWORK_VENDOR, "model": name, "category": category}
    item["consumes"] = {}
    hardware.items.append(item)
    hardware.prices[name] = price(random, usd)
    return item


def price(random: Random, usd: tuple[float, float]) -> Raw:
    """Return a price, at times with support."""
    found: Raw = {"list": f"{spread(random, *usd):.2f} USD", "date": "2026-01", **SOURCED}
    if random.random() < 0.3:
        found["support_per_year"] = f"{random.uniform(2, 12):.1f} %"
    return found


def standing(random: Random, item: Raw, kw: tuple[float, float], heights: tuple[int, ...]) -> None:
    """Give a companion draw, height and at times weight."""
    item["consumes"] = {
        "it_power": figure(text(spread(random, *kw), "kW")),
        "rack_units": figure(f"{random.choice(heights)} RU"),
    }
    if random.random() < 0.4:
        item["consumes"]["weight"] = figure(text(random.uniform(8, 40), "kg"))


def _link(hardware: Hardware, random: Random, name: str, optics: bool = True) -> Raw:
    """Return what a link is made of: a cable, at times transceivers at one end or at both."""
    companion(hardware, random, f"{name}_cable", "cable", (60, 400))
    link: Raw = {"cable": f"{name}_cable"}
    if optics and random.random() < 0.2:
        link["links"] = 2
    for end in ("switch_end", "system_end"):
        if optics and random.random() < 0.6:
            optic = companion(hardware, random, f"{name}_{end}", "transceiver", (200, 900))
            if random.random() < 0.7:
                optic["consumes"]["it_power"] = figure(text(random.uniform(5, 20), "W"))
            else:
                optic["consumes"]["it_power"] = figure("0 kW")
            link[end] = {"item": optic["id"]}
            if random.random() < 0.4:
                link[end]["links"] = 2
    return link


def _switch(
    hardware: Hardware, random: Random, name: str, groups: tuple[tuple[int, int], ...]
) -> Raw:
    item = companion(hardware, random, name, "switch", (4e3, 30e3))
    standing(random, item, (0.2, 1.2), (1, 2))
    ports = [{"speed": f"{speed} Gb/s", "count": count} for speed, count in groups]
    for group in ports:
        if random.random() < 0.85:
            group["link"] = _link(hardware, random, f"{name}_{group['count']}")
    protocol = random.choice(("infiniband", "ethernet", "ethernet"))
    item["switch"] = {"protocol": protocol, "ports": ports, **SOURCED}
    return item


def compute(hardware: Hardware, random: Random) -> Raw:
    """Add one or two switches on offer and ports to most GPU systems; return the request."""
    names = []
    for index in range(random.choice((1, 2))):
        radix = random.choice(RADICES)
        top = random.choice((400, 400, 800))
        groups = ((top, radix), *(((top // 2, 2 * radix),) if random.random() < 0.5 else ()))
        names.append(_switch(hardware, random, f"fabric_{index}", groups)["id"])
    planes = random.choice((1, 1, 1, 2))
    usual = _compute_port(random, planes)
    for item in hardware.items:
        if item["category"] == "gpu_system" and random.random() < 0.95:
            item.setdefault("ports", {})["compute"] = (
                dict(usual) if random.random() < 0.65 else _compute_port(random, planes)
            )
    _as_drawn(hardware, Random(repr((names, planes, usual))), planes)
    wanted: Raw = {"switches": names, "planes": planes}
    wanted["oversubscription"] = random.choice((1, 1, 1.5, 2))
    if Random(repr((names, usual))).random() < 0.15:
        wanted["oversubscription"] = sorted({wanted["oversubscription"], 1.25})
    if random.random() < 0.5:
        wanted["manager"] = {"slots": 1, "ports": random.randint(0, 2)}
        if planes == 2:
            wanted["manager"]["transceiver"] = "fabric_own_end"
    return wanted


def _compute_port(random: Random, planes: int) -> Raw:
    rails = random.choice((1, 2, 2, 4))
    port: Raw = {"count": rails * random.choice((1, 1, 2)) * planes, "rails": rails, **SOURCED}
    port["speed"] = f"{random.choice((200, 400, 400))} Gb/s"
    if random.random() < 0.15:
        port["protocol"] = random.choice(("infiniband", "ethernet"))
    return port


def _as_drawn(hardware: Hardware, random: Random, planes: int) -> None:
    """Give some types' compute ports rail groups, planes of their own and other transceivers."""
    own = {"item": "fabric_own_end", "links": random.choice((1, 2))}
    group = random.choice((2, 3, 4))
    for item in hardware.items:
        port = item.get("ports", {}).get("compute")
        if port is None:
            continue
        if random.random() < 0.4:
            port["rail_group"] = group
        if planes == 2 and random.random() < 0.5:
            port["split"] = {"into": 2}
            if random.random() < 0.5:
                port["split"]["transceiver"] = own
        if random.random() < 0.3:
            port["transceiver"] = own
    optic = companion(hardware, random, "fabric_own_end", "transceiver", (200, 900))
    optic["consumes"]["it_power"] = figure(text(random.uniform(5, 20), "W"))


def edge(hardware: Hardware, random: Random, network: str) -> Raw:
    """Add the switch of a storage or in-band fabric and ports to most items."""
    radix = random.choice(RADICES)
    groups = [(200, radix)]
    if random.random() < 0.6:
        groups.append((100, random.choice((2 * radix, radix * 3 // 2))))
    name = f"{network}_switch"
    item = _switch(hardware, random, name, tuple(groups))
    item["switch"]["protocol"] = "ethernet"  # as of the management switches that uplink to it
    for item in hardware.items:
        if item["category"] in ("gpu_system", "storage") and random.random() < 0.9:
            item.setdefault("ports", {})[network] = {
                "count": random.choice((1, 1, 2, 3)),
                "speed": f"{random.choice((50, 100, 100, 200))} Gb/s",
                **SOURCED,
            }
    _forms(hardware, Random(repr((network, radix, groups))), network)
    wanted: Raw = {"switch": name, "min_switches": random.choice((1, 2))}
    if random.random() < 0.3:
        wanted["oversubscription"] = random.choice((1.5, 2))
    return wanted


def _forms(hardware: Hardware, random: Random, network: str) -> None:
    """Give some ports a form, and at times a group of the switch a link of its own for it."""
    switch = next(item for item in hardware.items if item["id"] == f"{network}_switch")
    if random.random() < 0.4:
        group = random.choice(switch["switch"]["ports"])
        group["forms"] = [_link(hardware, random, f"{network}_odd") | {"form": "odd"}]
    for item in hardware.items:
        port = item.get("ports", {}).get(network)
        if port is not None and random.random() < 0.4:
            port["form"] = "odd"


def out_of_band(hardware: Hardware, random: Random) -> Raw:
    """Add the out-of-band switch, on copper, and management ports."""
    item = companion(hardware, random, "oob_switch", "switch", (800, 6000))
    standing(random, item, (0.05, 0.2), (1,))
    ports: list[Raw] = [{"speed": "1 Gb/s", "count": random.randint(5, 16)}]
    ports[0]["link"] = _link(hardware, random, "oob", optics=False)
    ports.append({"speed": "100 Gb/s", "count": random.randint(2, 4)})
    item["switch"] = {"protocol": "ethernet", "ports": ports, **SOURCED}
    for device in hardware.items:
        if device["category"] in ("gpu_system", "storage") and random.random() < 0.9:
            port = {"count": random.choice((1, 1, 2)), "speed": "1 Gb/s", **SOURCED}
            device.setdefault("ports", {})["out_of_band"] = port
    uplinks, reserved = random.randint(0, 2), random.randint(0, 3)
    return {"switch": "oob_switch", "reserve_ports": reserved, "uplinks": uplinks}


def extra(hardware: Hardware, random: Random, name: str, networks: Raw, racks: bool) -> Raw:
    """Add a management item with ports; return how many are wanted, of racks where known."""
    item = companion(hardware, random, name, "management", (3e3, 40e3))
    standing(random, item, (0.2, 1.5), (1, 2, 4))
    for network in ("in_band", "out_of_band"):
        if network in networks and random.random() < 0.7:
            speed = "100 Gb/s" if network == "in_band" else "1 Gb/s"
            port = {"count": random.choice((1, 2)), "speed": speed, **SOURCED}
            item.setdefault("ports", {})[network] = port
    measures = ["count", "gpu_system", "gpu", "storage_unit", "switch"]
    per = random.choice([*measures, "rack"] if racks else measures)
    if per == "count":
        return {"count": random.randint(1, 3)}
    most = 60 if per == "gpu" else 5
    return {"per": per, "every": random.randint(1, most)}


SERVED = ("order", "gpu_system", "gpu", "storage_unit", "switch", "cable", "rack", "liquid_kw",
          "hardware", "hardware")  # fmt: skip


def service(hardware: Hardware, random: Random, name: str, racks: bool) -> str:
    """Add a service by one of its measures; percentages are dollars per 100 USD of hardware."""
    item = companion(hardware, random, name, "service", (20, 400))
    per = random.choice([each for each in SERVED if racks or each != "rack"])
    item["service"] = {"per": per}
    if per == "hardware":
        hardware.prices[name]["list"] = f"{spread(random, 0.2, 12):.2f} USD"
        if random.random() < 0.4:
            hardware.prices[name]["lead_time"] = f"{random.choice((2, 9))} weeks"
    if random.random() < 0.3:
        hardware.prices[name]["per_year"] = f"{spread(random, 5, 60):.2f} USD"
    return name


def software(hardware: Hardware, random: Random, name: str) -> str:
    """Add software licensed by one of the four measures."""
    item = companion(hardware, random, name, "software", (100, 2000))
    per = random.choice(("gpu", "gpu_system", "storage_unit", "usable_tb"))
    if per == "usable_tb":
        hardware.prices[name]["list"] = f"{spread(random, 5, 50):.2f} USD"
    item["licence"] = {"per": per}
    if random.random() < 0.5:
        item["licence"]["vendors"] = sorted(random.sample(VENDORS, random.randint(1, 2)))
    if random.random() < 0.6:
        hardware.prices[name]["per_year"] = f"{spread(random, 5, 300):.2f} USD"
    return name

"""The rest of a bill drawn around a random problem: companions, spares, policies, money in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.world import random_networks as switches
from tests.world.random_hardware import UNCOUNTABLE, Hardware, Raw, Reference, figure, spread, text

OTHERS_AT_MOST = 3
"""Units of GPU systems that are not the reference: every purchase of them is enumerated."""


@dataclass
class Draft:
    """A problem in the making with the hardware on offer and what it was drawn around."""

    random: Random
    hardware: Hardware
    problem: Raw
    reference: Reference

    @property
    def site(self) -> Raw:
        site: Raw = self.problem["site"]
        return site

    @property
    def devices(self) -> list[Raw]:
        """GPU systems and storage as they stand in racks: bundles by their components."""
        kinds = ("gpu_system", "storage", "component")
        return [i for i in self.hardware.items if i["category"] in kinds and "components" not in i]

    @property
    def pue(self) -> float:
        """Return the worst overhead."""
        pue = self.site["pue"]
        return max(pue.values()) if isinstance(pue, dict) else float(pue)

    def flawed(self, *flaws: str) -> bool:
        """Whether a decoy lacks something on purpose."""
        return bool({*self.hardware.decoys.values()} & {*flaws})

    def relax(self, section: Raw, *keys: str) -> None:
        """Widen limits that were drawn without companions."""
        for key in keys:
            if key in section:
                amount, unit = section[key].split()
                section[key] = text(float(amount) * self.random.uniform(1.05, 1.6), unit)


def add_features(random: Random, hardware: Hardware, problem: Raw, reference: Reference) -> None:
    """Add a random subset of what a complete bill knows."""
    draft = Draft(random, hardware, problem, reference)
    for name, entry in problem["items"].items():
        if name.startswith("gpu") and name != reference.system and "max" in entry:
            entry["max"] = max(min(entry["max"], OTHERS_AT_MOST), entry.get("installed", 0))
    for share, feature in FEATURES:
        if random.random() < share:
            feature(draft)
    _services(draft, Random(repr(draft.reference)))  # of their own, so that all else stays
    if "compute" in problem.get("network", {}) or "forbid_vendors" in problem.get("policy", {}):
        # What is demanded and cannot be planned is an input error, which is not of interest here.
        for entry in problem["items"].values():
            if entry.get("fixed") or "min" in entry:
                for key in ("fixed", "min"):
                    entry.pop(key, None)
                entry.setdefault("max", max(OTHERS_AT_MOST, entry.get("installed", 0)))


def _network(draft: Draft) -> None:
    random, hardware, network = draft.random, draft.hardware, Raw()
    if random.random() < 0.7:
        network["compute"] = switches.compute(hardware, random)
    for name in ("storage", "in_band"):
        if random.random() < 0.5:
            network[name] = switches.edge(hardware, random, name)
    if random.random() < 0.5:
        network["out_of_band"] = switches.out_of_band(hardware, random)
    if "storage" in network and Random(repr(network)).random() < 0.35:
        network["storage"]["carries_in_band"] = True
        network.pop("in_band", None)
    draft.problem["network"] = network
    _widen(draft)


def _widen(draft: Draft) -> None:
    draft.relax(draft.site, "it_power", "facility_power")
    draft.relax(draft.problem.get("budget", {}), "capex", "tco", "opex_per_year")
    if "racks" in draft.site:
        draft.site["racks"] += draft.random.randint(0, 4)


def _racks(draft: Draft) -> None:
    """Racks with a price, PDUs, classes and weights."""
    random, site = draft.random, draft.site
    if draft.flawed("no_power", "no_height"):
        return
    rack = site.setdefault("rack", {"height": f"{random.choice((42, 48, 52))} RU"})
    draws = [float(d["consumes"]["it_power"]["value"].split()[0]) for d in draft.devices]
    if random.random() < 0.5:
        rack["weight"] = text(random.uniform(600, 1500), "kg")
        for device in draft.devices:
            if random.random() < 0.8:
                device["consumes"]["weight"] = figure(text(spread(random, 20, 400), "kg"))
    if random.random() < 0.6:
        rack["item"] = switches.companion(draft.hardware, random, "rack", "rack", (1e3, 5e3))["id"]
        if random.random() < 0.5:
            draft.problem["items"]["rack"] = {"installed": random.randint(1, 6)}
    if random.random() < 0.6:
        pdu = switches.companion(draft.hardware, random, "pdu", "pdu", (800, 4000))
        pdu["provides"] = {"feed": figure(text(max(draws) * spread(random, 0.2, 1.2), "kW"))}
        rack["pdu"] = {"item": "pdu", "redundancy": random.choice(("N", "N+1", "2N"))}
    if random.random() < 0.5:
        site["rack_classes"] = _classes(random, max(draws))
    if "power" in rack and random.random() < 0.3:
        rack["whole_rack_power"] = text(max(draws) * random.uniform(1.02, 2), "kW")
    _widen(draft)


def _classes(random: Random, most_kw: float) -> Raw:
    classes: Raw = {}
    for name in random.sample(("gpu", "storage", "network"), random.randint(1, 3)):
        low, high = (3.2, 20) if name == "network" else (most_kw * 1.02, most_kw * 4)
        classes[name] = {"power": text(random.uniform(low, high), "kW")}
        if random.random() < 0.5:
            classes[name]["height"] = f"{random.choice((40, 44, 50))} RU"
    return classes


def _cooling(draft: Draft) -> None:
    random, site, reference = draft.random, draft.site, draft.reference
    for device in draft.devices:
        if random.random() < 0.6:
            share = random.choice((1.0, random.uniform(0.3, 0.95)))
            device["consumes"]["liquid_share"] = figure(round(share, 3))
    cooling: Raw = {}
    if random.random() < 0.7:
        cdu = switches.companion(draft.hardware, random, "cdu", "cdu", (5e3, 50e3))
        switches.standing(random, cdu, (0.3, 3), (4, 6, 30))
        cdu["provides"] = {
            "cooling": figure(text(reference.power_kw * spread(random, 0.1, 1), "kW"))
        }
        if random.random() < 0.2:
            cdu["consumes"]["racks"] = figure(1)
        cooling |= {"cdu": "cdu", "redundancy": random.choice(("N", "N+1", "2N"))}
    for key in ("air_limit", "liquid_limit"):
        if random.random() < 0.3 and not draft.flawed("no_power"):
            cooling[key] = text(reference.power_kw * random.uniform(0.4, 1.3), "kW")
    site["cooling"] = cooling
    if random.random() < 0.6:
        air = round(random.uniform(1.2, 1.7), 3)
        site["pue"] = {"air": air, "liquid": round(random.uniform(1.03, 1.2), 3)}
    _widen(draft)


def _feeds(draft: Draft) -> None:
    random = draft.random
    redundancy = random.choice(("N", "N+1", "2N"))
    count = random.choice((2, 4, 6))
    usable = {"N": count, "N+1": count - 1, "2N": count // 2}[redundancy]
    power_kw = draft.reference.power_kw * draft.pue * random.uniform(1.0, 1.6)
    draft.site["feeds"] = {
        "count": count,
        "power": text(power_kw / usable, "kW"),
        "redundancy": redundancy,
    }


def _term(draft: Draft) -> Raw:
    """Return the term, made up where there is none."""
    random = draft.random
    cents = random.uniform(4, 30)
    made: Raw = {"years": random.choice((3, 4, 2.5)), "electricity": f"{cents / 100:.4f} USD/kWh"}
    term: Raw = draft.problem.setdefault("term", made)
    return term


def _time(draft: Draft) -> None:
    """Money over time: a rate, support years, typical draw, colocation."""
    random, term = draft.random, _term(draft)
    if random.random() < 0.6:
        term["discount_rate"] = f"{random.uniform(2, 12):.2f} %"
    if random.random() < 0.4:
        term["support_years"] = random.choice((1, 2, 2.75, 5))
    if random.random() < 0.5:
        term["colocation"] = f"{random.uniform(40, 250):.2f} USD/kW/month"
    if random.random() < 0.5:
        term["energy_basis"] = "typical"
        for device in draft.devices:
            if random.random() < 0.6 and "it_power" in device["consumes"]:
                maximum = float(device["consumes"]["it_power"]["value"].split()[0])
                typical = text(maximum * random.uniform(0.5, 0.9), "kW")
                device["consumes"]["typical_power"] = figure(typical)
    for name in draft.hardware.prices:
        if random.random() < 0.25:
            draft.hardware.prices[name]["support_included_years"] = random.choice((1, 1.5, 3))
        if name in draft.problem["items"] and random.random() < 0.2:
            draft.hardware.prices[name]["lead_time"] = f"{random.choice((1, 2, 3, 9))} weeks"


def _budgets(draft: Draft) -> None:
    """Budgets on parts of the yearly money and on the price of useful work."""
    random, term, reference = draft.random, _term(draft), draft.reference
    budget = draft.problem.setdefault("budget", {})
    years, cents = term["years"], float(term["electricity"].split()[0])
    energy = reference.power_kw * draft.pue * 8760 * cents
    hours = reference.gpus * 8760 * years
    amounts = {
        "per_useful_gpu_hour": reference.capex_usd * random.uniform(1, 6) / hours,
        "opex_per_year": reference.capex_usd * random.uniform(0.1, 0.5) + energy,
    }
    training = draft.problem["jobs"][0]["training"]
    size = training.get("active_parameters") or draft.problem["jobs"][0]["parameters"]
    active = float(size.replace("B", "")) * 1e9
    useful_flops = reference.gpus * 1e15 * float(training["mfu"].split()[0]) / 100
    tokens = useful_flops / (6 * active) * 8760 * 3600 * years / 1e6
    amounts["per_million_tokens"] = reference.capex_usd * random.uniform(0.5, 6) / tokens
    for name in random.sample(sorted(amounts), random.randint(1, 2)):
        if name not in budget:
            budget[name] = f"{amounts[name]:.9g} USD"


def _spares(draft: Draft) -> None:
    random = draft.random
    if random.random() < 0.7:
        kinds = ("gpu_system", "storage", "switch", "transceiver", "cable", "management", "pdu")
        chosen = random.sample(kinds, random.randint(1, 5))
        draft.problem["spares"] = {kind: f"{random.choice((2, 5, 10, 30))} %" for kind in chosen}


def _shop(draft: Draft) -> None:
    """Packs, minimum orders, stock, lead times."""
    random, problem = draft.random, draft.problem
    for name, price in draft.hardware.prices.items():
        if random.random() < 0.25:
            price["pack"] = random.choice((2, 3, 4))
        if random.random() < 0.15:
            price["min_order"] = random.choice((2, 3, 5))
        if random.random() < 0.2:
            stock = random.randint(2, 10) * (1 if name in problem["items"] else 30)
            if random.random() < 0.5 and name in problem["items"]:
                problem["items"][name]["stock"] = stock
            else:
                price["stock"] = stock
        if random.random() < 0.4:
            first = random.randint(2, 14)
            span = random.choice((f"{first}", f"{first}-{first + random.randint(1, 12)}"))
            months = random.random() < 0.15
            price["lead_time"] = f"{first // 4 + 1} months" if months else f"{span} weeks"
        if name not in problem["items"] and random.random() < 0.1:
            problem["items"][name] = {"installed": random.randint(1, 12)}
    if random.random() < 0.4:
        problem["targets"]["max_lead_time"] = f"{random.choice((100, 130, 160))} days"


def _down(draft: Draft) -> None:
    random = draft.random
    draft.problem["storage"]["tolerate_down"] = random.choice((1, 1, 2))
    for item in draft.hardware.items:
        if item["category"] == "storage" and random.random() < 0.5:
            item["fail_units"] = figure(random.choice((2, 4, 10)))


def _policy(draft: Draft) -> None:
    random, policy = draft.random, Raw()
    makers = {i["id"]: i["vendor"] for i in draft.hardware.items}
    by_kind = {
        kind: {makers[name] for name in draft.hardware.of(kind)}
        for kind in ("gpu_system", "storage")
    }
    used = sorted(by_kind["gpu_system"] | by_kind["storage"])
    spare = [vendor for vendor in used if all(kind - {vendor} for kind in by_kind.values())]
    if spare and random.random() < 0.3:
        policy["forbid_vendors"] = [random.choice(spare)]
    if random.random() < 0.3:
        allowed = [vendor for vendor in used if vendor not in policy.get("forbid_vendors", [])]
        policy["require_vendors"] = [random.choice(allowed)]
    rivals = [kind for kind, vendors in by_kind.items() if len(vendors) > 1]
    if rivals and random.random() < 0.4:
        split = {"category": random.choice(rivals), "max_share": random.choice(("50 %", "75 %"))}
        policy["split"] = [split]
        draft.problem["storage"]["max_families"] = 2
    if random.random() < 0.6:
        chosen = random.sample(used, min(len(used), random.randint(1, 2)))
        policy["prefer"] = {"vendors": sorted(chosen), "within": f"{random.uniform(0, 20):.2f} %"}
    draft.problem["policy"] = policy


def _software(draft: Draft) -> None:
    count = draft.random.randint(1, 2)
    names = [switches.software(draft.hardware, draft.random, f"suite_{n}") for n in range(count)]
    draft.problem["software"] = names


def _services(draft: Draft, random: Random) -> None:
    if random.random() > 0.3:
        return
    racks = "rack" in draft.site and not draft.flawed("no_height", "no_power")
    draft.problem["services"] = [
        switches.service(draft.hardware, random, name, racks)
        for name in ("freight", "commissioning")[: random.randint(1, 2)]
    ]


def _extras(draft: Draft) -> None:
    networks = draft.problem.get("network", {})
    racks = "rack" in draft.site and not draft.flawed("no_height", "no_power")
    draft.problem["extras"] = {
        name: switches.extra(draft.hardware, draft.random, name, networks, racks)
        for name in ("manager", "server")[: draft.random.randint(1, 2)]
    }
    _widen(draft)


def _owned(draft: Draft) -> None:
    """Units that are there already, of what is on offer and of what is not; some are retired."""
    random, hardware = draft.random, draft.hardware
    for name in (*hardware.ordinary, *hardware.decoys):
        if hardware.decoys.get(name) in UNCOUNTABLE or random.random() < 0.6:
            continue
        entry = draft.problem["items"].setdefault(name, {})
        entry["installed"] = random.randint(1, 3)
        if random.random() < 0.15:
            entry["retire"] = True
        for key in ("max", "fixed"):
            if key in entry:
                entry[key] = max(entry[key], entry["installed"])


def _parts(draft: Draft) -> None:
    """Prices of components, and spares of the bundles that they make up."""
    random, hardware = draft.random, draft.hardware
    parts = [item["id"] for item in hardware.items if item["category"] == "component"]
    for name in parts:
        if random.random() < 0.7:
            hardware.prices[name] = switches.price(random, (1e3, 4e4))
            if random.random() < 0.3:
                hardware.prices[name]["pack"] = 2
    if parts and random.random() < 0.7:
        shares = {kind: f"{random.choice((2, 10, 30))} %" for kind in ("gpu_system", "storage")}
        draft.problem.setdefault("spares", {}).update(shares)


def _clusters(draft: Draft) -> None:
    """Storage families whose units make up clusters, each with switches of its own."""
    random, hardware = draft.random, draft.hardware
    names = [f"interconnect_{number}" for number in range(random.randint(1, 2))]
    for name in names:
        part = switches.companion(hardware, random, name, "management", (1e3, 3e4))
        switches.standing(random, part, (0.2, 1.5), (1, 2))
        if random.random() < 0.5:
            part["ports"] = {"out_of_band": {"count": 1, "speed": "1 Gb/s", **switches.SOURCED}}
    for family in hardware.families:
        if random.random() < 0.7:
            cluster: Raw = {"max_units": figure(random.randint(1, 4))}
            if random.random() < 0.4:
                cluster["alone"] = figure(random.randint(1, cluster["max_units"]["value"]))
            cluster["parts"] = [
                {"item": name, "quantity": random.randint(1, 3), **switches.SOURCED}
                for name in random.sample(names, random.randint(1, len(names)))
            ]
            family["cluster"] = cluster
    _widen(draft)


FEATURES: tuple[tuple[float, Callable[[Draft], None]], ...] = (
    (0.6, _network),
    (0.4, _racks),
    (0.35, _cooling),
    (0.15, _feeds),
    (0.25, _software),
    (0.3, _extras),
    (0.4, _time),
    (0.3, _budgets),
    (0.3, _spares),
    (0.3, _shop),
    (0.2, _down),
    (0.3, _policy),
    (0.25, _owned),
    (0.5, _parts),
    (0.2, _clusters),
)


def widen(random: Random, hardware: Hardware, problem: Raw, reference: Reference) -> None:
    """Draw again what decides how hard a proof is, more often at its ends and together.

    Failures as rare as in the field, long stalls, either mode, money over time as the only limit,
    spares as a share, whole replicas, every replica reading, floors near what can be had.
    """
    draft = Draft(random, hardware, problem, reference)
    for share, change in WIDER:
        if random.random() < share:
            change(draft)


def _job_of(draft: Draft) -> Raw:
    job: Raw = draft.problem["jobs"][0]
    return job


def _wide_failures(draft: Draft) -> None:
    rate = draft.random.choice((None, 1e-5, 1e-4, 1e-3, 3e-2))
    job = _job_of(draft)
    job.pop("failures", None)
    if rate is not None:
        job["failures"] = {"per_gpu_day": rate}
    job["restore"]["restart"] = text(draft.random.choice((1.0, 60.0, 600.0, 7200.0)), "s")


def _wide_checkpoint(draft: Draft) -> None:
    random, checkpoint = draft.random, _job_of(draft)["checkpoint"]
    checkpoint["mode"] = random.choice(("open", "open", "async", "sync"))
    checkpoint["stall"] = text(random.choice((0.0, 1.0, 60.0, 300.0)), "s")
    checkpoint["max_overlap"] = random.choice((0.05, 0.3, 1.0))
    checkpoint["max_blocking"] = random.choice((0.02, 0.3, 0.9))
    checkpoint["drain_slowdown"] = random.choice((0.0, 0.0, 0.1, 1.0))


def _wide_interval(draft: Draft) -> None:
    random = draft.random
    low_s = random.choice((1.0, 60.0, 300.0, 1800.0))
    kinds: tuple[Raw, ...] = (
        {"policy": "optimal", "min": text(low_s, "s"), "max": text(low_s * 1.5 + 1000, "s")},
        {"policy": "optimal", "min": text(low_s, "s"), "max": text(86_400.0, "s")},
        {"policy": "fixed", "every": text(random.choice((300.0, 1800.0, 14_400.0)), "s")},
    )
    _job_of(draft)["checkpoint"]["interval"] = random.choice(kinds)


def _wide_tco(draft: Draft) -> None:
    """Let money over the term decide alone."""
    random, reference, term = draft.random, draft.reference, _term(draft)
    cents = float(term["electricity"].split()[0])
    energy = reference.power_kw * draft.pue * 8760 * cents * term["years"]
    usd = (reference.capex_usd + energy) * random.uniform(1.0, 1.5)
    draft.problem["budget"] = {"tco": f"{usd:.2f} USD"}
    for key in ("it_power", "facility_power", "racks"):
        draft.site.pop(key, None)


def _wide_spares(draft: Draft) -> None:
    share = draft.random.choice((10, 20, 10, 20, 30, 40))
    draft.problem["spares"] = {"gpu_system": f"{share} %"}


def _wide_replicas(draft: Draft) -> None:
    random, job = draft.random, _job_of(draft)
    replica = random.choice([m for m in (2, 4, 6, 8, 12, 16, 32) if m <= draft.reference.gpus])
    job["parallelism"] = {"tensor": replica, "pipeline": 1}
    job["gpus"]["whole"] = "replicas"
    job["gpus"].pop("max_types", None)


def _wide_restore(draft: Draft) -> None:
    random, job, reference = draft.random, _job_of(draft), draft.reference
    if "parallelism" in job:
        job["restore"]["fan_out"] = "every_replica"
    size_gb = reference.read_gb_per_s * spread(random, 1, 300)
    job["restore"]["max_time"] = text(size_gb / reference.read_gb_per_s * 4, "s")


def _wide_families(draft: Draft) -> None:
    draft.problem["storage"]["max_families"] = min(2, len(draft.hardware.families))


def ask_for_gpus(gpus: Raw, least: int) -> None:
    """Raise the fewest GPUs of a job, within their maximum."""
    if least:
        gpus["min"] = min(max(least, gpus.get("min", 1)), gpus.get("max", least))


def _wide_floors(draft: Draft) -> None:
    random, targets = draft.random, draft.problem["targets"]
    gpus = draft.reference.gpus
    kinds: tuple[Raw, ...] = (
        {"min_goodput": f"{random.choice((10, 50, 80, 90, 95, 99))} %"},
        {"min_gpus": max(1, int(gpus * random.uniform(0.5, 1.0)))},
        {"min_useful_gpus": round(gpus * random.uniform(0.3, 0.95), 2)},
        {"min_useful_pflops": round(gpus * random.uniform(0.05, 0.5), 3)},
    )
    chosen = random.choice(kinds)
    ask_for_gpus(_job_of(draft)["gpus"], chosen.pop("min_gpus", 0))
    targets |= chosen


def _wide_ratio(draft: Draft) -> None:
    random, reference, term = draft.random, draft.reference, _term(draft)
    hours = reference.gpus * 8760 * term["years"]
    each = reference.capex_usd * random.uniform(1.0, 3.0) / hours
    draft.problem.setdefault("budget", {})["per_useful_gpu_hour"] = f"{each:.9g} USD"


WIDER: tuple[tuple[float, Callable[[Draft], None]], ...] = (
    (0.5, _wide_failures),
    (0.5, _wide_checkpoint),
    (0.4, _wide_interval),
    (0.3, _wide_tco),
    (0.35, _wide_spares),
    (0.3, _wide_replicas),
    (0.25, _wide_restore),
    (0.3, _wide_families),
    (0.3, _wide_floors),
    (0.2, _wide_ratio),
    (0.15, _feeds),
    (0.15, _down),
    (0.15, _policy),
)

"""Random problem files around a purchase that is meant to be within reach."""

from __future__ import annotations

from random import Random

from tests.world.random_features import add_features, ask_for_gpus, widen
from tests.world.random_hardware import (
    SHUNNED_VENDOR,
    UNCOUNTABLE,
    Hardware,
    Raw,
    Reference,
    random_reference,
    spread,
    text,
)

SHARE_WITH_FEATURES = 0.5
FLAWS_THAT_NEED_A_RACK = ("too_tall", "no_height")


def random_problem(random: Random, hardware: Hardware, *, wide: bool = False) -> Raw:
    """Return a raw problem file (without name, catalogs and prices).

    Args:
        random: where draws come from.
        hardware: what is on offer.
        wide: draw the ends of what decides how hard a proof is far more often.
    """
    share = {"read": round(random.uniform(0.4, 1), 3), "write": round(random.uniform(0.4, 1), 3)}
    reference = random_reference(random, hardware, share)
    problem: Raw = {"site": _site(random, hardware, reference)}
    budget = _budget(random, reference)
    problem |= {"budget": budget} if budget else {}
    objective, targets = _goal(random, reference)
    problem |= {"objective": objective, "targets": targets}
    priced = {"tco", "opex_per_year"} & {*budget} or objective.get("minimize") == "tco"
    if priced or random.random() < 0.2:
        years, cents = random.choice((3, 4, 5, 2.5)), random.uniform(4, 30)
        problem["term"] = {"years": years, "electricity": f"{cents / 100:.4f} USD/kWh"}
    problem["storage"] = _storage(random, reference, share)
    job = _job(random, hardware, reference)
    problem["jobs"] = [job]
    ask_for_gpus(job["gpus"], targets.pop("min_gpus", 0))
    problem["items"] = _items(random, hardware, reference, problem)
    consider = _consider(random, hardware)
    problem |= {"consider": consider} if consider else {}
    if random.random() < SHARE_WITH_FEATURES:
        add_features(random, hardware, problem, reference)
    if wide:
        widen(random, hardware, problem, reference)
    # Drawn apart, so that a seed keeps everything else it ever had.
    apart = Random(repr(reference))
    _lay_out(apart, hardware, reference, job)
    _be_indifferent(apart, objective)
    job["lost_time"] = f"{apart.uniform(1, 12):.2f} %" if apart.random() < 0.25 else "none"
    return problem


def _lay_out(random: Random, hardware: Hardware, reference: Reference, job: Raw) -> None:
    """Divide whole replicas so that tensor groups fit; at times state them by default."""
    if job["gpus"].get("whole") != "replicas":
        return
    size = int(hardware.numbers[reference.system]["gpus"])
    # A tensor group fits into the system of the reference; smaller ones may be left out for it.
    tensor = random.choice([n for n in range(1, size + 1) if reference.replica % n == 0])
    job["parallelism"] = {"tensor": tensor, "pipeline": reference.replica // tensor}
    if random.random() < 0.25:
        job["gpus"]["per_system"] = random.randint(max(tensor, size // 2), size)
    if random.random() < 0.3 and len(hardware.of("gpu_system")) > 1:
        job["gpus"]["max_types"] = 2
    if random.random() < 0.5:
        del job["gpus"]["whole"]


def _be_indifferent(random: Random, objective: Raw) -> None:
    """Give something away for money in some problems: the default, or a share."""
    kind = random.random()
    if kind < 0.15:
        del objective["indifference"]
    elif kind < 0.25:
        objective["indifference"] = f"{random.uniform(0.1, 5):.3f} %"


def _site(random: Random, hardware: Hardware, reference: Reference) -> Raw:
    pue = round(random.uniform(1.05, 1.6), 2)
    site: Raw = {"pue": pue}
    power_kw = reference.power_kw * random.uniform(0.95, 1.5)
    kind = random.random()
    if kind < 0.3:
        site["it_power"] = text(power_kw, "kW")
    if 0.25 < kind < 0.7:
        site["facility_power"] = text(power_kw * pue, "kW")
    limited = random.random() < 0.4
    if limited or random.random() < 0.1 or {*hardware.decoys.values()} & {*FLAWS_THAT_NEED_A_RACK}:
        site["rack"] = {"height": f"{random.choice((42, 48, 52))} RU"}
        # A rack's power cannot be judged for an item of unknown draw.
        if random.random() < 0.5 and "no_power" not in hardware.decoys.values():
            site["rack"]["power"] = text(_most_kw(hardware) * random.uniform(1.02, 4), "kW")
        if limited:
            site["racks"] = random.randint(4, 6 + reference.systems)
    return site


def _most_kw(hardware: Hardware) -> float:
    """Return the largest draw of a device that is not a bundle."""
    draws = (item["consumes"].get("it_power") for item in hardware.items)
    return max(float(draw["value"].split()[0]) for draw in draws if draw is not None)


def _budget(random: Random, reference: Reference) -> Raw:
    budget: Raw = {}
    if random.random() < 0.6:
        budget["capex"] = f"{reference.capex_usd * random.uniform(0.95, 1.5):.2f} USD"
    if random.random() < 0.15:
        budget["opex_per_year"] = f"{reference.capex_usd * random.uniform(0.05, 0.4):.2f} USD"
    if random.random() < 0.2:
        budget["tco"] = f"{reference.capex_usd * random.uniform(1.1, 2):.2f} USD"
    return budget


def _goal(random: Random, reference: Reference) -> tuple[Raw, Raw]:
    maximize = {"goodput": 5, "useful_gpus": 3, "gpus": 2}
    minimize = {"cost": 3, "tco": 2, "power": 2}
    names = [*maximize, *minimize]
    weights = [*maximize.values(), *minimize.values()]
    name = random.choices(names, weights)[0]
    objective = {"maximize" if name in maximize else "minimize": name, "indifference": 0}
    targets: Raw = {}
    share = 0.15 if name in maximize else 0.4
    if random.random() < share:
        targets["min_gpus"] = max(1, int(reference.gpus * random.uniform(0.2, 0.8)))
    if random.random() < share:
        targets["min_goodput"] = f"{random.uniform(5, 75):.1f} %"
    if random.random() < share:
        targets["min_useful_gpus"] = round(reference.gpus * random.uniform(0.1, 0.5), 2)
    if random.random() < share / 2:
        targets["min_useful_pflops"] = round(reference.gpus * random.uniform(0.01, 0.2), 3)
    if random.random() < share / 2:
        targets["max_days_to_train"] = f"{spread(random, 20, 1000):.1f} days"
    return objective, targets


def _storage(random: Random, reference: Reference, share: Raw) -> Raw:
    storage: Raw = {"delivered_fraction": share}
    if random.random() < 0.3:
        storage["fill_limit"] = f"{random.uniform(60, 100):.0f} %"
    if random.random() < 0.25:
        storage["max_families"] = 2
    if random.random() < 0.35:
        write = reference.write_gb_per_s / reference.systems * spread(random, 0.3, 3)
        read = reference.read_gb_per_s / reference.systems * spread(random, 0.3, 3)
        both = {"write": text(write, "GB/s"), "read": text(read, "GB/s")}
        kept = random.choice((["write", "read"], ["write"], ["read"]))
        storage["client_limit"] = {key: both[key] for key in kept}
    kind = random.random()
    if kind < 0.12:
        storage["rule"] = random.choice(("light", "medium", "high", "good", "better", "best"))
    elif kind < 0.35:
        each = random.uniform(0.3, 1.1) / reference.gpus
        storage["rule"] = {
            "read": text(reference.read_gb_per_s * each, "GB/s"),
            "write": text(reference.write_gb_per_s * each, "GB/s"),
        }
    return storage


def _job(random: Random, hardware: Hardware, reference: Reference) -> Raw:
    size_gb = reference.write_gb_per_s * spread(random, 1, 120)
    each = random.choice((14, 12, 10, 13.69))
    fan_out = random.choice(("broadcast", "broadcast", "sharded_optimizer", "every_replica"))
    job: Raw = {"name": "train"}
    if fan_out != "sharded_optimizer" and random.random() < 0.3:
        job["checkpoint"] = {"size": text(size_gb, "GB")}
        job["parameters"] = text(size_gb / 14, "B").replace(" ", "")
    else:
        job |= {"parameters": text(size_gb / each, "B"), "bytes_per_parameter": each}
    if each == 14 and random.random() < 0.5:
        job.pop("bytes_per_parameter", None)
    parallel = fan_out != "broadcast" or random.random() < 0.6
    if parallel:
        pipeline = 2 if reference.replica % 2 == 0 and random.random() < 0.5 else 1
        job["parallelism"] = {"tensor": reference.replica // pipeline, "pipeline": pipeline}
    job.setdefault("checkpoint", {}).update(_checkpoint(random, parallel))
    job["restore"] = _restore(random, reference, size_gb, fan_out, parallel)
    own_rates = any("failures_per_day" in item.get("gpu", {}) for item in hardware.items)
    if not own_rates and random.random() < 0.9:
        job["failures"] = {"per_gpu_day": round(_failures_per_gpu_day(random), 6)}
    job["training"] = {
        "tokens": text(spread(random, 0.01, 1), "T"),
        "mfu": f"{random.uniform(20, 60):.1f} %",
        "precision": random.choice(("bf16", "bf16", "fp8")),
    }
    if random.random() < 0.3:
        job["training"]["active_parameters"] = text(size_gb / 14 * random.uniform(0.1, 0.9), "B")
    job["gpus"] = _gpus(random, hardware, reference, parallel)
    job["dataset"] = text(reference.usable_tb * random.uniform(0, 0.5), "TB")
    if random.random() < 0.2:
        ingest = reference.read_gb_per_s / reference.gpus * random.uniform(0.05, 0.6)
        job["ingest_per_gpu"] = text(ingest, "GB/s")
    return job


def _failures_per_gpu_day(random: Random) -> float:
    """Return a rate that is mostly far above the field's, so that small clusters fail often."""
    low, high = random.choice(((1e-4, 1e-2), (1e-2, 1e-1), (1e-2, 1e-1), (1e-1, 1.0)))
    return spread(random, low, high)


def _checkpoint(random: Random, parallel: bool) -> Raw:
    checkpoint: Raw = {"mode": random.choices(("async", "sync", "open"), (5, 3, 2))[0]}
    checkpoint["stall"] = text(random.choice((0.0, 5.0, spread(random, 0.2, 30))), "s")
    checkpoint["writers"] = random.choice(("all", "one_replica")) if parallel else "all"
    checkpoint["max_overlap"] = round(spread(random, 0.03, 1), 4)
    checkpoint["max_blocking"] = round(spread(random, 0.02, 0.6), 4)
    if random.random() < 0.3:
        checkpoint["drain_slowdown"] = round(random.uniform(0.02, 1), 3)
    kind = random.random()
    if kind < 0.5:
        low_s = spread(random, 30, 900)
        high_s = low_s * spread(random, 1.5, 60) + 40
        checkpoint["interval"] = {
            "policy": "optimal",
            "min": text(low_s, "s"),
            "max": text(high_s, "s"),
        }
    else:
        checkpoint["interval"] = {"policy": "fixed", "every": text(spread(random, 120, 14400), "s")}
    checkpoint["keep_last"] = random.choice((0, 1, 2, 5)) + random.choice((0, 0, 0, 3))
    random.choice((0, 0, 2))  # seeds draw the same problems as ever
    return checkpoint


def _restore(
    random: Random, reference: Reference, size_gb: float, fan_out: str, parallel: bool
) -> Raw:
    restore: Raw = {"fan_out": fan_out, "restart": text(spread(random, 100, 9000), "s")}
    if random.random() < 0.45:
        times = reference.gpus / reference.replica if fan_out == "every_replica" else 1.0
        usual_s = times * size_gb / reference.read_gb_per_s
        restore["max_time"] = text(usual_s * spread(random, 1.5, 20), "s")
    return restore


def _gpus(random: Random, hardware: Hardware, reference: Reference, parallel: bool) -> Raw:
    gpus: Raw = {}
    if random.random() < 0.15:
        gpus["min"] = max(1, reference.gpus // random.randint(2, 6))
    if random.random() < 0.15:
        gpus["max"] = int(reference.gpus * random.uniform(0.6, 1.2))
    if parallel:
        gpus["whole"] = "replicas" if random.random() < 0.35 else "systems"
    several = len(hardware.of("gpu_system")) > 1 and random.random() < 0.3
    if several and gpus.get("whole") != "replicas":
        gpus["max_types"] = 2
    return gpus


def _items(random: Random, hardware: Hardware, reference: Reference, problem: Raw) -> Raw:
    """Return the demands on items: caps that keep the enumeration small, and a few rules."""
    entries: Raw = {name: {} for name in hardware.numbers}
    mixed = problem["jobs"][0]["gpus"].get("max_types") == 2
    for name, entry in entries.items():
        gpu = name.startswith("gpu")
        most = random.randint(2, 4 if mixed else 9) if gpu else random.randint(2, 6)
        if name == reference.system:
            most = max(most, min(reference.systems, 5) if mixed else reference.systems)
        if name == reference.store:
            most = max(most, reference.stores)
        entry["max"] = most
        if random.random() < 0.12:
            entry["installed"] = random.randint(1, 4)
            entry["max"] = max(most, entry["installed"])
    for name, flaw in hardware.decoys.items():
        if flaw == "excluded":
            entries[name] = {"exclude": True}
        elif flaw == "no_price":
            entries[name] = {"installed": random.randint(0, 2)}
        elif flaw in UNCOUNTABLE:
            entries[name].pop("installed", None)
    if random.random() < 0.25:
        _demand(random, hardware, reference, entries)
    return entries


def _demand(random: Random, hardware: Hardware, reference: Reference, entries: Raw) -> None:
    """Demand units of the reference's items, so that at most one storage family is forced."""
    name = random.choice((reference.system, reference.store))
    item = next(item for item in hardware.items if item["id"] == name)
    if "min_units" in item:
        entries[name]["min"] = 1
        return
    kind = random.choice(("fixed", "min", "required"))
    if kind == "fixed":
        entries[name].pop("max")
        entries[name]["fixed"] = max(random.randint(0, 3), entries[name].get("installed", 0))
    else:
        entries[name]["min"] = 1 if kind == "required" else random.randint(1, 2)


def _consider(random: Random, hardware: Hardware) -> Raw:
    consider: Raw = {}
    flaws = {*hardware.decoys.values()}
    if "vendor" in flaws or random.random() < 0.05:
        vendors = {item["vendor"] for item in hardware.items}
        consider["vendors"] = sorted(vendors - {SHUNNED_VENDOR})
    if "not_listed" in flaws and any(name.startswith("gpu") for name in hardware.decoys):
        consider["gpu_systems"] = hardware.of("gpu_system")
    elif len(hardware.families) > 1 and random.random() < 0.1:
        consider["storage_families"] = [family["id"] for family in hardware.families]
    return consider

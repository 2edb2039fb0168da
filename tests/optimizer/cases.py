"""Cases and small models that the optimiser's tests share."""

from __future__ import annotations

from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, companion, group, port, price, switch

FIBRE: Raw = {"switch_end": {"item": "twin", "links": 2}, "system_end": {"item": "optic"}}
UPLINKS = {"count": 2, "speed": "100 Gb/s"}
COOLING = {"cooling": figure("12 kW")}


def takes(draw: str, **more: str) -> Raw:
    return {"it_power": figure(draw), **{name: figure(value) for name, value in more.items()}}


def furnish(request: Request) -> Request:
    """Let one of everything come with the systems of a request: 4 ports on rails, 2 to storage."""
    gpu, box = request.items[0], request.items[1]
    gpu["ports"] = {
        "compute": port(4, 400, rails=4),
        "storage": port(2, 200),
        "in_band": port(1, 100),
        "out_of_band": port(1, 1),
    }
    gpu["consumes"]["liquid_share"] = figure(0.5)
    box["ports"] = {"storage": port(2, 100), "out_of_band": port(1, 1)}
    added = (
        (switch("spider", [group(8, 400, "fibre", **FIBRE)], "infiniband"), "9000"),
        (switch("edge", [group(8, 200, "fibre", **FIBRE), group(16, 100, "thin")]), "3000"),
        (switch("tick", [group(12, 1, "thin"), UPLINKS]), "500"),
        (companion("fibre", "cable"), "20"),
        (companion("thin", "cable"), "5"),
        (companion("twin", "transceiver", consumes=takes("0.02 kW")), "90"),
        (companion("optic", "transceiver", consumes=takes("0.01 kW")), "60"),
        (companion("frame", "rack"), "2000"),
        (companion("strip", "pdu", provides={"feed": figure("12 kW")}), "800"),
        (
            companion("pump", "cdu", consumes=takes("1 kW", rack_units="4 RU"), provides=COOLING),
            "7000",
        ),
        (companion("server", "management", consumes=takes("0.5 kW", rack_units="2 RU")), "4000"),
        (companion("suite", "software", licence={"per": "gpu"}), "0"),
    )
    for item, usd in added:
        request.items.append(item)
        request.prices[item["id"]] = price(usd)
    request.prices["suite"]["per_year"] = "300 USD"
    edge = {"switch": "edge"}
    request.more |= {
        "network": {
            "compute": {"switches": ["spider"], "manager": {"slots": 1, "ports": 1}},
            "storage": edge,
            "in_band": edge | {"oversubscription": 3.0},
            "out_of_band": {"switch": "tick"},
        },
        "software": ["suite"],
        "extras": {"server": {"per": "gpu", "every": 12}},
    }
    request.site["rack"] = {
        "height": "24 RU",
        "power": "24 kW",
        "item": "frame",
        "pdu": {"item": "strip", "redundancy": "N+1"},
    }
    request.site["cooling"] = {"cdu": "pump", "redundancy": "N+1"}
    return request


# A problem with every limit there is.


TERM = {"years": 4, "electricity": "0.1 USD/kWh", "colocation": "100 USD/kW/month"}


def everything_limited(**more: Raw) -> Request:
    """Return a whole bill with every limit there is, each of them generous."""
    request = furnish(Request(maximize="useful_gpus"))
    request.site |= {
        "it_power": "200 kW",
        "racks": 40,
        "weight_limit": "900 t",
        "pue": {"air": 1.5, "liquid": 1.2},
        "feeds": {"count": 2, "power": "200 kW"},
    }
    request.site["cooling"] |= {"air_limit": "190 kW", "liquid_limit": "190 kW"}
    request.items[0]["consumes"]["weight"] = figure("130 kg")
    request.items[1]["provides"]["endurance"] = figure("90 TB/day")
    request.items[1] |= {"min_units": figure(2), "max_units": figure(30)}
    request.families[0]["max_units"] = figure(29)
    request.storage["tolerate_down"] = 1
    request.prices["gpu"]["support_per_year"] = "5 %"
    request.job |= {
        "parameters": "7 B",
        "parallelism": {"tensor": 4, "pipeline": 2},
        "restore": {"max_time": "9 min", "restart": "600 s"},
        "ingest_per_gpu": "0.01 GB/s",
        "training": {"mfu": 0.5, "tokens": "0.1 T"},
        "gpus": {"min": 8, "max": 400},
        "repair": {"share": 0.78, "time": "24 h", "spares": 1},
        "dataset": "10 TB",
    }
    request.more |= {
        "term": TERM,
        "budget": {
            "capex": "90 MUSD", "opex_per_year": "90 MUSD", "tco": "99 MUSD",
            "per_useful_gpu_hour": "99 USD", "per_million_tokens": "99 USD",
        },
        "targets": {
            "min_goodput": 0.1, "min_useful_gpus": 1, "min_useful_pflops": 0.1,
            "max_days_to_train": "900 days", "max_lead_time": "900 days",
        },
        "items": {"gpu": {"min": 1, "max": 40, "stock": 60}, "optic": {"stock": 900}},
        "policy": {
            "require_vendors": ["Beta"],
            "split": [{"category": "storage", "max_share": 1.0}],
        },
        **more,
    }  # fmt: skip
    return request

"""A problem with every limit there is."""

from __future__ import annotations

from tests.optimizer.cases import furnish
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request

TERM = {"years": 4, "electricity": "0.1 USD/kWh", "colocation": "100 USD/kW/month"}


def everything_limited(**more: Raw) -> Request:
    """Return a whole bill with every limit there is, each of them generous."""
    request = furnish(Request(maximize="useful_gpus"))
    request.site |= {
        "it_power": "200 kW", "racks": 40, "weight_limit": "900 t",
        "pue": {"air": 1.5, "liquid": 1.2},
        "feeds": {"count": 2, "power": "200 kW"},
    }  # fmt: skip
    request.site["cooling"] |= {"air_limit": "190 kW", "liquid_limit": "190 kW"}
    request.items[0]["consumes"]["weight"] = figure("130 kg")
    request.items[1]["provides"]["endurance"] = figure("90 TB/day")
    request.items[1] |= {"min_units": figure(2), "max_units": figure(30)}
    request.families[0]["max_units"] = figure(29)
    request.storage["tolerate_down"] = 1
    request.prices["gpu"]["support_per_year"] = "5 %"
    request.job |= {
        "parameters": "7 B", "parallelism": {"tensor": 4, "pipeline": 2},
        "restore": {"max_time": "9 min", "restart": "600 s"}, "ingest_per_gpu": "0.01 GB/s",
        "training": {"mfu": 0.5, "tokens": "0.1 T"},
        "gpus": {"hot_spares": 1, "min": 8, "max": 400}, "dataset": "10 TB",
    }  # fmt: skip
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

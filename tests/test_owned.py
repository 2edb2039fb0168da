"""What is owned stays in the plan: idle or at work, and what that says on the screen.

A GPU system draws 10 kW and a box 5 kW; two boxes serve the job. ``big`` has twice the GPUs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import InputError
from planner.report.views.plan import whole
from planner.schema.plan import Line, Plan
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, gpu_system, price
from tests.world.solved import solve

SOURCED = {"source": "made_up", "confidence": "low"}


def owner(**rule: object) -> Request:
    """Return a request of somebody who owns two systems where better ones are on offer."""
    request = Request(maximize="gpus")
    request.items.append(gpu_system("big", 16, "15 kW"))
    request.prices["big"] = price("100000")
    request.more["items"] = {"gpu": {"installed": 2, "max": 2} | rule}
    request.site["it_power"] = "61 kW"
    return request


def solved(request: Request) -> Plan:
    return solve(inputs_of(request.case()), explain=False)


def line(plan: Plan, sku: str) -> Line:
    return next(each for each in plan.lines if each.sku == sku)


def with_fabric(request: Request) -> None:
    """Let every system have two ports on a fabric of one switch per 8 ports."""
    switch = {"protocol": "ethernet", "ports": [{"count": 8, "speed": "400 Gb/s"}], **SOURCED}
    consumes = {"it_power": figure("1 kW"), "rack_units": figure("1 RU")}
    leaf: Raw = {"id": "leaf", "vendor": "Net", "model": "leaf", "category": "switch"}
    request.items.append(leaf | {"consumes": consumes, "switch": switch})
    request.prices["leaf"] = price("1000")
    for item in request.items:
        if item["category"] == "gpu_system":
            item["ports"] = {"compute": {"count": 2, "speed": "400 Gb/s", **SOURCED}}
    request.more["network"] = {"compute": {"switches": ["leaf"]}}


def test_idle_systems_draw_power_and_need_no_fabric() -> None:
    request = owner()
    with_fabric(request)
    request.site["it_power"] = "71 kW"
    plan = solved(request)
    # 20 kW stand there, two boxes draw 10, the switch 1: two big ones of 15 kW, on 4 ports.
    assert line(plan, "big").quantity == 2
    idle = line(plan, "gpu")
    assert (idle.quantity, idle.idle, idle.purchased, idle.gpus) == (2, 2, 0, 0)
    assert idle.it_power_kw == pytest.approx(20)
    assert [(fabric.endpoints, fabric.serves) for fabric in plan.fabrics] == [(4, ("big",))]
    assert plan.totals is not None
    assert (plan.totals.gpus, plan.totals.it_power_kw) == (32, pytest.approx(61))


def test_fixed_counts_what_is_there_and_is_named() -> None:
    plan = solved(owner(fixed=2, max=None))
    assert (line(plan, "gpu").quantity, line(plan, "gpu").idle) == (2, 2)
    assert "2 units, exactly 2" in whole(plan)
    more = solved(owner(fixed=3, max=None))
    assert (line(more, "gpu").quantity, line(more, "gpu").purchased) == (3, 1)


def test_no_more_are_in_the_cluster_than_the_job_may_use() -> None:
    request = owner(installed=4, max=4)
    del request.items[2]
    request.job["gpus"] = {"max": 16}
    with_fabric(request)
    request.site["it_power"] = "60 kW"
    plan = solved(request)
    assert (line(plan, "gpu").quantity, line(plan, "gpu").idle) == (4, 2)
    assert plan.fabrics[0].endpoints == 4
    assert plan.idle[0].reason == "gpus.max of the job 'train' is 16"


def test_excluded_and_forbidden_units_stand_there() -> None:
    request = owner(exclude=True)
    (idle,) = solved(request).idle
    assert (idle.reason, idle.fix.split(";")[0]) == (
        "excluded by items",
        "take away items.gpu.exclude",
    )
    request = owner()
    request.items[0]["vendor"] = "Omega"
    request.more["policy"] = {"forbid_vendors": ["Omega"]}
    (idle,) = solved(request).idle
    assert idle.fix.startswith("take Omega out of policy.forbid_vendors")


@pytest.mark.parametrize("key", ["fixed", "max"])
def test_less_than_is_owned_is_refused_with_its_line(tmp_path: Path, key: str) -> None:
    path = tmp_path / "problem.yaml"
    path.write_text(
        "name: p\nsite: {pue: 1.2, it_power: 1 MW}\nitems:\n"
        f"  nvidia_dgx_h100: {{installed: 8, {key}: 4}}\n"
        "storage: {delivered_fraction: {read: 1.0, write: 1.0}}\n"
        "jobs: [{name: j, parameters: 70 B}]\nobjective: {maximize: gpus}\n"
    )
    wanted = r"problem.yaml:4: .*the 8 installed stay; .*retire: true"
    with pytest.raises(InputError, match=wanted):
        solve(path)


def with_owned_spares(owned: int) -> Request:
    """Return a job of 32 GPUs on four of the systems that are owned; the others can be spares."""
    request = Request(maximize="goodput")
    request.site["it_power"] = "500 kW"
    request.more["items"] = {
        "gpu": {"installed": owned, "max": owned},
        "box": {"installed": 2, "max": 2},
    }
    request.job |= {"repair": {"share": 0.8, "time": "96 h", "unit": "system"}, "gpus": {"max": 32}}
    return request


@pytest.mark.parametrize("objective", ["goodput", "useful_gpus"])
@pytest.mark.parametrize("indifference", [0.005, 0.1])
@pytest.mark.parametrize("owned", [5, 6, 8])
def test_owned_spares_that_help_stand_by(owned: int, indifference: float, objective: str) -> None:
    request = with_owned_spares(owned)
    request.more["objective"] = {"maximize": objective, "indifference": indifference}
    truth, plan = request.plan(), solve(inputs_of(request.case()))
    assert truth.counts["gpu"] == owned
    repair = plan.jobs[0].repair
    assert repair is not None and repair.spares == owned - 4
    assert plan.jobs[0].goodput == pytest.approx(truth.goodput)
    assert plan.totals.capex_usd == 0.0
    assert not any(line.idle for line in plan.lines)

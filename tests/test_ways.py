"""In which way a job runs: set points, precisions, measured rates, laws of scale."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from planner import api
from planner.case import resolve
from planner.errors import InputError, VerificationError
from planner.figures import DRAW, STATED, TO_LIQUID, Stated
from planner.optimizer.ways import needed
from planner.outputs.console import render
from planner.schema.plan import Plan
from planner.sizing.throughput import MemoryNeed
from planner.sizing_report import size_report
from planner.verifier import verify
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.world.commands import once
from tests.world.random_cases import Case, inputs_of, random_case, read
from tests.world.random_hardware import figure
from tests.world.requests import Request, gpu_system, price

Raw = dict[str, Any]
CHUNKS, SEEDS_PER_CHUNK = 10, 12
MODEL = "dense_70b"


def with_levers(seed: int, case: Case | None = None) -> Case:
    """Return a random problem whose job may choose: curves, rates and laws drawn at random."""
    random, case = Random(f"levers {seed}"), case or random_case(seed)
    documents = copy.deepcopy(dict(case.documents))
    problem, catalog = documents["problem"], documents["catalog"]
    job: Raw = problem["jobs"][0]
    job.setdefault("gpus", {}).pop("max_types", None)
    systems = [item for item in catalog["items"] if item["category"] == "gpu_system"]
    for item in systems:
        if random.random() < 0.7:
            item["power_points"] = _curve(random)
    job["power"] = {"points": "open", "reading": random.choice(("low", "middle", "high"))}
    if random.random() < 0.5:
        job["power"]["curve"] = [_row(random, cap) for cap in (90, 75)]
    training: Raw = job["training"]
    if random.random() < 0.5:
        training.pop("mfu")
        training |= {"model": MODEL, "precision": random.choice((["bf16", "fp8"], ["fp8"]))}
        for item in systems:
            item["achieved"] = _measured(random)
    parallel = "parallelism" in job
    if parallel and random.random() < 0.6:
        job["parallelism"] = _options(random, job["parallelism"])
    law = random.choice(("none", "exponent", "table", "bubble" if parallel else "table"))
    if law != "none":
        training["scale"] = _scale(random, law)
    return read(documents)


def _options(random: Random, first: Raw) -> list[Raw]:
    """Return options: the one that is drawn, longer pipelines, wider groups, more replicas."""
    tensor, pipeline = first["tensor"], first["pipeline"]
    others = [
        {"tensor": tensor, "pipeline": pipeline + 1},
        {"tensor": 2 * tensor, "pipeline": pipeline},
        {"tensor": tensor, "pipeline": pipeline, "context": 2},
    ]
    options = [dict(first), *random.sample(others, random.choice((0, 1, 2)))]
    for option in options:
        if random.random() < 0.5:
            option["factor"] = round(random.uniform(0.8, 1.0), 3)
        if random.random() < 0.3:
            option["min_replicas"] = random.choice((2, 3))
        if random.random() < 0.3:
            option["memory"] = {"held": 2, "shared": random.choice((4, 12)), "activations": "5 GB"}
    return options


def _row(random: Random, cap: int) -> Raw:
    share = (cap / 100) ** random.uniform(0.2, 1.0)
    row: Raw = {"gpu_cap": f"{cap} %", "throughput": round(share, 4)}
    row["power"] = round(1.0 - random.uniform(0.4, 0.9) * (1.0 - cap / 100), 4)
    if random.random() < 0.5:
        row |= {"low": round(share * 0.95, 4), "high": round(min(1.0, share * 1.03), 4)}
    return row


def _curve(random: Random) -> list[Raw]:
    caps = random.sample((90, 85, 80, 70, 60, 50), random.choice((1, 2, 3)))
    said = {"source": "made_up", "confidence": "low"}
    return [_row(random, cap) | said for cap in caps]


def _measured(random: Random) -> list[Raw]:
    said = {"model": MODEL, "source": "made_up", "confidence": "low"}
    return [
        {"precision": precision, "gpus": random.choice((8, 16, 32)), **said}
        | {"rate": f"{random.uniform(200, 900) * (1.5 if precision == 'fp8' else 1.0):.1f} TFLOP/s"}
        for precision in ("bf16", "fp8")
        if random.random() < 0.9
    ]


def _scale(random: Random, law: str) -> Raw:
    if law == "exponent":
        return {"exponent": round(random.uniform(0.01, 0.3), 3), "reference": 16}
    if law == "bubble":
        return {"micro_batches": random.choice((2, 5, 8, 64)), "interleave": random.choice((1, 2))}
    shares, share = [], 1.0
    for gpus in (4, 12, 30, 80):
        shares.append({"gpus": gpus, "share": round(share, 4)})
        share *= random.choice((0.99, 0.9, 0.75))
    return {"table": shares}


def faults(seed: int) -> list[str]:
    """Return what is wrong with the plan of a case with levers, by exhaustive enumeration."""
    case = with_levers(seed)
    truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
    try:
        return disagreements(case, api.solve_inputs(inputs_of(case), explain=False), truth)
    except Exception as error:  # so that one seed does not hide the others
        return [f"{type(error).__name__}: {error}; enumerated {truth}"]


@pytest.mark.exhaustive(keep=2, most=4)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_optimiser_finds_the_enumerated_best_way(chunk: int) -> None:
    seeds = range(7000 + chunk * SEEDS_PER_CHUNK, 7000 + (chunk + 1) * SEEDS_PER_CHUNK)
    found = {seed: faults(seed) for seed in seeds}
    wrong = {seed: said for seed, said in found.items() if said}
    assert not wrong, "\n".join(f"seed {seed}: {said}" for seed, said in wrong.items())


# Known answers: a system of 8 GPUs of 1 kW draws 10 kW, so a cap of 50 % leaves 6 kW of it. Two
# stores take 10 of the 50 kW: four systems at full power, six at the cap.


def capped(points: Any, throughput: str, **row: Any) -> Request:
    """Return the small request with the GPUs' power and a curve of one point."""
    request = Request(maximize="goodput")
    request.items[0]["gpu"]["tdp"] = figure("1 kW")
    request.job["training"] = {"mfu": "40 %"}
    curve = [{"gpu_cap": "50 %", "throughput": throughput, **row}]
    request.job["power"] = {"points": points, "curve": curve}
    return request


def planned(request: Request) -> Plan:
    return api.solve_inputs(inputs_of(request.case()), explain=False)


@pytest.mark.parametrize(
    ("points", "throughput", "systems", "kw"),
    [
        ("open", "80 %", 6, 36.0),
        ("open", "60 %", 4, 40.0),
        ("100 %", "80 %", 4, 40.0),
        ("50 %", "60 %", 6, 36.0),
        (["100 %", "50 %"], "80 %", 6, 36.0),
    ],
)
def test_a_cap_is_taken_where_more_gpus_do_more(
    points: Any, throughput: str, systems: int, kw: float
) -> None:
    plan = planned(capped(points, throughput))
    (line,) = (line for line in plan.lines if line.sku == "gpu")
    assert (line.quantity, line.it_power_kw) == (systems, pytest.approx(kw))
    (way,) = plan.jobs[0].ways
    at_cap = kw / systems < 10.0
    assert way.power_share == pytest.approx(0.6 if at_cap else 1.0)
    assert way.gpu_limit_w == pytest.approx(500.0 if at_cap else 1000.0)
    share = float(throughput.split()[0]) / 100 if at_cap else 1.0
    useful = plan.jobs[0].useful_gpus * 1000.0 * 0.4 * share / 1000.0
    assert plan.jobs[0].useful_pflops == pytest.approx(useful)
    assert any("cap the GPUs at 50 %" in note for note in line.notes) == at_cap


def test_an_end_of_the_curve_is_read_where_that_is_asked_for() -> None:
    request = capped("open", "70 %", low="60 %", high="90 %")
    for reading, cap in (("middle", 0.5), ("low", 1.0), ("high", 0.5)):  # 6 x 0.6 is less than 4
        request.job["power"]["reading"] = reading
        assert planned(request).jobs[0].ways[0].gpu_cap == cap, reading


def test_the_screen_says_what_to_configure_and_how_sure_it_is() -> None:
    screen = render(planned(capped("50 %", "80 %", low="70 %", high="90 %")))
    flat = " ".join(screen.split())
    assert "GPUs capped at 50 % of their power (500 W each): 6.0 of 10.0 kW a system" in flat
    assert "leaves 80.0 % of the rate (70.0 % to 90.0 %)" in flat
    assert "the curve leaves the useful work of this plan between" in flat


def test_full_power_alone_changes_nothing() -> None:
    free, told = Request(maximize="goodput"), capped("100 %", "80 %")
    free.job["training"] = {"mfu": "40 %"}
    without, with_it = planned(free), planned(told)
    assert without.totals == with_it.totals
    assert without.objective.value == with_it.objective.value
    assert without.jobs[0].ways == ()


def test_a_type_without_a_point_that_is_asked_for_is_left_out() -> None:
    request = capped("50 %", "80 %")
    del request.items[0]["gpu"]["tdp"]  # what a cap leaves of the system is not known
    case = resolve(inputs_of(request.case()))
    assert case.systems == ()
    assert dict(case.not_considered)["gpu"] == "not known: a power set point at a cap of 0.5"


def test_energy_counts_what_is_drawn_typically_but_never_more_than_is_provisioned() -> None:
    request = capped("50 %", "80 %")
    request.items[0]["consumes"]["typical_power"] = figure("7 kW")
    request.more["term"] = {
        "years": 1, "electricity": "0.1 USD/kWh", "energy_basis": "typical"
    }  # fmt: skip
    plan = planned(request)
    assert plan.totals is not None
    drawn_kw = 6 * 6.0 + 10.0  # six systems at 6 kW, not 7; two stores
    assert plan.totals.energy_usd_per_year == pytest.approx(drawn_kw * 1.25 * 8760 * 0.1)


def measured_request(**scale: Any) -> Request:
    request = Request(maximize="goodput")
    request.items[0]["achieved"] = [
        {"model": MODEL, "precision": "bf16", "gpus": gpus, "rate": f"{rate} TFLOP/s"}
        | {"source": "made_up", "confidence": "low"}
        for gpus, rate in ((8, 500), (16, 420), (16, 400))
    ]
    request.job["training"] = {"model": MODEL} | ({"scale": scale} if scale else {})
    return request


def test_the_slowest_rate_on_the_most_gpus_counts() -> None:
    job = planned(measured_request()).jobs[0]
    assert (job.ways[0].rate_tflops, job.ways[0].rate_gpus) == (400.0, 16)
    assert (job.tflops_per_gpu, job.mfu) == (1000.0, pytest.approx(0.4))
    assert job.useful_pflops == pytest.approx(job.useful_gpus * 0.4)


@pytest.mark.parametrize(
    ("scale", "share"),
    [
        ({"exponent": 0.1}, 2.0**-0.1),
        ({"table": [{"gpus": 16, "share": 0.9}, {"gpus": 64, "share": 0.5}]}, (0.5 / 0.9) ** 0.5),
        ({"table": [{"gpus": 2, "share": 1.0}, {"gpus": 8, "share": 0.8}]}, 0.8**0.5),
    ],
)
def test_scale_counts_from_where_the_rate_was_measured(scale: Raw, share: float) -> None:
    job = planned(measured_request(**scale)).jobs[0]
    assert job.gpus_used == 32
    assert job.scale_share == pytest.approx(share)
    assert job.useful_pflops == pytest.approx(job.useful_gpus * 0.4 * share)


def test_a_pipeline_waits_for_its_bubble() -> None:
    request = Request(maximize="goodput")
    request.job["training"] = {"mfu": "40 %", "scale": {"micro_batches": 24}}
    request.job["parallelism"] = {"tensor": 2, "pipeline": 4}
    job = planned(request).jobs[0]
    # 4 replicas of 8 GPUs: 6 micro-batches each, and 3 stages to fill and drain.
    assert (job.gpus_used, job.scale_share) == (32, pytest.approx(6 / 9))


@pytest.mark.parametrize(
    ("micro_batches", "gpus", "each"),
    [
        (6, 24, 2),  # 24 / (1 + 3/2) are 9.6, and 32 GPUs with one each do 32 / (1 + 3/1)
        (7, 24, 2),
        (8, 32, 2),
        (11, 32, 2),  # 32 / (1 + 3/2) are 12.8, and 24 GPUs with three each do 24 / (1 + 3/3)
        (24, 32, 6),
        (26, 32, 6),
    ],
)
def test_copies_of_the_model_share_micro_batches_evenly(
    micro_batches: int, gpus: int, each: int
) -> None:
    plan = planned(few(micro_batches))
    assert plan.jobs[0].gpus_used == gpus
    assert plan.jobs[0].scale_share == pytest.approx(each / (each + 3))
    rest = each * gpus // 8
    said = [text for text in plan.warnings if "micro-batches" in text]
    assert bool(said) == (rest < micro_batches)
    if said:
        assert said[0].startswith(
            f"a step takes {rest} micro-batches, {each} for each of {gpus // 8} "
        )


def few(micro_batches: int, *options: Raw, **job: Any) -> Request:
    """Return the small request with so few micro-batches a step; a copy of the model is 8 GPUs."""
    request = Request(maximize="goodput")
    request.job["training"] = {"mfu": "40 %", "scale": {"micro_batches": micro_batches}}
    request.job["parallelism"] = list(options) or {"tensor": 2, "pipeline": 4}
    request.job |= job
    return request


@pytest.mark.parametrize(("micro_batches", "gpus"), [(1, 8), (3, 24), (4, 32), (5, 32)])
def test_each_copy_of_the_model_takes_a_micro_batch(micro_batches: int, gpus: int) -> None:
    """Four systems of 8 GPUs have room, each a copy of the model."""
    plan = planned(few(micro_batches))
    assert plan.jobs[0].gpus_used == gpus
    (limit,) = (limit for limit in plan.limits if limit.name == "micro_batches")
    assert (limit.limit, limit.value) == (8 * micro_batches, gpus)
    assert limit.binding == (micro_batches <= 4)


@pytest.mark.parametrize(
    ("options", "pipeline", "gpus"),
    [
        # 2 micro-batches fill 16 GPUs of the one, and 8 of the other, which has no bubble:
        # 16 / (1 + 3/1) are less than 8.
        ([{"tensor": 2, "pipeline": 4}, {"tensor": 4, "pipeline": 1}], 1, 8),
        # 16 / (1 + 1/1) are more than 8 at 90 %.
        ([{"tensor": 4, "pipeline": 2}, {"tensor": 4, "pipeline": 1, "factor": "90 %"}], 2, 16),
    ],
)
def test_how_a_replica_is_spread_decides_what_micro_batches_fill(
    options: list[Raw], pipeline: int, gpus: int
) -> None:
    job = planned(few(2, *options)).jobs[0]
    assert (job.ways[0].pipeline, job.gpus_used) == (pipeline, gpus)


def test_experts_spread_over_several_copies_of_the_model() -> None:
    """A replica of 8 GPUs is 4 copies of 2 for a micro-batch: 6 micro-batches fill 12 GPUs."""
    option = {"tensor": 2, "pipeline": 1, "experts": 8, "expert_tensor": 1}
    request = few(6, option | {"expert_parameters": "8 B"}, parameters="10 B")
    assert planned(request).jobs[0].gpus_used == 8


def test_several_types_share_the_micro_batches() -> None:
    """Two systems of each type have room, and three copies of the model have a micro-batch."""
    request = few(3, gpus={"max_types": 2})
    request.items.append(gpu_system("other", 8, "10 kW"))
    request.prices["other"] = price("100000")
    request.more["items"] = {"gpu": {"max": 2}, "other": {"max": 2}}
    plan = planned(request)
    assert plan.jobs[0].gpu_types == ("gpu", "other")
    assert plan.jobs[0].gpus_used == 24


def test_a_plan_with_more_copies_than_micro_batches_is_refused() -> None:
    plan, fewer = planned(few(4)), few(3)
    with pytest.raises(VerificationError) as refused:
        verify(inputs_of(fewer.case()), plan)
    assert "micro_batches: broken limit" in str(refused.value)
    assert "limits.micro_batches.limit: plan says 32, recomputed 24" in str(refused.value)


def test_it_is_said_why_no_more_systems_are_in_use() -> None:
    """Owned ones stand idle: the micro-batches are enough for three."""
    request = few(3)
    request.more["items"] = {"gpu": {"installed": 4}}
    (idle,) = planned(request).idle
    place = "training.scale.micro_batches of the job 'train'"
    assert (idle.units, idle.reason) == (1, f"{place} fills no more than 24 GPUs")
    assert idle.fix.startswith(f"a larger {place}; ")


def test_a_goal_out_of_reach_of_the_micro_batches_asks_for_more_of_them() -> None:
    """GPUs do 0.4 * 0.99 / (1 + 3 / m) PFLOP/s: 4.4 of them 32 with m = 2 micro-batches for each
    of four copies; 24 do 3.8 with 2, as do 6 and 7 micro-batches."""
    request = few(3)
    request.more["targets"] = {"min_useful_pflops": 4.4}
    found = api.solve_inputs(inputs_of(request.case())).infeasibility
    assert found is not None
    path = "jobs.0.training.scale.micro_batches"
    (change,) = (change for change in found.changes if change.path == path)
    assert (change.from_text, change.not_enough_text, change.to_text) == ("3", "7", "8")
    assert path in {limit.path for limit in found.conflicts[0].limits}


def test_what_is_sized_for_has_a_micro_batch_for_each_copy() -> None:
    inputs = inputs_of(few(3).case())
    assert size_report(inputs).cluster.gpus == 24
    said = "the problem allows at most 24 GPUs in use"
    assert [said in size_report(inputs, gpus).notes for gpus in (24, 32)] == [False, True]


def test_a_type_without_a_measured_rate_is_left_out() -> None:
    request = measured_request()
    request.job["training"]["precision"] = "fp8"
    case = resolve(inputs_of(request.case()))
    reason = dict(case.not_considered)["gpu"]
    assert reason == f"not known: a measured rate of {MODEL} in fp8"


def test_several_ways_and_several_types_at_once_are_refused() -> None:
    request = capped("open", "80 %")
    request.job["gpus"] = {"max_types": 2}
    with pytest.raises(InputError, match="may run in several ways, and the job on several types"):
        resolve(inputs_of(request.case()))


WRONG = {
    "both rates": ({"mfu": "40 %", "model": MODEL}, "mfu does not go with model"),
    "one mfu": ({"mfu": "40 %", "precision": ["bf16", "fp8"]}, "says nothing about several"),
    "no peak": ({"mfu": "40 %", "precision": "nvfp4"}, "no peak for nvfp4"),
    "two laws": (
        {"mfu": "40 %", "scale": {"exponent": 0.1, "reference": 8, "micro_batches": 8}},
        "give exactly one of exponent",
    ),
    "nowhere": ({"mfu": "40 %", "scale": {"exponent": 0.1}}, "needs scale.reference"),
    "no rate": ({"scale": {"exponent": 0.1}}, "scale needs the rate it acts on"),
    "no work": (
        {"mfu": "40 %", "scale": {"table": [{"gpus": 2, "share": 1.0}, {"gpus": 4, "share": 0.5}]}},
        "4 GPUs do no more work than 2",
    ),
    "no pipeline": ({"mfu": "40 %", "scale": {"micro_batches": 8}}, "needs parallelism"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_says_nothing_of_the_rate_is_refused(name: str) -> None:
    training, words = WRONG[name]
    request = Request(maximize="goodput")
    request.job["training"] = training
    with pytest.raises(ValidationError, match=words):
        request.case()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"low": "90 %"}, "low 0.9 is more than throughput 0.8"),
        ({"high": "70 %"}, "high 0.7 is less than throughput 0.8"),
    ],
)
def test_a_curve_lies_in_its_range(row: Raw, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        capped("open", "80 %", **row).case()


# Replicas: four systems of 8 GPUs at most.


def spread(*options: Raw, memory_gb: float | None = None, **job: Any) -> Request:
    request = Request(maximize="goodput")
    request.job |= {"parameters": "10 B", "parallelism": list(options), **job}
    if memory_gb is not None:
        request.items[0]["gpu"]["memory"] = figure(f"{memory_gb} GB")
    return request


@pytest.mark.parametrize(
    ("options", "replica", "gpus"),
    [
        ([{"tensor": 4, "pipeline": 3}], 12, 24),
        ([{"tensor": 4, "pipeline": 3}, {"tensor": 4, "pipeline": 2}], 8, 32),
        ([{"tensor": 4, "pipeline": 3}, {"tensor": 4, "pipeline": 2, "factor": "70 %"}], 12, 24),
        ([{"tensor": 4, "pipeline": 3}, {"tensor": 4, "pipeline": 2, "factor": "80 %"}], 8, 32),
        ([{"tensor": 8, "pipeline": 1, "context": 2}, {"tensor": 8, "pipeline": 3}], 16, 32),
        ([{"tensor": 8, "pipeline": 1, "min_replicas": 5}, {"tensor": 8, "pipeline": 3}], 24, 24),
    ],
)
def test_the_plan_takes_the_option_that_does_most(
    options: list[Raw], replica: int, gpus: int
) -> None:
    job = planned(spread(*options)).jobs[0]
    assert (job.replica_gpus, job.gpus_used) == (replica, gpus)


@pytest.mark.parametrize(("memory_gb", "gpus"), [(80, 32), (23, 32), (22.4, 0), (17, 0)])
def test_memory_asks_for_a_least_number_of_replicas(memory_gb: float, gpus: int) -> None:
    # 10 B parameters over 4 GPUs: 2.5 B in each, 4 bytes held and 12 shared; 10 GB of activations.
    # With 20 GB in each GPU, 30 are shared: eight replicas need 23.75 GB; no more find room.
    need = {"held": 4, "shared": 12, "activations": "10 GB", "usable": "100 %"}
    plan = planned(spread({"tensor": 4, "pipeline": 1, "memory": need}, memory_gb=memory_gb + 0.8))
    assert (plan.jobs[0].gpus_used if plan.jobs else 0) == gpus


def test_the_least_replicas_that_hold_a_state() -> None:
    need = MemoryNeed(held=4.0, shared=12.0, activations_gb=20.0, usable=0.9)
    # 15.75e9 parameters a GPU: 83 of 167.4 GB are held, 189 shared: 84.4 GB of room hold a third.
    assert need.least_replicas(15.75e9, 186.0) == 3
    assert need.least_replicas(15.75e9, 80.0) is None


def test_an_option_is_named_once() -> None:
    with pytest.raises(ValidationError, match="parallelism has an option twice"):
        spread({"tensor": 4, "pipeline": 2}, {"tensor": 4, "pipeline": 2, "factor": "90 %"}).case()


def test_a_type_that_no_option_fits_is_left_out() -> None:
    request = spread({"tensor": 16, "pipeline": 1}, {"tensor": 32, "pipeline": 1})
    case = resolve(inputs_of(request.case()))
    assert "a tensor group of 16 GPUs does not fit" in dict(case.not_considered)["gpu"]


@pytest.mark.parametrize(
    ("asked", "replica", "unused"),
    [
        ({"items": {"small": {"required": True}}}, 4, 1),
        ({"items": {"small": {"min": 2}}}, 4, 2),
        ({"policy": {"require_vendors": ["Gamma"]}}, 4, 1),
        ({"items": {"small": {"installed": 1}}}, 8, 0),
        ({}, 8, 0),
    ],
)
def test_a_type_on_which_a_replica_finds_no_place_is_not_in_the_cluster(
    asked: Raw, replica: int, unused: int
) -> None:
    """Groups of 8 find no place on the systems of 4: where these must be bought, groups are of 4.

    What is owned may stand there beside the cluster.
    """
    request = spread({"tensor": 8, "pipeline": 1}, {"tensor": 4, "pipeline": 1, "factor": "60 %"})
    request.items.append(gpu_system("small", 4, "1 kW", "10 TFLOP/s") | {"vendor": "Gamma"})
    request.prices["small"] = price("1000")
    request.more |= asked
    plan = planned(request)
    assert disagreements(request.case(), plan, request.plan()) == []
    working = {line.sku: line.working for line in plan.lines}
    assert (plan.jobs[0].replica_gpus, working.get("small", 0)) == (replica, unused)


@pytest.mark.parametrize(
    "changed", [{"tensor": 2, "pipeline": 4}, {"min_replicas": 3}, {"option_factor": 0.9}]
)
def test_a_changed_option_is_caught(changed: Raw) -> None:
    request = spread({"tensor": 4, "pipeline": 3}, {"tensor": 4, "pipeline": 2})
    inputs = inputs_of(request.case())
    plan = api.solve_inputs(inputs, explain=False)
    (job,) = plan.jobs
    way = job.ways[0].model_copy(update=changed)
    wrong = plan.model_copy(update={"jobs": (job.model_copy(update={"ways": (way,)}),)})
    with pytest.raises(VerificationError, match=r"jobs\.ways"):
        verify(inputs, wrong)


TAMPERED = {
    "power_share": 0.5, "throughput": 0.9, "gpu_cap": 0.7, "gpu_limit_w": 400.0,
    "throughput_low": 0.1, "precision": "fp8", "rate_tflops": 500.0, "rated_it_power_kw": 9.0,
}  # fmt: skip


@pytest.mark.parametrize("field", TAMPERED)
def test_a_changed_way_is_caught(field: str) -> None:
    request = capped("open", "80 %")
    inputs = inputs_of(request.case())
    plan = api.solve_inputs(inputs, explain=False)
    (job,) = plan.jobs
    changed = job.ways[0].model_copy(update={field: TAMPERED[field]})
    wrong = plan.model_copy(update={"jobs": (job.model_copy(update={"ways": (changed,)}),)})
    with pytest.raises(VerificationError, match=r"jobs\.ways\.gpu"):
        verify(inputs, wrong)


@pytest.mark.parametrize("seed", range(8000, 8010))
def test_another_point_never_hurts(seed: int) -> None:
    case = with_levers(seed)
    documents = copy.deepcopy(dict(case.documents))
    job: Raw = documents["problem"]["jobs"][0]
    job["power"]["points"] = "100 %"
    fewer = read(documents)
    sign = 1.0 if case.problem.objective.maximize is not None else -1.0
    with_it, without = (api.solve_inputs(inputs_of(c), explain=False) for c in (case, fewer))
    if without.objective.best is not None:
        assert with_it.objective.best is not None
        room = 1e-5 * abs(without.objective.best)
        assert sign * (with_it.objective.best - without.objective.best) >= -room


RACK = "nvidia_gb200_nvl72"


def test_a_catalog_shows_set_points_and_rates_with_their_sources() -> None:
    done = once("catalog", RACK)
    assert done.code == 0
    assert "training with GPUs capped at 0.8: 0.888 of the rate (0.84 to 0.962)  [low]" in done.out
    assert "llama3.1_405b in fp8 on 2,496 GPUs: 1,774 TFLOP/s a GPU  [medium] MLCommons" in done.out


# Ways that another covers, and how many searches are left.


def left(request: Request) -> set[str]:
    """Return the ways of a request that are searched, without the type's name."""
    case = resolve(inputs_of(request.case()))
    return {way.id.partition("__")[2] for way in needed(case).ways}


def spread_and_capped(*options: Raw, **job: Any) -> Request:
    request = spread(*options, **job)
    request.items[0]["gpu"]["tdp"] = figure("1 kW")
    request.job["power"] = {"points": "open", "curve": [_row(Random(1), cap) for cap in (90, 70)]}
    return request


SMALL = {"tensor": 2, "pipeline": 2}
LARGE = {"tensor": 2, "pipeline": 4}


@pytest.mark.parametrize(
    ("options", "job", "kept"),
    [
        ((SMALL, LARGE | {"factor": 0.9}), {}, {"t2p2"}),  # larger replicas that do less
        ((SMALL | {"factor": 0.9}, LARGE), {}, {"t2p2", "t2p4"}),
        ((SMALL | {"min_replicas": 8}, LARGE | {"factor": 0.9}), {}, {"t2p2", "t2p4"}),
        ((SMALL, LARGE), {"restore": {"fan_out": "every_replica"}}, {"t2p2", "t2p4"}),
        ((SMALL, LARGE), {"checkpoint": {"writers": "one_replica"}}, {"t2p2", "t2p4"}),
        ((SMALL, {"tensor": 1, "pipeline": 3}), {}, {"t2p2", "t1p3"}),  # 6 of 8 GPUs hold replicas
    ],
)
def test_a_way_goes_only_where_another_does_all_it_does(
    options: tuple[Raw, ...], job: Raw, kept: set[str]
) -> None:
    request = spread_and_capped(*options)
    for key, changes in job.items():
        {"restore": request.job["restore"], "checkpoint": request.checkpoint}[key].update(changes)
    points = ("", "cap90__", "cap70__")
    assert left(request) == {point + option for point in points for option in kept}


def test_the_better_precision_covers_the_other() -> None:
    request = measured_request()
    row = request.items[0]["achieved"][0]
    request.items[0]["achieved"].append(row | {"precision": "fp8", "rate": "900 TFLOP/s"})
    request.job["training"]["precision"] = ["bf16", "fp8"]
    assert left(request) == {"fp8"}
    assert planned(request).jobs[0].ways[0].precision == "fp8"


def test_a_cap_that_spares_nothing_goes() -> None:
    request = capped("open", "80 %", power="100 %")
    assert left(request) == {""}


def test_what_follows_from_the_draw_is_capped_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of the draw and what catalogs state, as the table of figures may have one."""
    product = Stated("weight_kg", (DRAW, TO_LIQUID, "consumes.weight"))
    monkeypatch.setitem(STATED, "weight_kg", product)
    request = capped("50 %", "80 %")
    request.items[0]["consumes"] |= {"liquid_share": figure("80 %"), "weight": figure("5 kg")}
    request.site["weight_limit"] = "100 kg"  # 6 kW x 80 % x 5 is 24 of each: room for four
    inputs = inputs_of(request.case())
    plan = api.solve_inputs(inputs, explain=False)
    (line,) = (line for line in plan.lines if line.sku == "gpu")
    assert (line.quantity, line.unit_weight_kg) == (4, pytest.approx(24.0))
    (limit,) = (limit for limit in plan.limits if limit.name == "weight")
    assert (limit.value, limit.label) == (pytest.approx(96.0), "weight")
    # Of stores, which heat the air alone, nobody states it, and nothing of it is nothing.
    assert plan.totals is not None
    assert plan.totals.weight_kg == pytest.approx(96.0)
    wrong = limit.model_copy(update={"value": 160.0, "binding": True})
    others = tuple(wrong if each is limit else each for each in plan.limits)
    with pytest.raises(VerificationError, match=r"limits\.weight\.value"):
        verify(inputs, plan.model_copy(update={"limits": others}))
    # A factor that nobody states leaves the sum open, and the limit holds what is known.
    del request.items[0]["consumes"]["weight"]
    plan = planned(request)
    assert (plan.totals and plan.totals.weight_kg) is None
    (limit,) = (limit for limit in plan.limits if limit.name == "weight")
    assert (limit.value, limit.label) == (0.0, "weight, known part")

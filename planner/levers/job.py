"""Levers of the job: checkpoints, restore, GPUs in use, what it keeps and reads."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.inputs import Change, Inputs, weights_gb_per_gpu
from planner.levers.make import amount, bounded, choice, given, moved
from planner.levers.model import Direction, Lever
from planner.levers.numbers import written
from planner.limits import BY_NAME, Limit
from planner.paths import job_path
from planner.schema.problem import FixedInterval, Job, LostWorkInterval, OptimalInterval

_JOB = job_path()
_CHECKPOINT = f"{_JOB}.checkpoint"
_LONGEST_S = 30 * 86_400.0
"""No interval is longer: a month of work at risk."""
_SHORTEST_S = 1.0
_MOST_BLOCKED = 0.99
_ROUNDING = 1e-9

_ANY_PORT_GB_PER_S = 1e6


def job_levers(inputs: Inputs) -> Iterator[Lever]:
    """Yield the levers of the job that the problem has."""
    job = inputs.problem.job
    yield from given(inputs, *(BY_NAME[name] for name in ("restore_time", "gpus_min", "gpus_max")))
    if job.checkpoint.mode != "sync":
        yield from _below(inputs, BY_NAME["overlap"], 1.0)
    if job.checkpoint.mode != "async":
        yield from _below(inputs, BY_NAME["blocking"], _MOST_BLOCKED)
    yield from _interval(inputs)
    yield from _data(inputs)
    yield from _pauses(inputs)
    limit = inputs.problem.storage.client_limit
    for key in ("read", "write"):
        if getattr(limit, key) is not None:
            path, label = f"storage.client_limit.{key}", f"what one GPU system can {key}"
            yield bounded(inputs, path, label, "GB/s", 1, _ANY_PORT_GB_PER_S)
    hot = job.gpus.hot
    if hot[0]:
        yield bounded(inputs, f"{_JOB}.gpus.hot_spares", "hot spares", "systems", -1, 0)
    yield from _types(inputs)
    if job.parallelism is not None and _replicas_matter_not(job):
        least = _fewest_stages(inputs)
        if least < job.parallelism.pipeline:
            yield bounded(inputs, f"{_JOB}.parallelism.pipeline", "pipeline stages of one replica",
                          "stages", -1, least, limit="replica_fits")  # fmt: skip


def _types(inputs: Inputs) -> Iterator[Lever]:
    """Yield how many GPU types one job may use, where the user says so or owns some."""
    gpus = inputs.problem.job.gpus
    systems = [item.id for item in inputs.items if item.category == "gpu_system"]
    owned = any(rule.in_place for name, rule in inputs.problem.items.items() if name in systems)
    asked = "max_types" in gpus.model_fields_set or owned
    if asked and gpus.max_types < len(systems):
        yield moved(inputs, BY_NAME["gpu_types"], len(systems), least=1.0)


def _replicas_matter_not(job: Job) -> bool:
    """Say whether a smaller replica lets every plan in that a larger one does."""
    readers, writers = job.restore.readers, job.checkpoint.writers
    alike = job.restore.fan_out == "broadcast" and not job.whole_replicas
    return alike and (readers, writers) == ("all", "all")


def _fewest_stages(inputs: Inputs) -> int:
    """Return how few stages hold the weights in every GPU in which they are held now."""
    job = inputs.problem.job
    need_gb = weights_gb_per_gpu(job)
    if need_gb is None or job.parallelism is None:
        return 1
    sizes = (item.gpu.memory for item in inputs.items if item.category == "gpu_system")
    enough = [size.value for size in sizes if size is not None and size.value >= need_gb]
    most = job.parallelism.pipeline * need_gb / min(enough, default=math.inf)
    return max(1, math.ceil(most * (1.0 - _ROUNDING)))


def _pauses(inputs: Inputs) -> Iterator[Lever]:
    """Yield how long the job stands still, where the user says so."""
    for path, label in ((f"{_CHECKPOINT}.stall", "stall"), (f"{_JOB}.restore.restart", "restart")):
        lever = bounded(inputs, path, f"{label} time", "s", -1, 0.0)
        if lever.stated and lever.value:
            yield lever


def _below(inputs: Inputs, row: Limit, most: float) -> Iterator[Lever]:
    lever = moved(inputs, row, most)
    if lever.value is not None and lever.value < most:
        yield lever


def _data(inputs: Inputs) -> Iterator[Lever]:
    """Yield what asks for capacity and for reading."""
    job = inputs.problem.job
    counts = (("keep_last", "checkpoints kept"), ("milestones", "milestones kept"),
              ("exports", "exports kept"))  # fmt: skip
    for key, label in counts:
        if getattr(job.checkpoint, key):
            yield bounded(inputs, f"{_CHECKPOINT}.{key}", label, "checkpoints", -1, 0,
                          limit="capacity")  # fmt: skip
    if job.dataset_tb:
        yield bounded(inputs, f"{_JOB}.dataset", "data set", "TB", -1, 0.0, limit="capacity")
    if job.ingest_per_gpu_gb_per_s:
        path, label = f"{_JOB}.ingest_per_gpu", "ingest per GPU"
        yield bounded(inputs, path, label, "GB/s", -1, 0.0, limit="ingest")


def _interval(inputs: Inputs) -> Iterator[Lever]:
    """Yield how far the interval between checkpoints may be moved."""
    rule, path = inputs.problem.job.checkpoint.interval, f"{_CHECKPOINT}.interval"
    if isinstance(rule, OptimalInterval):
        yield moved(inputs, BY_NAME["interval_max"], _LONGEST_S)
        yield moved(inputs, BY_NAME["interval_min"], _SHORTEST_S)
    elif isinstance(rule, LostWorkInterval):
        label = f"interval of {written(rule.kappa, 'share')} of the time between interruptions"
        text = "{policy: optimal, min: 1 s, max: 30 day}"
        what = "let the best interval be chosen"
        yield choice(inputs, path, label, what, Change(path, _free(), text))
    elif isinstance(rule, FixedInterval):
        every = rule.every_s
        off = (Change(path, _free(every), ""),)
        ways: tuple[tuple[Direction, float, float], ...] = (
            (1, every, _LONGEST_S),
            (-1, _SHORTEST_S, every),
        )
        for looser, low, high in ways:
            more = {"most": high} if looser > 0 else {"least": low}
            yield amount(inputs, f"{path}.every", "fixed interval", "s", looser, every, off,
                         between=True, **more)  # fmt: skip


def _free(every_s: float = 60.0) -> OptimalInterval:
    """Return the rule under which every sensible interval may be chosen, the given one too."""
    return OptimalInterval.model_construct(
        policy="optimal", min_s=min(every_s, _SHORTEST_S), max_s=max(every_s, _LONGEST_S)
    )

"""Levers that stand or fall: rules, vendors, what is considered."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs import Change, Inputs
from planner.levers.make import bounded, choice
from planner.levers.model import Lever
from planner.paths import job_path


def choices(inputs: Inputs) -> Iterator[Lever]:
    """Yield the choices of the problem that could be given up."""
    yield from _storage(inputs)
    yield from _job(inputs)
    yield from _policy(inputs)
    yield from _considered(inputs)
    yield from _items(inputs)


def _storage(inputs: Inputs) -> Iterator[Lever]:
    storage = inputs.problem.storage
    if storage.rule != "demand":
        name = storage.rule if isinstance(storage.rule, str) else storage.rule.name
        off = [Change("storage.rule", "demand", "demand")]
        what = "size storage by what the job needs"
        checkpoint = inputs.problem.job.checkpoint
        if checkpoint.mode != "sync" and checkpoint.max_overlap < 1.0:
            # No limit under a rule, which asks for drains short enough in its own way.
            off.append(Change(job_path("checkpoint.max_overlap"), 1.0, "100 %"))
        yield choice(inputs, "storage.rule", f"storage sized by the {name} rule", what, *off)
    if storage.exact_families is not None:
        count = storage.exact_families
        none = Change("storage.exact_families", None, "null")
        most = Change("storage.max_families", count, str(count))
        label, what = f"exactly {count} storage families", "allow fewer"
        yield choice(inputs, "storage.exact_families", label, what, none, most)


def _job(inputs: Inputs) -> Iterator[Lever]:
    job = inputs.problem.job
    if job.gpus.hot[1]:
        off, label = Change(job_path("gpus.hot_spares"), 0, "0"), "the share of hot spares"
        yield choice(inputs, job_path("gpus.hot_spares"), label, "keep none", off)
    if job.restore.fan_out != "broadcast":
        path = job_path("restore.fan_out")
        label = "more than one copy is read in a restore"
        what = "read the checkpoint once and pass it on between the GPUs"
        yield choice(inputs, path, label, what, Change(path, "broadcast", "broadcast"))
    for path, value, verb in (
        (job_path("restore.readers"), job.restore.readers, "reads"),
        (job_path("checkpoint.writers"), job.checkpoint.writers, "writes"),
    ):
        if value == "one_replica":
            label, what = f"one replica alone {verb}", f"every GPU system {verb}"
            yield choice(inputs, path, label, what, Change(path, "all", "all"))


def _policy(inputs: Inputs) -> Iterator[Lever]:
    policy = inputs.problem.policy
    if policy.require_vendors:
        names = " and ".join(policy.require_vendors)
        label, what = f"something from {names} is required", "require nothing"
        off = Change("policy.require_vendors", (), "[]")
        yield choice(inputs, "policy.require_vendors", label, what, off)
    if policy.forbid_vendors:
        label, what = f"nothing from {' or '.join(policy.forbid_vendors)}", "forbid nobody"
        off = Change("policy.forbid_vendors", (), "[]")
        yield choice(inputs, "policy.forbid_vendors", label, what, off)
    for number, split in enumerate(policy.split):
        if split.max_share < 1.0:
            path = f"policy.split.{number}.max_share"
            label = f"largest share of one vendor in {split.category.replace('_', ' ')}"
            yield bounded(inputs, path, label, "share", 1, 1.0, limit=f"split.{number}")


def _considered(inputs: Inputs) -> Iterator[Lever]:
    consider = inputs.problem.consider
    named = (
        ("gpu_systems", consider.gpu_systems, "only these GPU systems",
         "consider every GPU system"),
        ("storage_families", consider.storage_families, "only these storage families",
         "consider every storage family"),
        ("vendors", consider.vendors, "only these vendors", "consider every vendor"),
    )  # fmt: skip
    for key, names, label, what in named:
        if names is not None:
            path = f"consider.{key}"
            text = f"{label}: {', '.join(names)}"
            yield choice(inputs, path, text, what, Change(path, None, "null"))


def _items(inputs: Inputs) -> Iterator[Lever]:
    models = {item.id: item.model for item in inputs.items}
    for name, rule in sorted(inputs.problem.items.items()):
        model, path = models.get(name, name), f"items.{name}"
        if rule.exclude:
            off = Change(f"{path}.exclude", False, "false")
            yield choice(inputs, f"{path}.exclude", f"no {model}", "allow it", off)
        if rule.required and not rule.min:
            off = Change(f"{path}.required", False, "false")
            yield choice(inputs, f"{path}.required", f"at least one {model}", "require none", off)

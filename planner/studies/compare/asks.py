"""What the table asks: the demand law, each vendor's rule, the other mode, each storage alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.inputs import Change, Inputs, applied
from planner.schema.catalog import Family
from planner.schema.comparison import RowGroup
from planner.schema.problem import CustomRule
from planner.sizing.rules import VENDOR_RULES
from planner.studies.compare import families

_RULE, _MODE, _FAMILIES = "storage.rule", "jobs.0.checkpoint.mode", "consider.storage_families"
_VENDORS = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}


@dataclass(frozen=True)
class Ask:
    """A row to fill: what changes against the problem, or why there is nothing to solve."""

    group: RowGroup
    name: str
    label: str
    asks: str
    changes: tuple[Change, ...] = ()
    reason: str | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The changes as ``--set`` takes them."""
        return tuple(change.setting for change in self.changes)

    def applied(self, inputs: Inputs) -> Inputs:
        """Return the inputs with the changes."""
        return applied(inputs, self.changes, told=True)


def asks(inputs: Inputs) -> tuple[Ask, ...]:
    """Return the rows of the table in their order; the demand law is the first.

    Every row but those of the rules sizes storage by the demand law, whatever the problem asks
    for, so that it differs from the first in one thing only.
    """
    return (_demand(inputs), *_rules(inputs), *_modes(inputs), *_variants(inputs),
            *_vendors(inputs))  # fmt: skip


def by_demand(inputs: Inputs) -> tuple[Change, ...]:
    """Return what makes storage be sized by the demand law; nothing where it already is."""
    if inputs.problem.storage.rule == "demand":
        return ()
    return (Change(_RULE, "demand", "demand"),)


def _demand(inputs: Inputs) -> Ask:
    checkpoint = inputs.problem.job.checkpoint
    drain = f"a checkpoint is on storage within {100 * checkpoint.max_overlap:g} % of the interval"
    wait = f"GPUs wait for checkpoints {100 * checkpoint.max_blocking:g} % of the time at most"
    asked = {"async": drain, "sync": wait, "open": f"{drain}, or {wait}"}[checkpoint.mode]
    change = Change(_RULE, "demand", "demand")
    return Ask(
        "demand", "demand", "what the job needs", f"{asked[0].upper()}{asked[1:]}", (change,)
    )


def _rules(inputs: Inputs) -> Iterator[Ask]:
    own = inputs.problem.storage.rule
    if isinstance(own, CustomRule):
        asked = _bandwidth(own.read, own.write, own.per_gpus)
        yield Ask("rule", own.name, f"'{own.name}'", f"{asked} (the problem's own)")
    for rule in VENDOR_RULES.values():
        label = f"{_VENDORS[rule.family]} {rule.name}"
        asked = _bandwidth(rule.read_gb_per_s, rule.write_gb_per_s, rule.per_gpus)
        yield Ask("rule", rule.name, label, asked, (Change(_RULE, rule.name, rule.name),))


def _bandwidth(read: float, write: float, gpus: int) -> str:
    each = "each GPU" if gpus == 1 else f"every {gpus} GPUs"
    return f"{read:g} GB/s read and {write:g} GB/s write for {each}"


def _modes(inputs: Inputs) -> Iterator[Ask]:
    """Yield the ways to write checkpoints that the problem does not ask for, or both."""
    own = inputs.problem.job.checkpoint.mode
    for mode, label, asked in (
        ("async", "asynchronous", "Storage takes the checkpoint while GPUs go on"),
        ("sync", "synchronous", "GPUs wait until storage has the whole checkpoint"),
    ):
        if mode != own:
            changes = (*by_demand(inputs), Change(_MODE, mode, mode))
            yield Ask("mode", mode, label, asked, changes)


def _variants(inputs: Inputs) -> Iterator[Ask]:
    for pair in families.variants(inputs):
        for family in pair:
            yield _storage(inputs, "variant", family.id, _named(family), _software(family),
                           (family.id,))  # fmt: skip


def _named(family: Family) -> str:
    """Return a family's name with its vendor's, once."""
    known = family.name.casefold().startswith(family.vendor.casefold())
    return family.name if known else f"{family.vendor} {family.name}"


def _software(family: Family) -> str:
    factor = family.client_factor
    if factor is None:
        return "This file system alone, its usual clients"
    return (
        f"This file system alone: each client writes {factor.write.value:g} and reads "
        f"{factor.read.value:g} times as fast"
    )


def _vendors(inputs: Inputs) -> Iterator[Ask]:
    """Yield each vendor alone, where there is a choice."""
    vendors = families.by_vendor(inputs)
    if len(vendors) < 2:
        return
    for vendor, names in vendors.items():
        yield _storage(inputs, "vendor", vendor, f"{vendor} only", f"Storage of {vendor} alone",
                       names)  # fmt: skip


def _storage(
    inputs: Inputs, group: RowGroup, name: str, label: str, asked: str, names: tuple[str, ...]
) -> Ask:
    """Return a row with storage of these families alone."""
    reason = families.why_none(inputs, names)
    if reason is not None:
        return Ask(group, name, label, asked, reason=reason)
    kept = families.allowed(inputs, names)
    only = Change(_FAMILIES, kept, f"[{', '.join(kept)}]")
    return Ask(group, name, label, asked, (*by_demand(inputs), only))

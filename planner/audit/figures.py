"""What each input of the sheet ``Checkpoint`` means in the problem file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planner.audit.draft import Draft, EditError
from planner.outputs.workbook.inputs import Scalar
from planner.schema.catalog import Figure
from planner.schema.problem import FailureRate, FixedInterval, Parallelism, Pue, Term

Setter = Callable[[Draft, Any], None]

_UNLIMITED_GB_PER_S = 1e12


def _site_pue(draft: Draft, value: float) -> None:
    pue = draft.problem.site.pue
    draft.change(
        "site", pue=pue.model_copy(update={"air": value}) if isinstance(pue, Pue) else value
    )


def _site_pue_liquid(draft: Draft, value: float) -> None:
    pue = draft.problem.site.pue
    if not isinstance(pue, Pue):
        raise EditError("the problem has one PUE")
    draft.change("site", pue=pue.model_copy(update={"liquid": value}))


def _term(name: str) -> Setter:
    def set_it(draft: Draft, value: Scalar) -> None:
        assert not isinstance(value, str)
        draft.term[name] = value

    return set_it


def finish_term(draft: Draft) -> None:
    """Lay the edits of the term over the problem; a term that is new needs years and energy.

    Raises:
        EditError: one of the two is missing.
    """
    if not draft.term:
        return
    term = draft.problem.term
    known = {} if term is None else {name: getattr(term, name) for name in Term.model_fields}
    fields: dict[str, Any] = known | draft.term
    if fields.get("years") is None or fields.get("electricity_usd_per_kwh") is None:
        raise EditError("the term in years and the price of electricity go together: give both")
    if term is None:
        draft.change_problem(term=Term.model_construct(**fields))
    else:
        draft.change("term", **draft.term)


def _job(name: str, part: str = "", scale: float = 1.0) -> Setter:
    def set_it(draft: Draft, value: Scalar) -> None:
        scaled = value * scale if isinstance(value, float) and scale != 1.0 else value
        draft.change_job(part, **{name: scaled})

    return set_it


def _mode(draft: Draft, value: Any) -> None:
    draft.mode = value
    draft.change_job("checkpoint", mode=value)


def _interval(draft: Draft, value: float) -> None:
    """Set the interval; where the problem does not leave it to the planner, in the problem too."""
    draft.interval_s = value
    if draft.problem.job.checkpoint.interval.policy != "optimal":
        by_hand = FixedInterval.model_construct(policy="fixed", every_s=value)
        draft.change_job("checkpoint", interval=by_hand)


def _idle(draft: Draft, value: float) -> None:
    draft.gpus_idle = round(value)


def _held(draft: Draft, value: float) -> None:
    draft.change_job("checkpoint", keep_last=round(value) - 1, milestones=0)


def _other_data(draft: Draft, value: float) -> None:
    draft.change_job("checkpoint", exports=0)
    draft.change_job(dataset_tb=value)


def _replica(draft: Draft, value: float | None) -> None:
    was = draft.problem.job.parallelism
    if value is None:
        draft.change_job(parallelism=None)
        return
    groups, rest = divmod(round(value), 1 if was is None else was.tensor)
    if rest or not groups:
        assert was is not None
        raise EditError(f"a replica is made of whole tensor groups of {was.tensor} GPUs")
    tensor = round(value) // groups
    draft.change_job(parallelism=Parallelism(tensor=tensor, pipeline=groups))


def _failures(draft: Draft, value: float) -> None:
    draft.change_job(failures=FailureRate.model_construct(per_gpu_day=value))


def _client(kind: str) -> Setter:
    def set_it(draft: Draft, value: float | None) -> None:
        serving = draft.job.storage_families
        known = [f.client_factor for f in draft.inputs.families if f.id in serving]
        factors = [getattr(factor, kind).value for factor in known if factor is not None]
        each = _UNLIMITED_GB_PER_S if value is None else value / min(factors, default=1.0)
        limit = draft.problem.storage.client_limit.model_copy(update={kind: each})
        draft.change("storage", client_limit=limit)

    return set_it


def _delivered(kind: str) -> Setter:
    def set_it(draft: Draft, value: float) -> None:
        shares = draft.problem.storage.delivered_fraction.model_copy(update={kind: value})
        draft.change("storage", delivered_fraction=shares)

    return set_it


def _fill(draft: Draft, value: float) -> None:
    draft.change("storage", fill_limit=value)


def _tflops(draft: Draft, value: float) -> None:
    name = f"{draft.problem.job.training.precision}_dense"
    figure = Figure[float].model_construct(value=value, source="workbook", confidence="low")
    items = tuple(
        item.model_copy(update={"gpu": item.gpu.model_copy(update={name: figure})})
        if item.id in draft.job.gpu_types
        else item
        for item in draft.inputs.items
    )
    draft.inputs = replace(draft.inputs, items=items)


def _or_all(name: str) -> Setter:
    """Return the setter of a limit in percent, which blank means all of it."""

    def set_it(draft: Draft, value: float | None) -> None:
        most = 0.99 if name == "max_blocking" else 1.0
        draft.change_job("checkpoint", **{name: most if value is None else value})

    return set_it


FIGURES: dict[str, Setter] = {
    "checkpoint_gb": _job("size_gb", "checkpoint"),
    "save_mode": _mode,
    "async_stall_s": _job("stall_s", "checkpoint"),
    "interval_s": _interval,
    "drain_slowdown": _job("drain_slowdown", "checkpoint"),
    "failures_per_gpu_day": _failures,
    "restart_s": _job("restart_s", "restore"),
    "restore_fan_out": _job("fan_out", "restore"),
    "bytes_per_parameter": _job("bytes_per_parameter"),
    "checkpoints_held": _held,
    "other_data_tb": _other_data,
    "max_overlap": _or_all("max_overlap"),
    "max_blocking": _or_all("max_blocking"),
    "max_overlap_if_async": _or_all("max_overlap"),
    "max_blocking_if_sync": _or_all("max_blocking"),
    "max_restore_s": _job("max_time_s", "restore"),
    "gpus_idle": _idle,
    "replica_gpus": _replica,
    "writers": _job("writers", "checkpoint"),
    "readers": _job("readers", "restore"),
    "client_write_gb_per_s": _client("write"),
    "client_read_gb_per_s": _client("read"),
    "ingest_per_gpu_gb_per_s": _job("ingest_per_gpu_gb_per_s"),
    "delivered_fraction_write": _delivered("write"),
    "delivered_fraction_read": _delivered("read"),
    "fill_limit": _fill,
    "tflops_per_gpu": _tflops,
    "mfu": _job("mfu", "training"),
    "tokens_trillion": _job("tokens", "training", 1e12),
    "active_parameters_billion": _job("active_parameters", "training", 1e9),
    "pue": _site_pue,
    "pue_liquid": _site_pue_liquid,
    "electricity_usd_per_kwh": _term("electricity_usd_per_kwh"),
    "years": _term("years"),
    "colocation_usd_per_kw_month": _term("colocation_usd_per_kw_month"),
    "discount_rate": _term("discount_rate"),
}
"""By the defined name of the input."""

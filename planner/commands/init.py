"""A problem to start from: a shipped example, or one's own from answers to a few questions.

The answers fill the template `own_problem.yaml.j2` beside this file. A new question is a row of
`QUESTIONS` and a placeholder of the template, filled in `_fields`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from planner import units
from planner.case import missing_price_or_figure, why_not_wanted
from planner.case.ways import peak_tflops
from planner.errors import Finding, InputError, suggest
from planner.files import write_all
from planner.inputs import Inputs
from planner.library import example
from planner.loader import from_data
from planner.schema.catalog import Item

STATE_BYTES = 6.0
"""Bytes per parameter on the GPUs of a replica besides the optimizer, which is sharded."""
STATE_GB_PER_GPU = 48.0
"""Of them on a GPU: 60 % of the 80 GB of the smallest GPU on offer."""
TOKEN_BYTES = 4.0
"""Bytes of a token in the training data: an id of 32 bits."""
LIQUID_FROM_KW = 60.0
"""Rack power from which a hall has liquid cooling, unless answered."""
BULK_FROM_TB = 5000.0
"""Data set from which object or capacity storage holds it beside the flash tier."""
LARGE_KW = 50_000.0
"""Facility power from which a hall has checkpoints on the systems' own drives."""
_LONGEST_NAME, _TENSOR, _DEEPEST = 100, 8, 64

Answers = Mapping[str, str]
"""Answers by the key of their question; an empty one is none."""


class Question(NamedTuple):
    """A question: its words, an example, its default, and the kind of its answer.

    ``kind``: a dimension, words to choose from, or None where `_problem` reads the answer.
    """

    words: str
    example: str = ""
    kind: units.Dimension | tuple[str, ...] | None = None
    default: str = ""
    needed: bool = False

    @property
    def like(self) -> str:
        """An answer."""
        return self.example or self.default


QUESTIONS = {
    "name": Question("problem and file", default="my-cluster"),
    "power": Question("facility power", "3 MW", units.POWER, needed=True),
    "pue": Question("facility power / IT load", default="1.25"),
    "racks": Question("rack positions of the room", "24", needed=True),
    "rack-power": Question("power of a rack", "130 kW", units.POWER, needed=True),
    "cooling": Question(
        f"air or liquid; without it liquid from {LIQUID_FROM_KW:g} kW a rack",
        "liquid",
        ("air", "liquid"),
    ),
    "budget": Question("capital budget", "60 MUSD", units.MONEY),
    "model": Question("parameters of the model to train", "405 B", units.PARAMETERS, needed=True),
    "active": Question(
        "parameters active per token, of a mixture of experts", "32 B", units.PARAMETERS
    ),
    "tokens": Question("tokens to train on", "15 T", units.TOKENS),
    "dataset": Question(
        f"training data; without it {TOKEN_BYTES:g} bytes per token", "50 PB", units.CAPACITY
    ),
    "precision": Question("bf16, fp8 or nvfp4", kind=("bf16", "fp8", "nvfp4"), default="fp8"),
    "vendors": Question("vendors that may sell; without it any", "DDN,VAST"),
}
_LIKE_THIS = "for example planner init power='3 MW' racks=24 rack-power='130 kW' model='405 B'"


def _wrong(key: str, message: str, fix: str | None = None) -> InputError:
    return InputError(Finding("value", f"{key}: {message}", fix=fix))


def write_start(texts: Sequence[str], folder: Path, *, force: bool) -> Path:
    """Write a shipped example, or a problem of answers, into a folder; return its path.

    Args:
        texts: the name of an example, or KEY=ANSWER texts.

    Raises:
        InputError: an unknown question or example, an example with answers, or a wrong answer.
    """
    given: dict[str, str] = {}
    examples = [text for text in texts if "=" not in text]
    for key, _, answer in (text.partition("=") for text in texts if "=" in text):
        if key not in QUESTIONS:
            fix = suggest(key, list(QUESTIONS))
            raise InputError(Finding("usage", f"no question '{key}'", fix=fix))
        given[key] = answer
    if examples and (given or len(examples) > 1):
        fix = "give its name alone, or answers alone, such as power='3 MW'"
        message = f"an example ({examples[0]}) is copied as it is"
        raise InputError(Finding("usage", message, fix=fix))
    if given:
        return write_problem(given, folder, force=force)
    source = example(examples[0].removesuffix(".yaml") if examples else "10MW")
    target, text = _free(folder / source.name, force), source.read_text("utf-8")
    contents = {target: source.read_bytes()}
    for own in sorted((source.parent / "catalogs").glob("*.yaml")):
        if f"catalogs/{own.name}" in text:
            contents[folder / "catalogs" / own.name] = own.read_bytes()
    write_all(contents)
    return target


def _free(target: Path, force: bool) -> Path:
    """A file that is not there, or may be replaced."""
    if target.exists() and not force:
        fix = "choose another name or folder (-o), or --force to replace it"
        raise InputError(Finding("exists", "the file is there already", str(target), fix=fix))
    return target


# A problem of answers.


def write_problem(answers: Answers, folder: Path, *, force: bool) -> Path:
    """Write a complete problem file of the answers; return its path.

    Raises:
        InputError: an answer is missing or wrong, nothing on offer fits it, or the file exists.
    """
    given = {key: text for key, text in answers.items() if text}
    for key, text in given.items():
        _check(key, text)
    if missing := [key for key, each in QUESTIONS.items() if each.needed and key not in given]:
        message = f"not given: {', '.join(missing)}"
        raise InputError(Finding("missing", message, fix=_LIKE_THIS))
    values = {key: each.default for key, each in QUESTIONS.items() if each.default} | given
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", values["name"]).strip("-.")
    if not 0 < len(stem) <= _LONGEST_NAME:
        fix = f"use letters and digits, {_LONGEST_NAME} at most"
        raise _wrong("name", f"no file can be named {values['name'][:_LONGEST_NAME]!r}", fix)
    target = _free(folder / f"{stem}.yaml", force)
    fields = _fields(values)
    everything = _text(fields | {"systems": (), "families": (), "mfu": "assumed_mfu: 30 %"})
    inputs = from_data(everything, folder=target.parent)
    offers = _offers(inputs, values.get("vendors", ""))
    systems = [item for item in offers if item.category == "gpu_system"]
    # The MFU of types without a published rate, from those with one.
    shares, mfu = [share for item in inputs.items for share in _rates(item, inputs)], ""
    if shares:
        mfu = f"assumed_mfu: {100 * median(shares):.0f} %   # median of the measured types"
        mfu = f"# {mfu}" if all(_rates(item, inputs) for item in systems) else mfu
    fields |= {"systems": [item.id for item in systems], "mfu": mfu}
    families = sorted({str(item.family) for item in offers if item.category == "storage"})
    write_all({target: _text(fields | {"families": families}).encode()})
    return target


def _check(key: str, text: str) -> None:
    """Refuse an answer of another kind; the loader reads the others with the file."""
    kind = QUESTIONS[key].kind
    if isinstance(kind, units.Dimension):
        try:
            value = units.parse(text, kind)
        except units.QuantityError as error:
            raise _wrong(key, str(error), error.fix) from None
        if value <= 0:
            raise _wrong(key, f"{text} is nothing to plan for")
    elif kind and text not in kind:
        raise _wrong(key, f"{text!r} is none of {', '.join(kind)}")
    elif key == "racks" and not re.fullmatch("[1-9][0-9]{0,8}", text, re.ASCII):
        raise _wrong(key, f"expected a whole number above 0, found {text!r}")
    elif key == "pue" and not re.fullmatch(r"([1-9]|10)(\.[0-9]{1,6})?", text, re.ASCII):
        raise _wrong(key, f"expected a number from 1 to 10, found {text!r}")


def _offers(inputs: Inputs, vendors: str) -> list[Item]:
    """GPU systems and storage to consider: for sale, fit for the cooling, wanted.

    Of GPU systems NVIDIA's own with a measured rate are usual: other vendors' HGX systems hold the
    same GPUs, and are considered where their vendor is named.
    """
    offers = [
        item
        for item in inputs.items
        if item.category in ("gpu_system", "storage")
        and why_not_wanted(item, inputs.problem) is None
        and missing_price_or_figure(item, inputs) is None
        and not item.is_bulk
    ]
    sellers, named = sorted({item.vendor for item in offers}), set[str]()
    for part in filter(None, map(str.strip, vendors.split(","))):
        found = {name for name in sellers if name.casefold().startswith(part.casefold())}
        if not found:
            raise _wrong("vendors", f"nobody is called '{part}'", suggest(part, sellers, "known"))
        named |= found
    liquid, chosen = inputs.problem.site.cooling.cdu is not None, list[Item]()
    for category in ("gpu_system", "storage"):
        here = [item for item in offers if item.category == category]
        if category == "gpu_system":
            fitting = [i for i in here if liquid or i.consumes.liquid_share is None]
            here = [i for i in fitting if i.vendor in named or i.vendor == "NVIDIA"]
            here = [i for i in here if i.vendor in named or _rates(i, inputs)]
        only = {item.vendor for item in here} & named
        chosen += [item for item in here if not only or item.vendor in only]
    if {"gpu_system", "storage"} - {item.category for item in chosen}:
        message = "no GPU system or no storage on offer has a price and all figures"
        raise InputError(Finding("empty", message))
    return [item for item in inputs.items if item in chosen]


def _rates(item: Item, inputs: Inputs) -> list[float]:
    """Measured shares of the peak of a GPU system under the problem's class of model."""
    training = inputs.problem.job.training
    precision = training.precisions[0]
    peak = peak_tflops(item, precision) if item.category == "gpu_system" else None
    wanted = (training.model, precision)
    rows = [row for row in item.achieved if (row.model, row.precision) == wanted]
    return [row.rate_tflops / peak for row in rows] if peak else []


# The file.


def pipeline_of(parameters: float) -> int:
    """The pipeline stages of a replica whose state fits, 8 GPUs to a stage."""
    stages = 1
    while stages < _DEEPEST and _state_gb(parameters, stages) > STATE_GB_PER_GPU:
        stages *= 2
    return stages


def _state_gb(parameters: float, stages: int) -> float:
    return STATE_BYTES * parameters / 1e9 / (_TENSOR * stages)


def _text(fields: Mapping[str, Any]) -> str:
    from jinja2 import Environment, StrictUndefined

    source = resources.files("planner.commands").joinpath("own_problem.yaml.j2").read_text("utf-8")
    environment = Environment(trim_blocks=True, undefined=StrictUndefined)
    return environment.from_string(source).render(fields) + "\n"


def _fields(values: Answers) -> dict[str, Any]:
    """The variables of the template that follow from the answers."""
    parameters = units.parse(values["model"], units.PARAMETERS)
    stages = pipeline_of(parameters)
    hot = units.parse(values["rack-power"], units.POWER) >= LIQUID_FROM_KW
    dataset, reason = values.get("dataset"), "answered"
    in_bulk = bool(dataset) and units.parse(dataset, units.CAPACITY) >= BULK_FROM_TB
    if not dataset:
        tokens = units.parse(values.get("tokens") or "15 T", units.TOKENS)
        dataset, reason = f"{TOKEN_BYTES * tokens / 1e12:.6g} TB", f"{TOKEN_BYTES:g} bytes a token"
        reason += "" if values.get("tokens") else ", of an assumed 15 T"
    kept = ("power", "pue", "racks", "precision", "budget", "tokens", "active")
    return {key: values.get(key) for key in kept} | {
        "name": json.dumps(values["name"], ensure_ascii=False),
        "rack_power": values["rack-power"],
        "liquid": (values.get("cooling") or ("liquid" if hot else "air")) == "liquid",
        "job": "model-" + re.sub(r"[^a-z0-9]+", "-", values["model"].replace(" ", "").lower()),
        "parameters": values["model"],
        "stages": stages,
        "gigabytes": f"{_state_gb(parameters, stages):,.0f}",
        "large": units.parse(values["power"], units.POWER) >= LARGE_KW,
        "model": "moe" if values.get("active") else "dense",
        "dataset": f"{{size: {dataset}, tier: bulk}}" if in_bulk else dataset,
        "dataset_reason": f"{reason}; on {'object or capacity' if in_bulk else 'the same'} storage",
        "in_bulk": in_bulk,
    }

"""A problem to start from: a shipped example, or one's own from answers to a few questions.

The answers fill the template `own_problem.yaml` beside this file. A new question is a row of
`QUESTIONS` and a placeholder of the template; without a path its answer is read in `_fields`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from statistics import median
from string import Template
from typing import Any, NamedTuple, NoReturn

from pydantic import ValidationError

from planner import units
from planner.atomic_files import write_all
from planner.case import suitability
from planner.case.ways import peak_tflops
from planner.commands.files import example_file
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import FIGURES, capital
from planner.inputs import Inputs
from planner.loader import load_with_findings, yaml12
from planner.loader.places import Slot, field_of, number_of, short, slot_for, slot_of
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.problem import Problem

CATALOGS = (
    "gpu_systems, gpu_systems_oem, storage_ddn, storage_vast, storage_weka, storage_netapp, "
    "network, facility"
)
STATE_BYTES = 6.0
"""Bytes per parameter on the GPUs of a replica besides the optimizer, which is sharded."""
STATE_GB_PER_GPU = 48.0
"""Of them on a GPU: 60 % of the 80 GB of the smallest GPU on offer."""
TOKEN_BYTES = 4.0
"""Bytes of a token in the training data: an id of 32 bits."""
MEMORY = "memory: {held: 6, shared: 12, activations: 20 GB}"
"""Bytes per parameter of a replica (weights, gradients) and of all (master copy, moments)."""
LIQUID_FROM_KW = 60.0
"""Rack power from which a hall has liquid cooling, unless answered."""
BULK_FROM_TB = 5000.0
"""Data set from which object or capacity storage holds it beside the flash tier."""
LARGE_MW = 50.0
"""Facility power from which a hall has checkpoints on the systems' own drives."""
COOLING = "  cooling: {cdu: cdu_coolit_chx2000, redundancy: N+1}   # for what is cooled by liquid\n"
RECOVERY = """\
    restore: {max_time: 5 min, fan_out: broadcast, restart: 10 min}
    failures: llama3      # 419 interruptions of 16,384 GPUs in 54 days (arXiv 2407.21783)"""
LOCAL_RECOVERY = """\
      # a hall this large loses too much by checkpoints on storage alone: the plan may save on the
      # systems' own drives and on a peer
      local:
        use: open
        copies: 2
        recovers: {software: yes, gpu: peer, node: peer, rack: no}
    restore: {max_time: 5 min, fan_out: broadcast}
    restart: {remote: 10 min, local: 2 min}
    # 419 interruptions of 16,384 GPUs in 54 days, 22 % without hardware (arXiv 2407.21783); the
    # shares of the others are assumed
    failures: {rate: llama3, shares: {software: 22 %, gpu: 60 %, node: 15 %, rack: 3 %}}
    # the largest published jobs have about 100,000 GPUs; several jobs share a larger hall
    gpus: {max: 98304}"""
_LONGEST_NAME = 100
_TENSOR, _DEEPEST = 8, 64

Answers = Mapping[str, str]
"""Answers by the key of their question; an empty one is none."""


class Question(NamedTuple):
    """A question: its words, an example, the place in the file of its answer, the default."""

    key: str
    words: str
    example: str = ""
    path: str | None = None
    default: str | None = None
    needed: bool = False
    nothing: str = "none"
    choices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The question as the terminal shows it; an example does not look like a default."""
        example = f", for example {self.example}" if self.example else ""
        nothing = "" if self.needed or self.default else f" (Enter: {self.nothing})"
        return f"{self.words}{example}{nothing}"


_POWER = capital(FIGURES["facility_power_kw"].label)
_PRECISIONS = ("bf16", "fp8", "nvfp4")
QUESTIONS = {
    each.key: each
    for each in (
        Question("name", "Name of the problem and its file", default="my-cluster"),
        Question("power", _POWER, "3 MW", "site.facility_power", needed=True),
        Question("pue", "PUE, facility power / IT load", "", "site.pue", "1.25"),
        Question("racks", "Racks that the room takes", "24", "site.racks", needed=True),
        Question("rack-power", "Power of a rack", "130 kW", "site.rack.power", needed=True),
        Question("budget", "Budget to buy", "60 MUSD", "budget.capex"),
        Question("model", "Parameters of the model to train", "405 B", job_path("parameters"),
                 needed=True),
        Question("active", "Parameters active per token, of a mixture of experts", "32 B",
                 job_path("training.active_parameters"), nothing="dense"),
        Question("tokens", "Tokens to train it on", "15 T", job_path("training.tokens")),
        Question("dataset", "Size of the training data", "50 PB", job_path("dataset"),
                 nothing=f"{TOKEN_BYTES:g} bytes for each token"),
        Question("precision", "Precision: bf16, fp8 or nvfp4", default="fp8", choices=_PRECISIONS),
        Question("goal", "Goal: most work, cheapest work, '1024 GPUs' or '60 days'",
                 default="most"),
        Question("cooling", "Cooling: air or liquid", choices=("air", "liquid"),
                 nothing=f"liquid from {LIQUID_FROM_KW:g} kW a rack"),
        Question("prices", "Price book, a file or a shipped one", default="estimates_2026"),
        Question("vendors", "Vendors that may sell", "DDN, VAST", nothing="any"),
        Question("own", "Units owned, as ITEM=UNITS", "nvidia_dgx_h100=8"),
    )
}  # fmt: skip
_NO_ANSWER = {"", "-", "no", "none", "any", "anybody", "null", "~"}
_LIKE = {"name": "my-cluster", "power": "3 MW", "pue": "1.25", "racks": "24",
         "rack-power": "130 kW", "model": "405 B"}  # fmt: skip
"""Answers in place of the others while one is checked."""


def _wrong(code: str, message: str, fix: str | None = None) -> InputError:
    return InputError(Finding(code, message, fix=fix))


def read_answers(texts: Sequence[str]) -> tuple[str | None, Answers]:
    """The shipped example, or the answers, on the command line.

    Args:
        texts: the name of an example, or KEY=ANSWER texts; ``own=ITEM=UNITS`` may be repeated.

    Raises:
        InputError: an unknown question, or an example with answers.
    """
    given: dict[str, str] = {}
    examples = [text for text in texts if "=" not in text]
    for text in texts:
        key, separator, answer = text.partition("=")
        if separator and key not in QUESTIONS:
            fix = did_you_mean(key, list(QUESTIONS)) or f"there are {', '.join(QUESTIONS)}"
            raise _wrong("usage", f"no question '{key}'", fix)
        if separator:
            given[key] = f"{given[key]}, {answer}" if key == "own" and key in given else answer
    if examples and (given or len(examples) > 1):
        fix = "give its name alone, or answers alone, such as power='3 MW'"
        raise _wrong("usage", f"an example ({examples[0]}) is copied as it is", fix)
    return (examples[0] if examples else None), given


def ask_all(
    given: Answers,
    folder: Path,
    prompt: Callable[[str, str], str],
    tell: Callable[[str], None],
    *,
    force: bool,
) -> Path:
    """Ask for every missing or wrong answer and write the problem file; return its path.

    Without a file at the end, the answers so far are shown as a command line.

    Args:
        given: answers so far.
        folder: folder for the file.
        prompt: asks a question, with the default for an empty answer, and returns the answer.
        tell: shows what is wrong with an answer.
        force: replace an existing file.

    Raises:
        InputError: no answer corrects it.
    """
    answers, written = dict(given), None
    try:
        for question in QUESTIONS.values():
            _ask(question, answers, folder, prompt, tell, force=force)
        while written is None:
            try:
                written = write_problem(answers, folder, force=force)
            except InputError as error:
                key = _question_of(error.findings[0])
                if key is None:
                    raise
                tell(error.findings[0].text())
                answers.pop(key, None)
                _ask(QUESTIONS[key], answers, folder, prompt, tell, force=force)
    finally:
        if written is None and answers != given:
            tell(f"\nyour answers so far: {_command_of(answers, folder, force=force)}")
    return written


def _ask(
    question: Question,
    answers: dict[str, str],
    folder: Path,
    prompt: Callable[[str, str], str],
    tell: Callable[[str], None],
    *,
    force: bool,
) -> None:
    """Ask until the answer passes its check; an answer from before is asked only if wrong."""
    text = answers.pop(question.key, None)
    while True:
        try:
            if text:
                check_answer(question.key, text, answers, folder, force=force)
                answers[question.key] = text
                return
            if text is not None and question.needed:
                tell(f"{question.key}: an answer is needed; for example {question.example}")
        except InputError as error:
            tell(error.findings[0].text())
        text = prompt(question.text, question.default or "").strip()
        if not question.needed and not question.default and text.casefold() in _NO_ANSWER:
            return


def _question_of(finding: Finding) -> str | None:
    """The question whose answer a finding is about."""
    place = f"{finding.path}."
    for key, question in QUESTIONS.items():
        at_its_place = question.path is not None and place.startswith(f"{question.path}.")
        if finding.message.startswith(f"{key}:") or at_its_place:
            return key
    return {"prices": "prices", "items": "own"}.get(place.split(".")[0])


def _command_of(answers: Answers, folder: Path, *, force: bool) -> str:
    words = ["planner", "init", *(f"{key}={answers[key]}" for key in QUESTIONS if key in answers)]
    words += ["-o", str(folder)] if folder != Path() else []
    return shlex.join([*words, "--force"] if force else words)


def check_answer(
    key: str, text: str, answers: Answers, folder: Path = Path(), *, force: bool = False
) -> None:
    """Check one answer by itself, with the price book answered before.

    Raises:
        InputError: it cannot be read, or no problem file can have it.
    """
    question = QUESTIONS[key]
    if question.path is not None:
        _read(question, text)
    elif question.choices:
        _choice(question, text)
    elif key == "name":
        _target(text, folder, force=force)
    elif key == "goal":
        _goal(text, answers.get("tokens"))
    else:
        book = text if key == "prices" else answers.get("prices") or "estimates_2026"
        values = _LIKE | {"prices": _book(book, folder)}
        inputs = _loaded(folder / "new.yaml", values)
        if key == "vendors":
            _offers(inputs, text, {})
        elif key == "own":
            _loaded(folder / "new.yaml", values, _owned(text, inputs))


def write_problem(answers: Answers, folder: Path, *, force: bool) -> Path:
    """Write a complete problem file of the answers; return its path.

    Raises:
        InputError: an answer is missing or wrong, nothing on offer fits it, or the file exists.
    """
    values = _checked(answers)
    target = _target(values["name"], folder, force=force)
    values["prices"] = _book(values["prices"], folder)
    _goal(values["goal"], values.get("tokens"))
    inputs = _loaded(target, values)
    owned = _owned(answers.get("own", ""), inputs)
    if owned:
        inputs = _loaded(target, values, owned)
    offers = _offers(inputs, values.get("vendors"), owned)
    write_all({target: _text(values, owned, inputs, offers).encode()})
    return target


def write_example(name: str, folder: Path, *, force: bool) -> Path:
    """Write a shipped problem with its own catalogs into a folder; return its path.

    Raises:
        InputError: no such example, or the file exists.
    """
    name = name.removesuffix(".yaml")
    source = example_file(name)
    target = folder / f"{name}.yaml"
    if target.exists() and not force:
        fix = "choose another folder with -o, or --force to replace it"
        raise InputError(Finding("exists", "the file is there already", str(target), fix=fix))
    text = source.read_text("utf-8")
    contents = {target: source.read_bytes()}
    for own in sorted((source.parent / "catalogs").glob("*.yaml")):
        if f"catalogs/{own.name}" in text:
            contents[folder / "catalogs" / own.name] = own.read_bytes()
    write_all(contents)
    return target


# Answers, each read as its place in the file reads it.


def _checked(answers: Answers) -> dict[str, str]:
    """The answers and defaults as a problem file has them.

    Raises:
        InputError: one is missing, or cannot be read.
    """
    missing = [key for key, each in QUESTIONS.items() if each.needed and not answers.get(key)]
    values = {}
    for key, question in QUESTIONS.items():
        given = answers.get(key) or question.default
        if not given and question.needed:
            fix = "for example planner init power='3 MW' racks=24 rack-power='130 kW' model='405 B'"
            raise _wrong("missing", f"not given: {', '.join(missing)}", fix)
        if given and key != "own":
            if question.choices:
                _choice(question, given)
            values[key] = given if question.path is None else _read(question, given)
    return values


def _read(question: Question, given: str) -> str:
    """An answer as its field in the problem file reads it.

    Raises:
        InputError: no value of that field, or 0 or less.
    """
    slot = slot_for(Problem)
    for step in (question.path or "").split("."):
        slot = _inside(slot, step)
    try:
        value = yaml12.scalar(given, "")
        number = number_of(slot.read(value))
    except InputError as error:
        _refuse(question, error.findings[0])
    except ValidationError as error:
        _refuse(question, slot.faults(error, value)[0])
    if value is None or (number is not None and number <= 0):
        message = f"{question.key}: {given} is nothing to plan for"
        raise _wrong("value", message, f"for example {question.example}")
    return short(value, most=1000)


def _inside(slot: Slot, step: str) -> Slot:
    inside = slot.inside()
    if inside is not None:
        return inside[1]
    name = field_of(slot.models[0], step)
    assert name is not None
    return slot_of(slot.models[0], name)


def _refuse(question: Question, fault: Finding) -> NoReturn:
    message = f"{question.key}: {fault.message}"
    raise InputError(replace(fault, message=message, file=None, line=None, path=None)) from None


def _choice(question: Question, given: str) -> None:
    if given not in question.choices:
        known = ", ".join(question.choices)
        raise _wrong("value", f"{question.key}: {given!r} is none of {known}",
                     f"give one of {known}")  # fmt: skip


def _target(name: str, folder: Path, *, force: bool) -> Path:
    """The file of a problem with a name.

    Raises:
        InputError: no file can have that name, or the file exists.
    """
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    if not stem:
        raise _wrong("value", f"name: no file can be named {name!r}", "use letters and digits")
    if len(stem) > _LONGEST_NAME:
        message = f"name: {len(stem)} letters are too many for a file name"
        raise _wrong("value", message, f"use {_LONGEST_NAME} at most")
    target = folder / f"{stem}.yaml"
    if target.exists() and not force:
        fix = "choose another name or folder (-o), or --force to replace it"
        raise _wrong("exists", f"name: {target} is there already", fix)
    return target


def _book(prices: str, folder: Path) -> str:
    """The price book as a problem file in a folder names it."""
    path = Path(prices).expanduser()
    if path.is_absolute() or (folder / path).exists() or not path.is_file():
        return str(path)
    return os.path.relpath(path, folder) if folder.is_dir() else str(path.resolve())


def _goal(given: str, tokens: str | None) -> tuple[str, str]:
    """The targets and the objective of a goal, as the problem file has them.

    Raises:
        InputError: no goal, or days without tokens to train on.
    """
    if given.casefold() == "most":
        best = "objective: {maximize: goodput, indifference: 0.5 %}"
        return "", f"# of plans within 0.5 % of the best the cheapest is taken\n{best}"
    if given.casefold() == "cheapest":
        return "", "objective: {minimize: usd_per_useful_gpu_hour}"
    count, _, unit = given.strip().replace(",", "").partition(" ")
    targets = {"gpus": "min_gpus: {}", "days": "max_days_to_train: {} days"}
    if not (count.isascii() and count.isdigit() and int(count) and unit.casefold() in targets):
        fix = "give most, cheapest, '1024 GPUs' or '60 days'"
        raise _wrong("value", f"goal: {given!r} is no goal", fix)
    if unit.casefold() == "days" and not tokens:
        raise _wrong("missing", "goal: a number of days needs the tokens", "give tokens='15 T'")
    target = targets[unit.casefold()].format(count)
    return f"targets: {{{target}}}   # answered\n", "objective: {minimize: tco}"


def _owned(text: str, inputs: Inputs) -> dict[str, int]:
    """Units owned by item.

    Raises:
        InputError: no such item, or no number of units.
    """
    owned: dict[str, int] = {}
    for one in filter(None, re.split(r"[\s,]+", re.sub(r"\s*=\s*", "=", text))):
        name, _, count = one.partition("=")
        if not (count.isascii() and count.isdigit() and int(count[:20]) > 0):
            message = f"own: {one!r} is no item with a number of units"
            raise _wrong("value", message, "for example nvidia_dgx_h100=8")
        if name not in inputs.by_id:
            raise _wrong("not-found", f"own: no item '{name}'", _meant(name, inputs))
        owned[name] = owned.get(name, 0) + int(count[:20])
    return owned


def _meant(name: str, inputs: Inputs) -> str | None:
    """A hint with the items whose ids hold every word of a name, or come near it."""
    words = re.findall(r"[a-z0-9]+", name.casefold())
    found = [item for item in inputs.items if item.category in ("gpu_system", "storage")
             and all(word in item.id for word in words)]  # fmt: skip
    if not found or not words:
        return did_you_mean(name, [*inputs.by_id])
    names = " or ".join(f"'{item.id}'" for item in found[:3])
    gpus = found[0].provides.gpus
    whole = f" Units are whole systems, here of {gpus.value} GPUs" if gpus else ""
    return f"did you mean {names}?{whole}"


# Products on offer.


def _loaded(target: Path, values: Answers, owned: Mapping[str, int] | None = None) -> Inputs:
    """The problem of the answers, with everything on offer considered.

    Raises:
        InputError: something is wrong with it, without line numbers of a file not written yet.
    """
    try:
        inputs, findings = load_with_findings(target, text=_text(values, owned or {}))
    except InputError as error:
        findings = [*error.findings]
    wrong = [finding for finding in findings if finding.severity == "error"]
    if wrong:
        raise InputError([
            replace(each, file=None, line=None)
            if each.file is None or Path(each.file).name == target.name else each
            for each in wrong
        ])  # fmt: skip
    return inputs


def _offers(inputs: Inputs, vendors: str | None, owned: Mapping[str, int]) -> list[Item]:
    """The GPU systems and storage to consider.

    Raises:
        InputError: an unknown vendor, or nothing left to choose from.
    """
    offers = [
        item for item in inputs.items
        if item.category in ("gpu_system", "storage")
        and not item.is_bulk
        and (item.id in owned or _is_on_offer(item, inputs))
    ]  # fmt: skip
    sellers = sorted({item.vendor for item in offers})
    named = [part.strip() for part in (vendors or "").split(",") if part.strip()]
    meant = {name for part in named for name in _sellers(part, sellers)}
    found: list[Item] = []
    for category, what in (("gpu_system", "GPU system"), ("storage", "storage")):
        here = [item for item in offers if item.category == category
                and _is_wanted(item, inputs, meant, owned)]  # fmt: skip
        chosen = {item.vendor for item in here} & meant
        left = [item for item in here if not chosen or item.vendor in chosen or item.id in owned]
        if not left:
            raise _wrong("empty", f"no {what} on offer has a price and all figures")
        found += left
    return found


def _is_on_offer(item: Item, inputs: Inputs) -> bool:
    wanted = suitability.not_wanted(item, inputs.problem) is None
    return wanted and suitability.lacking(item, inputs) is None


def _sellers(part: str, sellers: Sequence[str]) -> list[str]:
    """The vendors whose names begin with a word."""
    found = [name for name in sellers if name.casefold().startswith(part.casefold())]
    if not found:
        fix = did_you_mean(part, list(sellers)) or f"known: {', '.join(sellers)}"
        raise _wrong("not-found", f"vendors: nobody is called '{part}'", fix)
    return found


def _is_wanted(item: Item, inputs: Inputs, vendors: set[str], owned: Mapping[str, int]) -> bool:
    """Whether an item fits the cooling, and a GPU system is usual or its vendor is named.

    Usual are NVIDIA's own with a measured rate: other vendors' HGX systems hold the same GPUs.
    """
    if item.category != "gpu_system" or item.id in owned:
        return True
    cooled = inputs.problem.site.cooling.cdu is not None or item.consumes.liquid_share is None
    usual = item.vendor == "NVIDIA" and _is_measured(item, inputs)
    return cooled and (usual or item.vendor in vendors)


def _is_measured(item: Item, inputs: Inputs) -> bool:
    training = inputs.problem.job.training
    asked = {(training.model, precision) for precision in training.precisions}
    return bool(asked & {(row.model, row.precision) for row in item.achieved})


def _assumed_mfu(inputs: Inputs, offers: Sequence[Item]) -> str:
    """The line of the MFU of types without a published rate, from those with one."""
    training = inputs.problem.job.training
    precision = training.precisions[0]
    found = [
        (row.rate_tflops / peak, (row.low_tflops or 0.0) / peak, (row.high_tflops or 0.0) / peak)
        for item in inputs.items
        for row in item.achieved
        if (row.model, row.precision) == (training.model, precision)
        and (peak := peak_tflops(item, precision))
    ]
    if not found:
        return ""
    middles, lows, highs = zip(*found, strict=True)
    usual = f"of measured types {100 * min(lows):.0f} to {100 * max(highs):.0f} %"
    line = f"assumed_mfu: {100 * median(middles):.0f} %   # for types nobody measured; {usual}\n"
    systems = [item for item in offers if item.category == "gpu_system"]
    needed = any(not _is_measured(item, inputs) for item in systems)
    return f"      {'' if needed else '# '}{line}"


# The file.


def pipeline_of(parameters: float) -> int:
    """The pipeline stages of a replica whose state fits, 8 GPUs to a stage."""
    stages = 1
    while STATE_BYTES * parameters / 1e9 / (_TENSOR * stages) > STATE_GB_PER_GPU:
        if stages == _DEEPEST:
            break
        stages *= 2
    return stages


def _text(
    values: Answers, owned: Mapping[str, int], inputs: Inputs | None = None,
    offers: Sequence[Item] = (),
) -> str:  # fmt: skip
    """The problem file; without offers everything in the catalogs is considered."""
    template = resources.files("planner.commands").joinpath("own_problem.yaml").read_text("utf-8")
    mfu = "      assumed_mfu: 30 %\n" if inputs is None else _assumed_mfu(inputs, offers)
    fields = _fields(values) | {
        "considered": _considered(offers),
        "installed": _installed(owned, inputs),
        "unmeasured": "types without one are left out" if offers else "",
        "assumed_mfu": mfu,
    }
    return "".join(map(_aligned, Template(template).substitute(fields).splitlines()))


def _fields(values: Answers) -> dict[str, Any]:
    """The placeholders of the template that follow from the answers."""
    parameters = units.parse(values["model"], units.PARAMETERS)
    stages = pipeline_of(parameters)
    depths = [stages] if stages == 1 else [stages, stages // 2]
    targets, objective = _goal(values.get("goal", "most"), "any")
    tokens, active, budget = (values.get(key) for key in ("tokens", "active", "budget"))
    large = units.parse(values["power"], units.POWER) >= 1000.0 * LARGE_MW
    rack_kw = units.parse(values["rack-power"], units.POWER)
    cooling = values.get("cooling", "liquid" if rack_kw >= LIQUID_FROM_KW else "air")
    prices = values.get("prices", "")
    plain = re.fullmatch(r"[A-Za-z0-9_./-]+", prices)
    dataset, reason, in_bulk = _dataset(values.get("dataset"), tokens)
    return {
        "name": json.dumps(values["name"], ensure_ascii=False),
        "power": values["power"],
        "pue": values["pue"],
        "racks": values["racks"],
        "rack_power": values["rack-power"],
        "cooling": COOLING if cooling == "liquid" else "",
        "budget": f"budget: {{capex: {budget}}}   # answered: what may be paid at once\n"
        if budget
        else "",
        "catalogs": f"{CATALOGS}, storage_bulk" if in_bulk else CATALOGS,
        "prices": prices if plain else json.dumps(prices, ensure_ascii=False),
        "targets": targets,
        "objective": objective,
        "job": "model-" + re.sub(r"[^a-z0-9]+", "-", values["model"].replace(" ", "").lower()),
        "parameters": values["model"],
        "replica": _TENSOR * stages,
        "gigabytes": f"{STATE_BYTES * parameters / 1e9 / (_TENSOR * stages):,.0f}",
        "options": "\n".join(
            f"      - {{tensor: {tensor}, pipeline: {depth}, {MEMORY}}}"
            for tensor in (_TENSOR, _TENSOR // 2)
            for depth in depths
        ),
        "recovery": LOCAL_RECOVERY if large else RECOVERY,
        "model": "moe" if active else "dense",
        "precision": values.get("precision", "fp8"),
        "tokens": f"      tokens: {tokens}   # answered\n" if tokens else "",
        "active": f"      active_parameters: {active}   # answered\n" if active else "",
        "dataset": dataset,
        "dataset_reason": reason,
    }


def _dataset(answer: str | None, tokens: str | None) -> tuple[str, str, bool]:
    """The data set as the problem file has it, its reason, and whether it is on the bulk tier."""
    flash = "on the same storage"
    if answer is None and tokens is None:
        return "60 TB", f"an assumption: 15 T tokens of 4 bytes; {flash}", False
    if answer is None:
        size = TOKEN_BYTES * units.parse(tokens or "", units.TOKENS)
        return _bytes(size), f"{TOKEN_BYTES:g} bytes for each token; {flash}", False
    if units.parse(answer, units.CAPACITY) < BULK_FROM_TB:
        return answer, f"answered; {flash}", False
    beside = "answered; object or capacity storage beside flash"
    return f"{{size: {answer}, tier: bulk}}", beside, True


def _considered(offers: Sequence[Item]) -> str:
    if not offers:
        return ""
    systems = [item.id for item in offers if item.category == "gpu_system"]
    families = sorted({str(item.family) for item in offers if item.category == "storage"})
    return (
        "consider:                 # what has a price and every figure, of whom may sell\n"
        f"  gpu_systems: [{', '.join(systems)}]\n"
        f"  storage_families: [{', '.join(families)}]\n"
    )


def _installed(owned: Mapping[str, int], inputs: Inputs | None) -> str:
    lines: Iterable[str] = ()
    for name, count in owned.items():
        gpus = None if inputs is None else inputs.by_id[name].provides.gpus
        of = f"   # systems, {count * gpus.value:,} GPUs" if gpus else ""
        lines = [*lines, f"  {name}: {{installed: {count}}}{of}\n"]
    return "".join(["# answered: what stands there already\nitems:\n", *lines]) if owned else ""


def _bytes(size: float) -> str:
    scales = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"))
    scale, unit = next((each for each in scales if size >= each[0]), (1e6, "MB"))
    return f"{size / scale:.6g} {unit}"


def _aligned(line: str) -> str:
    """A line with the comment behind its value in a column; a name may hold anything."""
    match = re.fullmatch(r"( *(?!name:)[^ #].*?) {2,}(# .*)", line)
    return f"{match[1]:<30} {match[2]}\n" if match else f"{line}\n"

"""A problem to start from: an example, or one's own, of which what matters is asked for."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import median
from string import Template
from typing import Any, NoReturn

from pydantic import ValidationError

from planner import shipped, units
from planner.case import suitability
from planner.case.ways import peak_tflops
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import FIGURES, capital
from planner.inputs import Inputs
from planner.loader import load_with_findings
from planner.loader.vary.place import Slot, field_of, number_of, raw, short, slot_for, slot_of
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.problem import Problem
from planner.whole_files import write_all

CATALOGS = (
    "gpu_systems, gpu_systems_oem, storage_ddn, storage_vast, storage_weka, storage_netapp, "
    "network, facility"
)
"""Shipped catalogs of a problem of one's own."""
STATE_BYTES = 6.0
"""Bytes per parameter that the GPUs of a replica hold besides the optimizer, which is sharded."""
STATE_GB_PER_GPU = 48.0
"""What of it a GPU is given: 60 % of the 80 GB of the smallest GPU on offer."""
TOKEN_BYTES = 4.0
"""Bytes of a token in the training data: one id of 32 bits."""
MEMORY = "memory: {held: 6, shared: 12, activations: 20 GB}"
"""Bytes per parameter of a replica (weights, gradients) and of all (master copy, moments)."""
LIQUID_FROM_KW = 60.0
"""Rack power from which a hall has liquid cooling where nothing else is answered."""
_LONGEST_NAME = 100
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_TENSOR = 8
_DEEPEST = 64
_BEHIND = re.compile(r"( *(?!name:)[^ #].*?) {2,}(# .*)")
"""A line of the file with a comment behind it; a name may hold anything."""


TEMPLATE = """\
# Written by planner init. What is marked as answered is yours; change what you know better.
name: $name
site:
  facility_power: $power   # answered: at the meter
  pue: $pue                # power at the meter by IT power
  racks: $racks            # answered: positions for racks
  rack:
    height: 48 RU
    power: $rack_power             # answered
    whole_rack_power: $rack_power  # what a product that is a rack of its own may draw
    item: rack_48u
    pdu: {item: pdu_raritan_px3_5878, redundancy: N+1}
${cooling}${budget}# an assumption, for the cost over the years; energy by what is typically drawn
term: {years: 4, electricity: 0.08 USD/kWh, energy_basis: typical}
# `consider` below narrows what these offer
catalogs: [$catalogs]
prices: $prices   # of a vendor's quote `planner quote import` makes such a book
${considered}${installed}${targets}spares: {switch: 2 %, transceiver: 2 %, cable: 2 %}
network:                  # leave it out where somebody else builds it; it is not counted then
  # which of the compute switches is built is decided with the plan
  compute: {switches: [nvidia_qm9700, nvidia_q3400, nvidia_sn5600, nvidia_sn6600]}
  # one Ethernet fabric for storage and for everything else
  storage: {switch: nvidia_sn5600, carries_in_band: true}
  out_of_band: {switch: nvidia_sn2201}
storage:
  rule: demand            # by what the job needs; light, good and best are vendors' rules
  # of nameplate bandwidth: production showed 0.16 to 0.40 for checkpoint writes; 0.4 is well tuned
  delivered_fraction: {read: 0.6, write: 0.4}
  fill_limit: 85 %
  max_families: 1         # storage of one family
jobs:
  - name: $job
    parameters: $parameters   # answered
    # bytes of a checkpoint: BF16 weights 2, FP32 master copy 4, Adam's moments 4 + 4
    bytes_per_parameter: mixed_adam
    # which of these the plan takes follows from the memory of the GPUs and the systems' size;
    # at most $replica GPUs hold a replica: $gigabytes GB of weights and gradients a GPU
    parallelism:
$options
    checkpoint:
      mode: async         # GPUs go on while storage drains it
      stall: 5 s          # 0.3 to 7 s are reported
      writers: all
      max_overlap: 10 %   # a drain may take this share of the interval
      interval: {policy: optimal, min: 1 min, max: 4 h}
      keep_last: 10
$recovery
    # 78 % of them were hardware (the same paper); a day to mend it is an assumption
    repair: {share: 78 %, time: 24 h, unit: tray}
    # published rates of the class ($model) by type and precision: `achieved` in the catalogs, with
    # range and source; $unmeasured
    training:
      model: $model
      precision: $precision
$trained      scale: {exponent: 0.05}   # what more GPUs cost each: MLPerf lost 0.045 to 0.057
    dataset: $dataset   # $dataset_reason; on the same storage
$objective
"""
"""A problem of one's own; comments stand above where a line would be long."""


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
LARGE_MW = 50.0
"""Facility power from which a hall has checkpoints on the systems' own drives."""
COOLING = "  cooling: {cdu: cdu_coolit_chx2000, redundancy: N+1}   # for what is cooled by liquid\n"


@dataclass(frozen=True)
class Answers:
    """What matters, in the words of a problem file; None where it was not answered."""

    name: str | None = None
    power: str | None = None
    pue: str | None = None
    racks: str | None = None
    rack_power: str | None = None
    budget: str | None = None
    parameters: str | None = None
    active: str | None = None
    tokens: str | None = None
    precision: str | None = None
    goal: str | None = None
    cooling: str | None = None
    vendors: str | None = None
    owned: tuple[str, ...] = ()
    prices: str | None = None

    @property
    def any(self) -> bool:
        """Whether anything was answered."""
        return any(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class Prompt:
    """A question: its key, its words, and the place in the problem file that the answer fills.

    ``example`` is an answer, ``otherwise`` the default; without one an empty answer means
    ``nothing``.
    """

    key: str
    words: str
    example: str = ""
    path: str | None = None
    otherwise: str | None = None
    needed: bool = False
    nothing: str = "none"

    @property
    def text(self) -> str:
        """The question as the terminal shows it; an example does not look like a default."""
        example = f", for example {self.example}" if self.example else ""
        nothing = "" if self.needed or self.otherwise else f" (Enter: {self.nothing})"
        return f"{self.words}{example}{nothing}"


QUESTIONS: Mapping[str, Prompt] = {
    "name": Prompt("name", "Name of the problem and its file", otherwise="my-cluster"),
    "power": Prompt(
        "power", capital(FIGURES["facility_power_kw"].label), "3 MW", "site.facility_power",
        needed=True,
    ),
    "pue": Prompt("pue", "PUE, power at the meter by IT power", "", "site.pue", "1.25"),
    "racks": Prompt("racks", "Racks that the room takes", "24", "site.racks", needed=True),
    "rack_power": Prompt("rack-power", "Power of a rack", "130 kW", "site.rack.power",
                         needed=True),
    "budget": Prompt("budget", "Budget to buy", "60 MUSD", "budget.capex"),
    "parameters": Prompt("model", "Parameters of the model to train", "405 B",
                         job_path("parameters"), needed=True),
    "active": Prompt("active", "Parameters active per token, of a mixture of experts", "32 B",
                     job_path("training.active_parameters"), nothing="dense"),
    "tokens": Prompt("tokens", "Tokens to train it on", "15 T",
                     job_path("training.tokens")),
    "precision": Prompt("precision", "Precision: bf16, fp8 or nvfp4", otherwise="fp8"),
    "goal": Prompt("goal", "Goal: most work, cheapest work, '1024 GPUs' or '60 days'",
                   otherwise="most"),
    "cooling": Prompt("cooling", "Cooling: air or liquid",
                      nothing=f"liquid from {LIQUID_FROM_KW:g} kW a rack"),
    "prices": Prompt("prices", "Price book, a file or a shipped one",
                     otherwise="estimates_2026"),
    "vendors": Prompt("vendors", "Vendors that may sell", "DDN, VAST", nothing="any"),
    "owned": Prompt("own", "Units owned, as ITEM=UNITS", "nvidia_dgx_h100=8"),
}  # fmt: skip
_NO_ANSWER = {"", "-", "no", "none", "any", "anybody", "null", "~"}
_LIKE = {"name": "my-cluster", "power": "3 MW", "pue": "1.25", "racks": "24",
         "rack_power": "130 kW", "parameters": "405 B"}  # fmt: skip
"""Answers that stand in for the others while one is checked."""


def ask(
    answers: Answers,
    name: str,
    prompt: Callable[[str, str], str],
    tell: Callable[[str], None],
    check: Callable[[str, str, Answers], None],
) -> Answers:
    """Return the answers with one more, asked for until it passes its check.

    Args:
        answers: those so far; one that was given before is asked for only if it is wrong.
        name: which question.
        prompt: asks a question, with the default for an empty answer, and returns the answer.
        tell: shows what is wrong with an answer.
        check: raises InputError for a wrong answer.
    """
    question, given = QUESTIONS[name], getattr(answers, name)
    text = ", ".join(given) if name == "owned" else given
    while True:
        try:
            if text:
                check(name, text, answers)
                return _with(answers, name, text)
            if text is not None and question.needed:
                tell(f"{question.key}: an answer is needed; for example {question.example}")
        except InputError as error:
            tell(error.findings[0].text())
        text = prompt(question.text, question.otherwise or "").strip()
        if not question.needed and not question.otherwise and text.casefold() in _NO_ANSWER:
            return _with(answers, name, "")


def _with(answers: Answers, name: str, text: str) -> Answers:
    """Return the answers with one replaced; an empty text is none."""
    given = _units(text) if name == "owned" else text or None
    return replace(answers, **{name: given})  # type: ignore[arg-type]


def _units(text: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[\s,]+", re.sub(r"\s*=\s*", "=", text)) if part)


def ask_all(
    given: Answers,
    folder: Path,
    prompt: Callable[[str, str], str],
    tell: Callable[[str], None],
    *,
    force: bool,
) -> Path:
    """Ask for every answer that is missing or wrong, and write the problem file; return its path.

    However it ends without a file, the answers are shown as a command line.

    Raises:
        InputError: no answer can mend what is wrong.
    """
    check = partial(check_answer, folder=folder, force=force)
    answers, written = given, None
    try:
        for name in QUESTIONS:
            answers = ask(answers, name, prompt, tell, check)
        while written is None:
            try:
                written = write_problem(answers, folder, force=force)
            except InputError as error:
                name = question_of(error.findings[0]) or ""
                if not name:
                    raise
                tell(error.findings[0].text())
                answers = ask(_with(answers, name, ""), name, prompt, tell, check)
    finally:
        if written is None and answers != given:
            tell(f"\nyour answers so far: {command_of(answers, folder, force=force)}")
    return written


def check_answer(name: str, text: str, answers: Answers, *, folder: Path, force: bool) -> None:
    """Check one answer by itself, with the price book that was answered before.

    Raises:
        InputError: it cannot be read, or no problem file can have it.
    """
    if QUESTIONS[name].path is not None:
        _read(QUESTIONS[name], text)
        return
    if name == "name":
        _target(text, folder, force=force)
        return
    if name in _CHOICES:
        _choice(name, text)
        return
    if name == "goal":
        _goal(text, answers.tokens)
        return
    values = _LIKE | {"prices": _book(answers.prices or "estimates_2026", folder)}
    if name == "prices":
        values["prices"] = _book(text, folder)
    inputs = _loaded(folder / "new.yaml", values, {})
    if name == "vendors":
        _chosen(inputs, text, {})
    elif name == "owned":
        owned = _owned(_units(text), inputs)
        _loaded(folder / "new.yaml", values, owned)


def question_of(finding: Finding) -> str | None:
    """Return the question whose answer a finding is about, if it is about one."""
    place = f"{finding.path}."
    for name, question in QUESTIONS.items():
        if finding.message.startswith(f"{question.key}:"):
            return name
        if question.path is not None and place.startswith(f"{question.path}."):
            return name
    return {"prices": "prices", "items": "owned"}.get(place.split(".")[0])


def command_of(answers: Answers, folder: Path, *, force: bool) -> str:
    """Return the command line that gives the same answers."""
    words = ["planner", "init"]
    for name, question in QUESTIONS.items():
        given = getattr(answers, name)
        for value in given if name == "owned" else (given,):
            words += [f"{question.key}={value}"] if value else []
    words += ["-o", str(folder)] if folder != Path() else []
    return shlex.join([*words, "--force"] if force else words)


def read_answers(texts: Sequence[str]) -> tuple[str | None, Answers]:
    """Return the shipped example, or the answers, that are given on the command line.

    Args:
        texts: the name of an example, or KEY=ANSWER texts; ``own=ITEM=UNITS`` may be repeated.

    Raises:
        InputError: there is no such question, or both are given.
    """
    names = {question.key: name for name, question in QUESTIONS.items()}
    given: dict[str, Any] = {}
    examples = [text for text in texts if "=" not in text]
    for text in texts:
        key, separator, answer = text.partition("=")
        if not separator:
            continue
        if key not in names:
            fix = did_you_mean(key, list(names)) or f"there are {', '.join(names)}"
            raise InputError(Finding("usage", f"no question '{key}'", fix=fix))
        more = key == "own"
        given[names[key]] = (*given.get(names[key], ()), answer) if more else answer
    if examples and (given or len(examples) > 1):
        message = f"an example ({examples[0]}) is copied as it is"
        fix = "give its name alone, or answers alone, such as power='3 MW'"
        raise InputError(Finding("usage", message, fix=fix))
    return (examples[0] if examples else None), Answers(**given)


def write_problem(answers: Answers, folder: Path, *, force: bool) -> Path:
    """Write a complete problem file of the answers; return its path.

    Args:
        answers: what matters.
        folder: where the file goes.
        force: replace a file that is there.

    Raises:
        InputError: an answer is missing or cannot be read, nothing on offer fits it, or the file is
            there already.
    """
    values = _checked(answers)
    target = _target(values["name"], folder, force=force)
    values["prices"] = _book(values["prices"], folder)
    _goal(values["goal"], values.get("tokens"))
    inputs = _loaded(target, values, {})
    owned = _owned(answers.owned, inputs)
    if owned:
        inputs = _loaded(target, values, owned)
    systems, families = _chosen(inputs, values.get("vendors"), owned)
    assumes = any(not _is_measured(inputs.by_id[each], inputs) for each in systems)
    values["unmeasured"] = _unmeasured(inputs, assumes=assumes)
    gpus = {item.id: item.provides.gpus.value for item in inputs.items if item.provides.gpus}
    write_all({target: _text(values, owned, systems, families, gpus).encode()})
    return target


def _target(name: str, folder: Path, *, force: bool) -> Path:
    """Return the file of a problem with a name.

    Raises:
        InputError: no file can have that name, or it is there already.
    """
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    if not stem:
        message = f"name: no file can be named {name!r}"
        raise InputError(Finding("value", message, fix="use letters and digits"))
    if len(stem) > _LONGEST_NAME:
        message = f"name: {len(stem)} letters are too many for a file name"
        raise InputError(Finding("value", message, fix=f"use {_LONGEST_NAME} at most"))
    target = folder / f"{stem}.yaml"
    if target.exists() and not force:
        fix = "choose another name or folder (-o), or --force to replace it"
        raise InputError(Finding("exists", f"name: {target} is there already", fix=fix))
    return target


def _book(prices: str, folder: Path) -> str:
    """Return the price book as a problem file in a folder names it."""
    path = Path(prices).expanduser()
    if path.is_absolute() or (folder / path).exists() or not path.is_file():
        return str(path)
    return os.path.relpath(path, folder) if folder.is_dir() else str(path.resolve())


def _loaded(target: Path, values: Mapping[str, str], owned: Mapping[str, int]) -> Inputs:
    """Return the problem of the answers, with everything on offer considered.

    Raises:
        InputError: something is wrong with it, told without the lines of a text nobody has seen.
    """
    try:
        inputs, findings = load_with_findings(target, text=_text(values, owned, None, None))
    except InputError as error:
        findings = [*error.findings]
    wrong = [finding for finding in findings if finding.severity == "error"]
    if wrong:
        unseen = target.name
        raise InputError(
            [
                replace(each, file=None, line=None)
                if each.file is None or Path(each.file).name == unseen
                else each
                for each in wrong
            ]
        )
    return inputs


def _checked(answers: Answers) -> dict[str, str]:
    """Return the answers that there are, as a problem file has them.

    Raises:
        InputError: one is missing, or cannot be read.
    """
    values = {}
    for name, question in QUESTIONS.items():
        given = getattr(answers, name) or question.otherwise
        if name == "owned":
            continue
        if not given and question.needed:
            missing = [q.key for n, q in QUESTIONS.items()
                       if q.needed and not getattr(answers, n)]  # fmt: skip
            message = f"not given: {', '.join(missing)}"
            raise InputError(Finding("missing", message, fix=f"for example {_example()}"))
        if not given:
            continue
        if name in _CHOICES:
            _choice(name, given)
        values[name] = given if question.path is None else _read(question, given)
    return values


def _read(question: Prompt, given: str) -> str:
    """Return an answer as a problem file has it, read as the file's own field reads it.

    Raises:
        InputError: it is no value of that field, or nothing to plan for.
    """
    assert question.path is not None
    slot = _slot(question.path)
    try:
        value = raw(given)
        number = number_of(slot.read(value))
    except InputError as error:
        _refuse(question, error.findings[0])
    except ValidationError as error:
        _refuse(question, slot.faults(error, value)[0])
    if value is None or (number is not None and number <= 0):
        message = f"{question.key}: {given} is nothing to plan for"
        raise InputError(Finding("value", message, fix=f"for example {question.example}"))
    return short(value, most=1000)


def _refuse(question: Prompt, fault: Finding) -> NoReturn:
    raise InputError(
        replace(fault, message=f"{question.key}: {fault.message}", file=None, line=None, path=None)
    ) from None


def _slot(path: str) -> Slot:
    """Return what may stand at a place of a problem file."""
    slot = slot_for(Problem)
    for step in path.split("."):
        inside = slot.inside()
        if inside is not None:
            slot = inside[1]
            continue
        name = field_of(slot.models[0], step)
        assert name is not None
        slot = slot_of(slot.models[0], name)
    return slot


def _example() -> str:
    return "planner init power='3 MW' racks=24 rack-power='130 kW' model='405 B'"


def _owned(given: Sequence[str], inputs: Inputs) -> dict[str, int]:
    owned: dict[str, int] = {}
    for one in given:
        name, _, count = (part.strip() for part in one.partition("="))
        if not (count.isascii() and count.isdigit() and int(count[:20]) > 0):
            message = f"own: {one!r} is no item with a number of units"
            raise InputError(Finding("value", message, fix="for example nvidia_dgx_h100=8"))
        if name not in inputs.by_id:
            message = f"own: no item '{name}'"
            raise InputError(Finding("not-found", message, fix=_meant(name, inputs)))
        owned[name] = owned.get(name, 0) + int(count[:20])
    return owned


def _chosen(
    inputs: Inputs, vendors: str | None, owned: Mapping[str, int]
) -> tuple[list[str], list[str]]:
    """Return the GPU systems and the families of storage to choose from, by id.

    Raises:
        InputError: a vendor is not known, or nothing is left to choose from.
    """
    offers = [
        item
        for item in inputs.items
        if item.category in ("gpu_system", "storage")
        and (item.id in owned or _on_offer(item, inputs))
    ]
    asked = [part.strip() for part in (vendors or "").split(",") if part.strip()]
    sellers = sorted({item.vendor for item in offers})
    meant = {name for part in asked for name in _sellers(part, sellers)}
    offers = [item for item in offers if _is_wanted(item, inputs, meant, owned)]
    chosen = []
    for category, what in (("gpu_system", "GPU system"), ("storage", "storage")):
        here = [item for item in offers if item.category == category]
        named = {item.vendor for item in here} & meant
        left = [item for item in here if not named or item.vendor in named or item.id in owned]
        if not left:
            raise InputError(Finding("empty", f"no {what} on offer has a price and all figures"))
        chosen.append(left)
    systems, storage = chosen
    return [item.id for item in systems], sorted({str(item.family) for item in storage})


_CHOICES = {"cooling": ("air", "liquid"), "precision": ("bf16", "fp8", "nvfp4")}
"""Questions with a few answers."""


def _choice(name: str, given: str) -> None:
    """Refuse an answer that is none of the few.

    Raises:
        InputError: it is not.
    """
    if given not in _CHOICES[name]:
        known = ", ".join(_CHOICES[name])
        message = f"{QUESTIONS[name].key}: {given!r} is none of {known}"
        raise InputError(Finding("value", message, fix=f"give one of {known}"))


def _goal(given: str, tokens: str | None) -> tuple[str, str]:
    """Return the targets and the objective of a goal, as the problem file has them.

    Raises:
        InputError: the goal cannot be read, or it is a deadline without tokens to train on.
    """
    if given.casefold() == "most":
        best = "objective: {maximize: goodput, indifference: 0.5 %}"
        return "", f"# of plans within 0.5 % of the best the cheapest is taken\n{best}"
    if given.casefold() == "cheapest":
        return "", "objective: {minimize: usd_per_useful_gpu_hour}"
    count, _, unit = given.strip().replace(",", "").partition(" ")
    targets = {"gpus": "min_gpus: {}", "days": "max_days_to_train: {} days"}
    if not (count.isascii() and count.isdigit() and int(count) and unit.casefold() in targets):
        message = f"goal: {given!r} is no goal"
        fix = "give most, cheapest, '1024 GPUs' or '60 days'"
        raise InputError(Finding("value", message, fix=fix))
    if unit.casefold() == "days" and not tokens:
        message = "goal: a number of days needs the tokens"
        raise InputError(Finding("missing", message, fix="give tokens='15 T'"))
    target = targets[unit.casefold()].format(count)
    return f"targets: {{{target}}}   # answered\n", "objective: {minimize: tco}"


def _is_liquid(values: Mapping[str, str]) -> bool:
    """Whether the hall has liquid cooling: as answered, else by the power of a rack."""
    rack_kw = units.parse(values["rack_power"], units.POWER)
    return values.get("cooling", "liquid" if rack_kw >= LIQUID_FROM_KW else "air") == "liquid"


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


def _unmeasured(inputs: Inputs, *, assumes: bool) -> str:
    """Return the line of what to assume of types without a published rate, from those with one."""
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
    line = f"assumed_mfu: {100 * median(middles):.0f} %   # for types nobody measured; {usual}"
    return f"      {line}\n" if assumes else f"      # {line}\n"


def _meant(name: str, inputs: Inputs) -> str | None:
    """Return a hint that names the items whose ids hold every word of a name, or come near it."""
    words = re.findall(r"[a-z0-9]+", name.casefold())
    found = [
        item
        for item in inputs.items
        if item.category in ("gpu_system", "storage") and all(word in item.id for word in words)
    ]
    if not found or not words:
        return did_you_mean(name, [*inputs.by_id])
    names = " or ".join(f"'{item.id}'" for item in found[:3])
    gpus = found[0].provides.gpus
    whole = f" Units are whole systems, here of {gpus.value} GPUs" if gpus else ""
    return f"did you mean {names}?{whole}"


def _on_offer(item: Item, inputs: Inputs) -> bool:
    wanted = suitability.not_wanted(item, inputs.problem) is None
    return wanted and suitability.lacking(item, inputs) is None


def _sellers(part: str, sellers: Sequence[str]) -> list[str]:
    """Return the vendors that a word means: their name, or how it begins."""
    found = [name for name in sellers if name.casefold().startswith(part.casefold())]
    if not found:
        fix = did_you_mean(part, list(sellers)) or f"known: {', '.join(sellers)}"
        raise InputError(Finding("not-found", f"vendors: nobody is called '{part}'", fix=fix))
    return found


def pipeline_of(parameters: float) -> int:
    """Return into how many stages a replica is cut so that its state fits, 8 GPUs to a stage."""
    stages = 1
    while STATE_BYTES * parameters / 1e9 / (_TENSOR * stages) > STATE_GB_PER_GPU:
        if stages == _DEEPEST:
            break
        stages *= 2
    return stages


def _options(stages: int) -> list[str]:
    """Return the ways of spreading a replica, the largest first; memory decides which fit."""
    depths = [stages] if stages == 1 else [stages, stages // 2]
    return [
        f"      - {{tensor: {tensor}, pipeline: {depth}, {MEMORY}}}"
        for tensor in (_TENSOR, _TENSOR // 2)
        for depth in depths
    ]


def _text(
    values: Mapping[str, str],
    owned: Mapping[str, int],
    systems: Sequence[str] | None,
    families: Sequence[str] | None,
    gpus: Mapping[str, int] | None = None,
) -> str:
    """Return the problem file; without choices everything on offer is considered.

    ``gpus`` are those of a unit, by item, for the comment beside what is owned.
    """
    parameters = units.parse(values["parameters"], units.PARAMETERS)
    targets, objective = _goal(values.get("goal", "most"), "any")
    trained = "".join(
        f"      {key}: {values[name]}   # answered\n"
        for name, key in (("tokens", "tokens"), ("active", "active_parameters"))
        if name in values
    )
    dataset, dataset_reason = _dataset(values.get("tokens"))
    stages = pipeline_of(parameters)
    considered, installed = "", ""
    if systems is not None and families is not None:
        considered = (
            "consider:                 # what has a price and every figure, of whom may sell\n"
            f"  gpu_systems: [{', '.join(systems)}]\n"
            f"  storage_families: [{', '.join(families)}]\n"
        )
    if owned:
        installed = "# answered: what stands there already\nitems:\n"
        for name, count in owned.items():
            of = f"   # systems, {count * gpus[name]:,} GPUs" if gpus and name in gpus else ""
            installed += f"  {name}: {{installed: {count}}}{of}\n"
    budget = values.get("budget")
    text = Template(TEMPLATE).substitute(
        values,
        name=json.dumps(values["name"], ensure_ascii=False),
        job="model-" + re.sub(r"[^a-z0-9]+", "-", values["parameters"].replace(" ", "").lower()),
        budget=f"budget: {{capex: {budget}}}   # answered: what may be paid at once\n"
        if budget
        else "",
        considered=considered,
        installed=installed,
        dataset=dataset,
        dataset_reason=dataset_reason,
        prices=_scalar(values.get("prices", "")),
        cooling=COOLING if _is_liquid(values) else "",
        recovery=LOCAL_RECOVERY
        if units.parse(values["power"], units.POWER) >= 1000.0 * LARGE_MW
        else RECOVERY,
        model="moe" if "active" in values else "dense",
        precision=values.get("precision", "fp8"),
        trained=trained + values.get("unmeasured", "      assumed_mfu: 30 %\n"),
        unmeasured="types without one are left out" if systems else "",
        targets=targets,
        objective=objective,
        catalogs=CATALOGS,
        options="\n".join(_options(stages)),
        replica=_TENSOR * stages,
        gigabytes=f"{STATE_BYTES * parameters / 1e9 / (_TENSOR * stages):,.0f}",
    )
    return "".join(_in_a_column([*lines]) for _, lines in groupby(text.splitlines(), _behind))


def _dataset(tokens: str | None) -> tuple[str, str]:
    """Return the size of the training data in the problem file, and what it follows from."""
    if tokens is None:
        return "60 TB", "an assumption: 15 T tokens of 4 bytes"
    size = TOKEN_BYTES * units.parse(tokens, units.TOKENS)
    scale, unit = next(
        (each for each in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB")) if size >= each[0]),
        (1e6, "MB"),
    )
    return f"{size / scale:.6g} {unit}", f"{TOKEN_BYTES:g} bytes for each token"


def _scalar(text: str) -> str:
    """Return a text as YAML has it inside of a mapping or list."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _behind(line: str) -> bool:
    return _BEHIND.fullmatch(line) is not None


def _in_a_column(lines: Sequence[str]) -> str:
    """Return neighbouring lines with the comments behind them, if they have any, in a column."""
    found = [(line, _BEHIND.fullmatch(line)) for line in lines]
    width = max(len(each[1]) if each else 0 for _, each in found)
    return "".join(
        f"{each[1]:{width}}   {each[2]}\n" if each else f"{line}\n" for line, each in found
    )


def write_example(name: str, folder: Path, *, force: bool) -> Path:
    """Write the shipped problem ``name`` into ``folder`` and return its path.

    Raises:
        InputError: no such example, or the file is there already and ``force`` is not given.
    """
    known = shipped.problem_files() | shipped.portfolio_files()
    name = name.removesuffix(".yaml")
    if name not in known:
        hint = did_you_mean(name, list(known)) or "examples: " + ", ".join(known)
        raise InputError(Finding("not-found", f"no example named '{name}'", fix=hint))
    target = folder / f"{name}.yaml"
    if target.exists() and not force:
        fix = "choose another folder with -o, or --force to replace it"
        raise InputError(Finding("exists", "the file is there already", str(target), fix=fix))
    contents = {target: known[name].read_bytes()}
    catalogs = known[name].parent / "catalogs"
    for own in sorted(catalogs.glob("*.yaml")):
        if f"catalogs/{own.name}" in known[name].read_text("utf-8"):
            contents[folder / "catalogs" / own.name] = own.read_bytes()
    write_all(contents)
    return target

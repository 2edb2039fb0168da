"""A problem to start from: a shipped example, or one's own from answers to a few questions.

The answers fill the template `own_problem.yaml` beside this file. A new question is a row of
`QUESTIONS` and a placeholder of the template, filled in `_fields`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from planner import units
from planner.atomic_files import write_all
from planner.case.resolve import missing_price_or_figure, why_not_wanted
from planner.case.ways import peak_tflops
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import FIGURES, capital
from planner.inputs import Inputs
from planner.library import example
from planner.loader import from_data
from planner.paths import job_path
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
LARGE_MW = 50.0
"""Facility power from which a hall has checkpoints on the systems' own drives."""
_LONGEST_NAME = 100
_TENSOR, _DEEPEST = 8, 64

Answers = Mapping[str, str]
"""Answers by the key of their question; an empty one is none."""


def _wrong(key: str, message: str, fix: str | None = None) -> InputError:
    return InputError(Finding("value", f"{key}: {message}", fix=fix))


Check = Callable[[str, str], object]
"""Takes a question's key and an answer; raises an InputError where it cannot be read."""


def _quantity(dimension: units.Dimension) -> Check:
    """A check of quantities above 0."""

    def check(key: str, text: str) -> None:
        try:
            value = units.parse(text, dimension)
        except units.QuantityError as error:
            raise _wrong(key, str(error), error.fix) from None
        if value <= 0:
            raise _wrong(key, f"{text} is nothing to plan for", f"give for example {_LIKE[key]}")

    return check


def _one_of(*choices: str) -> Check:
    """A check of words."""

    def check(key: str, text: str) -> None:
        if text not in choices:
            known = ", ".join(choices)
            raise _wrong(key, f"{text!r} is none of {known}", f"give one of {known}")

    return check


def _whole(key: str, text: str) -> None:
    if not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
        raise _wrong(key, f"expected a whole number, found {text!r}")
    if int(text) <= 0:
        raise _wrong(key, f"{text} is nothing to plan for", f"give for example {_LIKE[key]}")


def _ratio(key: str, text: str) -> None:
    if not re.fullmatch(r"[0-9.]{1,9}", text, re.ASCII) or text.count(".") > 1:
        raise _wrong(key, f"expected a number, found {text!r}")
    if not 1.0 <= float(text) <= 10.0:
        raise _wrong(key, f"{text} is out of range", "give 1 to 10")


def _file_stem(key: str, text: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")
    if not stem:
        raise _wrong(key, f"no file can be named {text!r}", "use letters and digits")
    if len(stem) > _LONGEST_NAME:
        message = f"{len(stem)} letters are too many for a file name"
        raise _wrong(key, message, f"use {_LONGEST_NAME} at most")
    return stem


def _goal(key: str, text: str) -> tuple[str, str]:
    """The goal, most, cheapest or least, and the target of the least cost."""
    goal = text.strip().casefold()
    if goal in ("most", "cheapest"):
        return goal, ""
    count, _, unit = goal.replace(",", "").partition(" ")
    targets = {"gpus": f"min_gpus: {count}", "days": f"max_days_to_train: {count} days"}
    if not (re.fullmatch("[0-9]{1,9}", count) and int(count) and unit in targets):
        raise _wrong(key, f"{text!r} is no goal", "give most, cheapest, '1024 GPUs' or '60 days'")
    return "least", targets[unit]


def _any(key: str, text: str) -> None:
    """Answers checked with the catalogs, in `_problem`."""


class Question(NamedTuple):
    """A question: its words, an example, its check, the default, the place of a later finding."""

    words: str
    example: str = ""
    check: Check = _any
    default: str | None = None
    needed: bool = False
    nothing: str = "none"
    path: str = "-"

    @property
    def text(self) -> str:
        """The question as the terminal shows it; an example does not look like a default."""
        shown = f", for example {self.example}" if self.example else ""
        nothing = "" if self.needed or self.default else f" (Enter: {self.nothing})"
        return f"{self.words}{shown}{nothing}"


_PARAMETERS, _POWER = _quantity(units.PARAMETERS), _quantity(units.POWER)
QUESTIONS = {
    "name": Question("Name of the problem and its file", "", _file_stem, "my-cluster"),
    "power": Question(capital(FIGURES["facility_power_kw"].label), "3 MW", _POWER, None, True,
                      path="site.facility_power"),
    "pue": Question("PUE, facility power / IT load", "", _ratio, "1.25", path="site.pue"),
    "racks": Question("Racks that the room takes", "24", _whole, None, True, path="site.racks"),
    "rack-power": Question("Power of a rack", "130 kW", _POWER, None, True,
                           path="site.rack.power"),
    "budget": Question("Budget to buy", "60 MUSD", _quantity(units.MONEY), path="budget.capex"),
    "model": Question("Parameters of the model to train", "405 B", _PARAMETERS, None, True,
                      path=job_path("parameters")),
    "active": Question("Parameters active per token, of a mixture of experts", "32 B", _PARAMETERS,
                       nothing="dense", path=job_path("training.active_parameters")),
    "tokens": Question("Tokens to train it on", "15 T", _quantity(units.TOKENS),
                       path=job_path("training.tokens")),
    "dataset": Question("Size of the training data", "50 PB", _quantity(units.CAPACITY),
                        nothing=f"{TOKEN_BYTES:g} bytes for each token", path=job_path("dataset")),
    "precision": Question("Precision: bf16, fp8 or nvfp4", "", _one_of("bf16", "fp8", "nvfp4"),
                          "fp8"),
    "goal": Question("Goal: most work, cheapest work, '1024 GPUs' or '60 days'", "", _goal, "most"),
    "cooling": Question("Cooling: air or liquid", "", _one_of("air", "liquid"),
                        nothing=f"liquid from {LIQUID_FROM_KW:g} kW a rack"),
    "prices": Question("Price book, a file or a shipped one", "", _any, "estimates_2026",
                       path="prices"),
    "vendors": Question("Vendors that may sell", "DDN, VAST", nothing="any"),
    "own": Question("Units owned, as ITEM=UNITS", "nvidia_dgx_h100=8", path="items"),
}  # fmt: skip
_LIKE = {key: str(each.default or each.example) for key, each in QUESTIONS.items()}
_NEEDED = {key: _LIKE[key] for key, each in QUESTIONS.items() if each.needed or each.default}
"""Answers in place of the others while one is checked."""
_NO_ANSWER = {"", "-", "no", "none", "any", "anybody", "null", "~"}
_LIKE_THIS = "for example planner init power='3 MW' racks=24 rack-power='130 kW' model='405 B'"


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
            raise InputError(Finding("usage", f"no question '{key}'", fix=fix))
        if separator:
            given[key] = f"{given[key]}, {answer}" if key == "own" and key in given else answer
    if examples and (given or len(examples) > 1):
        fix = "give its name alone, or answers alone, such as power='3 MW'"
        message = f"an example ({examples[0]}) is copied as it is"
        raise InputError(Finding("usage", message, fix=fix))
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
    """
    answers, waiting, written = dict(given), list(QUESTIONS), None
    try:
        while waiting:
            key = waiting[0]
            question, text = QUESTIONS[key], answers.pop(key, None)
            if text is None:
                text = prompt(question.text, question.default or "").strip()
                optional = not question.needed and not question.default
                if optional and text.casefold() in _NO_ANSWER:
                    text = ""
            try:
                if question.needed and not text:
                    raise _wrong(key, f"an answer is needed; for example {question.example}")
                if text:
                    _problem(_NEEDED | {**answers, key: text}, folder, only=key, force=force)
                    answers[key] = text
                waiting.remove(key)
                if not waiting:
                    written = write_problem(answers, folder, force=force)
            except InputError as error:
                tell(error.findings[0].text())
                wrong = _question_of(error.findings[0]) or key
                answers.pop(wrong, None)
                waiting = [wrong, *(each for each in waiting if each != wrong)]
    finally:
        if written is None and answers != given:
            tell(f"\nyour answers so far: {_command_of(answers, folder, force=force)}")
    assert written is not None
    return written


def _question_of(finding: Finding) -> str | None:
    """The question whose answer a finding is about."""
    for key, question in QUESTIONS.items():
        at_its_place = f"{finding.path}.".startswith(f"{question.path}.")
        if finding.message.startswith(f"{key}:") or at_its_place:
            return key
    return None


def _command_of(answers: Answers, folder: Path, *, force: bool) -> str:
    words = ["planner", "init", *(f"{key}={answers[key]}" for key in QUESTIONS if key in answers)]
    words += ["-o", str(folder)] if folder != Path() else []
    return shlex.join([*words, "--force"] if force else words)


def write_problem(answers: Answers, folder: Path, *, force: bool) -> Path:
    """Write a complete problem file of the answers; return its path.

    Raises:
        InputError: an answer is missing or wrong, nothing on offer fits it, or the file exists.
    """
    given = {key: text for key, text in answers.items() if text}
    for key, text in given.items():
        QUESTIONS[key].check(key, text)
    missing = [key for key, each in QUESTIONS.items() if each.needed and key not in given]
    if missing:
        message = f"not given: {', '.join(missing)}"
        raise InputError(Finding("missing", message, fix=_LIKE_THIS))
    defaults = {key: each.default for key, each in QUESTIONS.items() if each.default}
    target, text = _problem(defaults | given, folder, force=force)
    write_all({target: text.encode()})
    return target


def _problem(
    answers: Answers, folder: Path, *, force: bool, only: str | None = None
) -> tuple[Path, str]:
    """The file and the text of the problem of some answers.

    Args:
        answers: the needed ones and those with a default at least.
        only: the answer to check; others than prices, vendors and own need no catalog.

    Raises:
        InputError: an answer is wrong, nothing on offer fits it, or the file exists.
    """
    for key, text in answers.items():
        QUESTIONS[key].check(key, text)
    target = folder / f"{_file_stem('name', answers['name'])}.yaml"
    if target.exists() and not force and only in (None, "name"):
        fix = "choose another name or folder (-o), or --force to replace it"
        raise _wrong("name", f"{target} is there already", fix)
    if only not in (None, "prices", "vendors", "own", "pue"):
        return target, ""
    if answers["goal"].casefold().endswith("days") and not answers.get("tokens") and not only:
        raise _wrong("goal", "a number of days needs the tokens", "give tokens='15 T'")
    values = {**answers, "prices": _book(answers["prices"], folder)}
    inputs = from_data(_text(values, {}), path=target)
    owned = _owned(answers.get("own", ""), inputs)
    if owned:
        inputs = from_data(_text(values, owned, inputs), path=target)
    offers = _offers(inputs, answers.get("vendors"), owned)
    return target, _text(values, owned, inputs, offers)


def write_example(name: str, folder: Path, *, force: bool) -> Path:
    """Write a shipped problem with its own catalogs into a folder; return its path.

    Raises:
        InputError: no such example, or the file exists.
    """
    name = name.removesuffix(".yaml")
    source = example(name)
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


# Answers read with the catalogs.


def _book(prices: str, folder: Path) -> str:
    """The price book as a problem file in a folder names it."""
    path = Path(prices).expanduser()
    if path.is_absolute() or (folder / path).exists() or not path.is_file():
        return str(path)
    return os.path.relpath(path, folder) if folder.is_dir() else str(path.resolve())


def _owned(text: str, inputs: Inputs) -> dict[str, int]:
    """Units owned by item."""
    owned: dict[str, int] = {}
    for one in filter(None, re.split(r"[\s,]+", re.sub(r"\s*=\s*", "=", text))):
        name, _, count = one.partition("=")
        if not (count.isascii() and count.isdigit() and int(count[:20]) > 0):
            message = f"{one!r} is no item with a number of units"
            raise _wrong("own", message, "for example nvidia_dgx_h100=8")
        if name not in inputs.by_id:
            raise _wrong("own", f"no item '{name}'", _meant(name, inputs))
        owned[name] = owned.get(name, 0) + int(count[:20])
    return owned


def _meant(name: str, inputs: Inputs) -> str | None:
    """A hint with the items whose ids hold every word of a name, or come near it."""
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


def _offers(inputs: Inputs, vendors: str | None, owned: Mapping[str, int]) -> list[Item]:
    """The GPU systems and storage to consider: what may be bought, fits the cooling, is wanted.

    Of GPU systems NVIDIA's own with a measured rate are usual: other vendors' HGX systems hold the
    same GPUs, and are considered where their vendor is named.
    """
    offers = [
        item
        for item in inputs.items
        if item.category in ("gpu_system", "storage") and not item.is_bulk
        and (item.id in owned or _is_on_offer(item, inputs))
    ]  # fmt: skip
    sellers = sorted({item.vendor for item in offers})
    meant: set[str] = set()
    for part in filter(None, map(str.strip, (vendors or "").split(","))):
        named = {name for name in sellers if name.casefold().startswith(part.casefold())}
        if not named:
            fix = did_you_mean(part, sellers) or f"known: {', '.join(sellers)}"
            raise _wrong("vendors", f"nobody is called '{part}'", fix)
        meant |= named
    liquid = inputs.problem.site.cooling.cdu is not None

    def fits(item: Item) -> bool:
        if item.category != "gpu_system" or item.id in owned:
            return True
        usual = item.vendor == "NVIDIA" and _is_measured(item, inputs)
        return (liquid or item.consumes.liquid_share is None) and (usual or item.vendor in meant)

    found: list[Item] = []
    for category, kind in (("gpu_system", "GPU system"), ("storage", "storage")):
        here = [item for item in offers if item.category == category and fits(item)]
        chosen = {item.vendor for item in here} & meant
        left = [item for item in here if not chosen or item.vendor in chosen or item.id in owned]
        if not left:
            message = f"no {kind} on offer has a price and all figures"
            raise InputError(Finding("empty", message))
        found += left
    return found


def _is_on_offer(item: Item, inputs: Inputs) -> bool:
    wanted = why_not_wanted(item, inputs.problem) is None
    return wanted and missing_price_or_figure(item, inputs) is None


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
    line = f"assumed_mfu: {100 * median(middles):.0f} %   # for types nobody measured; {usual}"
    systems = [item for item in offers if item.category == "gpu_system"]
    needed = any(not _is_measured(item, inputs) for item in systems)
    return f"{'' if needed else '# '}{line}"


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
    from jinja2 import Environment, StrictUndefined

    source = resources.files("planner.commands").joinpath("own_problem.yaml.j2").read_text("utf-8")
    known = {} if inputs is None else inputs.by_id
    units_owned = [
        (name, count, count * (gpus.value if gpus else 0))
        for name, count in owned.items()
        for gpus in [known[name].provides.gpus]
    ]
    environment = Environment(trim_blocks=True, undefined=StrictUndefined)
    text = environment.from_string(source).render(
        _fields(values),
        owned=units_owned,
        systems=[item.id for item in offers if item.category == "gpu_system"],
        families=sorted({str(item.family) for item in offers if item.category == "storage"}),
        mfu=_assumed_mfu(inputs, offers) if inputs and offers else "assumed_mfu: 30 %",
    )
    return "".join(map(_aligned, text.splitlines()))


def _fields(values: Answers) -> dict[str, Any]:
    """The variables of the template that follow from the answers."""
    parameters = units.parse(values["model"], units.PARAMETERS)
    stages = pipeline_of(parameters)
    objective, target = _goal("goal", values["goal"])
    hot = units.parse(values["rack-power"], units.POWER) >= LIQUID_FROM_KW
    plain = re.fullmatch(r"[A-Za-z0-9_./-]+", values["prices"])
    dataset, reason, in_bulk = _dataset(values.get("dataset"), values.get("tokens"))
    kept = ("power", "pue", "racks", "precision", "budget", "tokens", "active")
    return {key: values.get(key) for key in kept} | {
        "name": json.dumps(values["name"], ensure_ascii=False),
        "rack_power": values["rack-power"],
        "liquid": values.get("cooling", "liquid" if hot else "air") == "liquid",
        "prices": values["prices"] if plain else json.dumps(values["prices"], ensure_ascii=False),
        "objective": objective,
        "target": target,
        "job": "model-" + re.sub(r"[^a-z0-9]+", "-", values["model"].replace(" ", "").lower()),
        "parameters": values["model"],
        "stages": stages,
        "gigabytes": f"{STATE_BYTES * parameters / 1e9 / (_TENSOR * stages):,.0f}",
        "large": units.parse(values["power"], units.POWER) >= 1000.0 * LARGE_MW,
        "model": "moe" if values.get("active") else "dense",
        "dataset": dataset,
        "dataset_reason": reason,
        "in_bulk": in_bulk,
    }


def _dataset(answer: str | None, tokens: str | None) -> tuple[str, str, bool]:
    """The data set as the problem file has it, its reason, and whether it is on the bulk tier."""
    flash = "on the same storage"
    if answer is None and tokens is None:
        return "60 TB", f"an assumption: 15 T tokens of 4 bytes; {flash}", False
    if answer is None:
        size = TOKEN_BYTES * units.parse(tokens or "", units.TOKENS)
        scales = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"))
        scale, unit = next((each for each in scales if size >= each[0]), (1e6, "MB"))
        return f"{size / scale:.6g} {unit}", f"{TOKEN_BYTES:g} bytes for each token; {flash}", False
    if units.parse(answer, units.CAPACITY) < BULK_FROM_TB:
        return answer, f"answered; {flash}", False
    beside = "answered; object or capacity storage beside flash"
    return f"{{size: {answer}, tier: bulk}}", beside, True


def _aligned(line: str) -> str:
    """A line with the comment behind its value in a column; a name may hold anything."""
    match = re.fullmatch(r"( *(?!name:)[^ #].*?) {2,}(# .*)", line)
    return f"{match[1]:<30} {match[2]}\n" if match else f"{line}\n"

"""Functions of `import planner` made of the rows of studies: what they take, what they tell.

Their parameters are the options of the command, without those that are of a screen and of files.
What is about the files that are studied comes first; an option behind it that can be given several
times may be given by its place. All others are given by name, as texts, numbers, or, where the
command repeats ``NAME=VALUE``, as ``{name: value}``.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from planner.cli_options import SET, Option, share
from planner.errors import Finding, InputError
from planner.library.asking import record_of, varied
from planner.library.sources import file_path, flat
from planner.outputs.blocks import PARTS
from planner.studies.registry import STUDIES
from planner.studies.study import Function, Study, load

_OF_THE_COMMAND = {"output", "as_json", "quiet", *PARTS}
_SETTINGS = inspect.Parameter(
    "settings", inspect.Parameter.KEYWORD_ONLY, default=(), annotation="Settings"
)
_SAID = {
    "settings": "changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.",
    "scenario": "a named scenario of the file.",
}
_WIDTH = 92


def study_functions() -> dict[str, Callable[..., Any]]:
    """Return the functions that are studies, by their names."""
    return {
        function.name: _made(study, function)
        for study in STUDIES.values()
        for function in _functions(study)
    }


def _functions(study: Study) -> tuple[Function, ...]:
    if study.functions is None:
        return (Function(study.name.replace("-", "_"), study.results[0]),)
    return study.functions


def _made(study: Study, function: Function) -> Callable[..., Any]:
    """Return a function that asks a study."""
    first, *options = study.options
    options = [each for each in options if each.name not in {*_OF_THE_COMMAND, *function.settled}]
    known = {each.name: each for each in options}
    parameters = list(_parameters(first, options, function.defaults))
    record = function.result.record
    signature = inspect.Signature(parameters, return_annotation=record.partition(":")[2])

    def run(*args: Any, **named: Any) -> Any:
        for name in named:
            if name not in signature.parameters:
                message = f"planner {study.name} has no option '{name}'"
                names = ", ".join(list(signature.parameters)[1:])
                raise InputError(Finding("option", message, fix=f"its options: {names}"))
        bound = signature.bind(*args, **named)
        values = {**function.defaults, **bound.arguments}
        sources = values.pop(first.name, ())
        settings, scenario = values.pop("settings", ()), values.pop("scenario", None)
        given = {name: _read(known[name], value) for name, value in values.items()}
        return record_of(
            study.name,
            sources if first.several else (sources,),
            load(record),
            {**function.settled, **given},
            settings,
            scenario,
        )

    run.__name__ = run.__qualname__ = function.name
    run.__module__ = "planner.library"
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__annotations__["return"] = signature.return_annotation
    run.__doc__ = "\n".join(_docstring(function, study, [first, *options]))
    return run


def _parameters(
    first: Option, options: list[Option], defaults: Mapping[str, Any]
) -> Iterator[inspect.Parameter]:
    kinds = inspect.Parameter
    files = kinds.VAR_POSITIONAL if first.several else kinds.POSITIONAL_OR_KEYWORD
    yield kinds(first.name, files, annotation=first.takes)
    for place, option in enumerate(options):
        if option is SET:
            yield _SETTINGS
            continue
        by_place = place == 0 and option.several and not first.several
        kind = kinds.POSITIONAL_OR_KEYWORD if by_place else kinds.KEYWORD_ONLY
        default = defaults.get(option.name, _default(option))
        annotation = _annotation(option, one=option.several and isinstance(default, str))
        yield kinds(option.name, kind, default=default, annotation=annotation)


def _default(option: Option) -> Any:
    value = option.default
    if option.several:
        return ()
    return value.value if isinstance(value, Enum) else value


def _annotation(option: Option, *, one: bool = False) -> str:
    """Return what an option may be, in the names of `planner.library`.

    Args:
        option: the option.
        one: whether it is one of several that the command takes.
    """
    inner = option.kind
    optional = NoneType in get_args(inner)
    if optional:
        (inner,) = (each for each in get_args(inner) if each is not NoneType)
    if option.several:
        (inner,) = get_args(inner)
    text = "File" if inner is Path else getattr(inner, "__name__", "")
    if option.choices:
        text = "Literal[" + ", ".join(f'"{choice}"' for choice in option.choices) + "]"
    if option.several:
        if option.is_mapping:
            return "Settings"
        return text if one else f"Sequence[{text}]"
    if isinstance(option.read, partial) and option.read.func is share:
        text = f"float | {text}"
    return f"{text} | None" if optional else text


def _read(option: Option, value: Any) -> Any:
    """Return a value as the command line would have it.

    Raises:
        InputError: it is none of those there are.
    """
    if value is None:
        return None
    is_path = "Path" in str(option.kind)
    if is_path:
        what = f"a file for {option.name}"
        if not option.several:
            return file_path(value, what)
        return tuple(file_path(each, what) for each in flat((value,)))
    if option.several:
        alone = option.choices and isinstance(value, str)
        value = (value,) if alone else varied(value)
    for each in value if option.several else (value,):
        if option.choices and each not in option.choices:
            message = f"{option.name} {each!r} is not known"
            raise InputError(Finding("option", message, fix=f"one of {', '.join(option.choices)}"))
    return value


def _docstring(function: Function, study: Study, options: list[Option]) -> Iterator[str]:
    yield from textwrap.wrap(function.says or study.help, _WIDTH)
    yield ""
    yield "Args:"
    for option in options:
        name = "settings" if option is SET else option.name
        words = _SAID.get(name, option.help.replace("Repeatable", "Several may be given"))
        if name in function.defaults:
            words, _, _ = words.partition("; default")
        text = f"{name}: {words.rstrip('.')}."
        yield from textwrap.wrap(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)

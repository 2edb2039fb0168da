"""Files that are not what they should be: not YAML, not text, not there, hostile."""

from __future__ import annotations

from tests.bad_input.row import Row, problem
from tests.world.files import PROBLEM

BOMB = "name: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


def whole(name: str, content: str | bytes, *, wrong: str, right: str, line: str = "") -> Row:
    """Return a row whose problem file is ``content``; ``line`` holds words of the faulty line."""
    at = ("problem.yaml", line) if line else "problem.yaml"
    return Row(name, wrong, right, at=at, files={"problem.yaml": content})


ROWS: tuple[Row, ...] = (
    problem(
        "wrong_indentation",
        "  pue: 1.25",
        "   pue: 1.25",
        wrong="a key stands where none can stand",
        right="check the indentation",
    ),
    problem(
        "outdented_key",
        "      stall: 5 s",
        "     stall: 5 s",
        wrong="does not fit the indentation",
        right="the same indentation",
    ),
    problem(
        "tab",
        "  pue: 1.25",
        "\tpue: 1.25",
        wrong="a tab is used for indentation",
        right="use spaces",
    ),
    problem(
        "unclosed_bracket",
        "rack: {height: 48 RU, power: 45 kW}",
        "rack: {height: 48 RU, power: 45 kW",
        wrong="a bracket that is opened here is not closed",
        right="add ']' or '}'",
    ),
    problem(
        "unclosed_quote",
        "name: Small hall",
        'name: "Small hall',
        wrong="a quote that is opened here is not closed",
        right="add the quote",
    ),
    problem(
        "missing_colon",
        "  pue: 1.25",
        "  pue 1.25",
        wrong="a key without its ':'",
        right="write 'key: value'",
    ),
    problem(
        "colon_in_text",
        "name: Small hall",
        "name: hall: small",
        wrong="a key stands where none can stand",
        right="put text that holds ': ' in quotes",
    ),
    problem(
        "duplicate_key",
        "  pue: 1.25",
        "  pue: 1.25\n  pue: 1.3",
        wrong=r"key 'pue' stands twice \(first in line 4\)",
        right="keep one",
        at="  pue: 1.3",
    ),
    problem(
        "duplicate_section",
        "objective:",
        "site: {pue: 1.1}\nobjective:",
        wrong=r"key 'site' stands twice \(first in line 2\)",
        right="keep one",
    ),
    problem(
        "two_documents",
        "budget:",
        "---\nbudget:",
        wrong="more than one document",
        right="keep one",
        at="---",
    ),
    problem(
        "python_tag",
        "name: Small hall",
        "name: !!python/object/apply:os.system [id]",
        wrong="the tag '.*python.*' is not allowed",
        right="remove it",
    ),
    problem(
        "own_tag",
        "pue: 1.25",
        "pue: !env PUE",
        wrong="the tag '!env' is not allowed",
        right="remove it",
    ),
    problem(
        "number_key",
        "items:\n  gpu_box",
        "items:\n  7: {max: 2}\n  gpu_box",
        wrong="'7' is not well formed",
        right="an id is lower-case letters",
        at="  7: {max: 2}",
    ),
    problem(
        "bool_key",
        "items:\n  gpu_box",
        "items:\n  true: {max: 2}\n  gpu_box",
        wrong="the key 'true' must be text",
        right="in quotes",
        at="  true: {max: 2}",
    ),
    problem(
        "list_key",
        "items:\n  gpu_box",
        "items:\n  [a, b]: {max: 2}\n  gpu_box",
        wrong="a key must be text",
        right="write 'key: value'",
        at="  [a, b]: {max: 2}",
    ),
    Row(
        "empty",
        wrong="the problem file is empty",
        right="planner init",
        at=("problem.yaml", ""),
        files={"problem.yaml": ""},
    ),
    whole(
        "only_comments",
        "# later\n",
        wrong="the problem file is empty",
        right="planner init",
        line="# later",
    ),
    whole(
        "a_list",
        "- name: a\n",
        wrong="not a mapping of keys to values",
        right="planner init",
        line="- name: a",
    ),
    whole(
        "a_word",
        "hello\n",
        wrong="not a mapping of keys to values",
        right="planner init",
        line="hello",
    ),
    whole(
        "bomb",
        BOMB,
        wrong="aliases expand to over 500,000 values",
        right="use fewer aliases",
        line="name: &a0",
    ),
    whole(
        "recursive_alias",
        "name: &n\n  again: *n\n",
        wrong="an alias refers to itself",
        right="write the value in its place",
        line="name: &n",
    ),
    whole(
        "unknown_alias",
        "name: *nobody\n",
        wrong="refers to an '&' that is not above",
        right="in quotes",
        line="name: *nobody",
    ),
    whole(
        "deep",
        "name: " + "[" * 60 + "]" * 60 + "\n",
        wrong="nested deeper than 40 levels",
        right="no planner file needs",
        line="name",
    ),
    whole(
        "very_deep",
        "name: " + "[" * 50_000 + "\n",
        wrong="nested deeper than 40 levels",
        right="no planner file needs",
        line="name",
    ),
    whole(
        "very_deep_blocks",
        "- " * 20_000 + "x\n",
        wrong="nested deeper than 40 levels",
        right="no planner file needs",
        line="- ",
    ),
    whole("binary", bytes(range(256)) * 20, wrong="not a text file", right="YAML in UTF-8"),
    whole("zip", b"PK\x03\x04\x14\x00\x00\x00" * 9, wrong="not a text file", right="YAML in UTF-8"),
    whole("latin_1", "name: Köln\n".encode("latin-1"), wrong="not a text file", right="UTF-8"),
    whole("utf_16", PROBLEM.encode("utf-16"), wrong="not a text file", right="UTF-8"),
    whole(
        "control_characters",
        "name: a\x07b\n",
        wrong=r"the control character '\\x07'",
        right="remove what is not visible text",
        line="name: a",
    ),
    whole("large", "#" * 5_000_001, wrong="larger than 5 MB", right="give less of it"),
    Row(
        "no_file",
        command="solve none.yaml",
        wrong="no such problem file",
        right="none.yaml",
        at="none.yaml",
    ),
    Row(
        "a_folder",
        command="solve .",
        wrong="is a folder, not a file",
        right="name a file in it",
        at=".",
    ),
    Row(
        "below_a_file",
        command="solve problem.yaml/x.yaml",
        at="problem.yaml/x.yaml",
        wrong="no such problem file",
        right="no such",
    ),
    Row(
        "name_too_long",
        command=f"solve {'x' * 300}.yaml",
        at=f"{'x' * 300}.yaml",
        wrong="cannot be read: file name too long",
        right="too long",
    ),
)

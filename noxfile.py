"""Developer tasks: nox -s lint | types | test | coverage | docs | bench."""

import nox

nox.options.sessions = ["lint", "types", "test"]
PINNED = ("-c", "constraints.txt")


@nox.session
def lint(session: nox.Session) -> None:
    """Style, spelling, plain words, import contracts."""
    session.install("-e", ".[dev]", *PINNED)
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("codespell")
    session.run("python", "scripts/check_words.py")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """Static types."""
    session.install("-e", ".[dev]", *PINNED)
    session.run("mypy")


@nox.session(python=["3.11", "3.12", "3.13"])
def test(session: nox.Session) -> None:
    """All tests with the newest dependencies."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Line and branch coverage of the tests."""
    session.install("-e", ".[test]", "coverage[toml]")
    session.run("coverage", "run", "-m", "pytest", "-n", "0", *session.posargs)
    session.run("coverage", "report")


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation as a site in site/."""
    session.install("-e", ".[docs]", *PINNED)
    session.run("mkdocs", "build", "--strict")


@nox.session
def bench(session: nox.Session) -> None:
    """CPU seconds of `solve` against a plain PuLP script."""
    session.install("-e", ".[dev]", *PINNED)
    session.run("python", "benchmarks/solve.py")

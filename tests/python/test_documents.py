"""The documents say nothing that is not so: their examples run, their links lead somewhere, quoted rows are the real
ones, and the tests that they name exist."""

import contextlib
import doctest
import io
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
FENCE = re.compile(r"^( *)```(\S*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

documents = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)


def blocks(path):
    """Language and text of the fenced blocks."""
    return [(m[2], textwrap.dedent(m[1] + m[3].removeprefix(m[1]))) for m in FENCE.finditer(path.read_text())]


@documents
def test_examples_give_what_they_say(path):
    text = "\n".join(code for language, code in blocks(path) if language == "python" and ">>>" in code)
    example = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    assert not doctest.DocTestRunner(optionflags=FLAGS).run(example).failed


@documents
def test_programs_print_the_text_below_them(path):
    found = blocks(path)
    for (language, code), (after, output) in zip(found, found[1:]):
        if language == "python" and ">>>" not in code and after == "text":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, path.name, "exec"), {})
            assert printed.getvalue() == output


@documents
def test_links_lead_to_files_and_tests(path):
    text = FENCE.sub("", path.read_text())
    for label, target in re.findall(r"\[([^\]]+)\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{label} leads to {target}"
        if anchor:
            titles = re.findall(r"^#+ (.+)$", there.read_text(), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles], target
        name = label.strip("`")
        if re.fullmatch(r"test_\w+|[a-z0-9]+(_[a-z0-9]+){3,}", name) and there.suffix in (".py", ".rs"):
            assert re.search(rf"(def|fn) {name}\(", there.read_text()), f"{target} has no test {name}"


@documents
def test_quoted_rows_are_those_of_the_table(path):
    source = "".join((ROOT / "src" / "ops" / f).read_text() for f in ("unary.rs", "binary.rs"))
    have = {line.strip() for line in source.splitlines()}
    for language, code in blocks(path):
        if language == "rust,ignore":
            missing = [
                line.strip() for line in code.splitlines() if "d(x, g)" in line and line.strip() not in have
            ]
            assert not missing, f"{path.name} quotes {missing}"

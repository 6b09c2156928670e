"""A review as Markdown, short enough for a comment on a pull request."""

import re
from collections.abc import Sequence

from base.errors import word
from review.document import Page
from review.files import FileChange
from review.inputs import InputChange
from review.policies import PolicyResult
from review.text import code, counted
from review.verdict import Sentence

LIMIT = 65_536
"""Characters of a comment on GitHub; here bytes are counted, which are never fewer."""
RESERVED = 500
"""Bytes for the headings and for the lines that say what is left out."""
HEADER = "| input | before | after | of |\n|---|---|---|---|\n"
MARKUP = re.compile(r"([\\`*_\[\]<>~|&])")


def markdown(page: Page, limit: int = LIMIT) -> str:
    """Return the review. If it is longer than `limit` bytes, it leaves out files first, then inputs, and says so."""
    room = limit - RESERVED - len(f"{_mark(page.stack)}{page.title}".encode())
    policies = [_policy(policy) for policy in page.policies]
    room -= sum(len(policy.encode()) for policy in policies)
    sentences = [_sentence(effect) for effect in page.verdict]
    sentences, room = _fitting(sentences, room)
    inputs, room = _fitting([_row(change) for change in page.inputs], room)
    files, room = _fitting([_file(file) for file in page.files], room)
    parts = [f"{_mark(page.stack)}## {page.title}\n\n", *sentences]
    if policies:
        parts += ["\n### Policies\n\n", *policies]
    if page.files:
        parts += ["\n### Files\n", *files]
    if page.inputs:
        parts += ["\n### Other inputs\n\n", HEADER if inputs else "", *inputs]
    left = [
        counted(len(items) - len(fitting), what)
        for items, fitting, what in (
            (page.verdict, sentences, "sentence"),
            (page.files, files, "file block"),
            (page.inputs, inputs, "input"),
        )
        if len(items) > len(fitting)
    ]
    if left:
        whole = f"`okd-baremetal review {word(page.stack)} --html` has all of them"
        parts.append(
            f"\nLeft out here, because a comment has room for {limit} characters: {', '.join(left)}; {whole}.\n"
        )
    return "".join([*parts, f"\n{page.end}\n"])


def _mark(stack: str) -> str:
    """Return a line that no reader sees, by which the comment of this stack is recognised."""
    return f"<!-- okd-baremetal review {stack} -->\n"


def _fitting(parts: Sequence[str], room: int) -> tuple[list[str], int]:
    """Return the first parts that fit, and the room that they leave."""
    fitting = list[str]()
    for part in parts:
        if (size := len(part.encode())) > room:
            return fitting, 0
        fitting.append(part)
        room -= size
    return fitting, room


def _sentence(sentence: Sentence) -> str:
    text = _prose(sentence.text)
    return f"- **{text}**\n" if sentence.is_grave else f"- {text}\n"


def _prose(text: str) -> str:
    """Return a text with its code spans. Whatever else Markdown would read as markup is text, as in an error."""
    parts = re.split("(`[^`]++`)", text)
    return "".join(part if index % 2 else MARKUP.sub(r"\\\1", part) for index, part in enumerate(parts))


def _policy(policy: PolicyResult) -> str:
    if not policy.breaches:
        return f"- passed: {policy.name}\n"
    return f"- **failed: {policy.name}**. {policy.requirement}\n" + "".join(
        f"  - {_prose(breach)}\n" for breach in policy.breaches
    )


def _row(change: InputChange) -> str:
    cells = [code(cell).replace("|", r"\|") for cell in (change.name, change.old, change.new)]
    return f"| {' | '.join([*cells, ', '.join(change.resources)])} |\n"


def _file(file: FileChange) -> str:
    if not file.lines:
        return f"\n{file.title} ({file.remark})\n"
    if file.kind != "changed":
        title = re.sub("`([^`]*)`", r"<code>\1</code>", file.title)
        head = f"\n<details><summary>{title} ({file.remark})</summary>\n\n"
        return f"{head}{_fenced(file, 'text')}\n</details>\n"
    return f"\n{file.title}\n\n{_fenced(file, 'diff')}"


def _fenced(file: FileChange, language: str) -> str:
    """Return lines in a fence that is longer than any in them."""
    longest = max((len(ticks) for line in file.lines for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *file.lines, f"{fence}\n"])

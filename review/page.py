"""A review as a page: what the writers of Markdown and HTML both write."""

from dataclasses import dataclass

from review.files import Shown, shown
from review.inputs import Row, rows
from review.preview import read_preview
from review.verdict import Sentence, verdict


@dataclass(frozen=True)
class Page:
    """The parts of a review, in the order of reading."""

    stack: str
    verdict: tuple[Sentence, ...]
    files: tuple[Shown, ...]
    inputs: tuple[Row, ...]

    @property
    def title(self) -> str:
        """The headline."""
        return f"What `pulumi up` will do to the stack {self.stack}"


def read(text: str, stack: str, where: str) -> Page:
    """Return the review of a preview, which is the output of `pulumi preview --json`.

    Raises:
        ConfigError: It is none, or of a preview that failed; `where` is its place in the message.
    """
    preview = read_preview(text, where)
    return Page(
        stack=stack,
        verdict=tuple(verdict(preview, where)),
        files=tuple(shown(preview)),
        inputs=tuple(rows(preview)),
    )

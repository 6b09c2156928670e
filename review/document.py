"""A review as a page: what the writers of Markdown and HTML both write."""

from dataclasses import dataclass

from review.files import Shown, shown
from review.inputs import Row, rows
from review.policies import Judged
from review.preview import Preview
from review.verdict import Sentence, verdict


@dataclass(frozen=True)
class Page:
    """The parts of a review, in the order of reading."""

    stack: str
    verdict: tuple[Sentence, ...]
    files: tuple[Shown, ...]
    inputs: tuple[Row, ...]
    digest: str
    policies: tuple[Judged, ...] = ()

    @property
    def title(self) -> str:
        """The headline."""
        return f"What `pulumi up` will do to the stack {self.stack}"

    @property
    def end(self) -> str:
        """The last line, with which `fleet start --approved` approves this preview."""
        return f"Digest of this preview: `{self.digest}`"


def page_of(preview: Preview, stack: str, policies: tuple[Judged, ...] = ()) -> Page:
    """Return the review of a preview."""
    return Page(
        stack=stack,
        verdict=tuple(verdict(preview)),
        files=tuple(shown(preview)),
        inputs=tuple(rows(preview)),
        digest=preview.digest,
        policies=policies,
    )

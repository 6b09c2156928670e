"""A review as a page: what the writers of Markdown and HTML both write."""

from dataclasses import dataclass

from review.files import FileChange, file_changes
from review.inputs import InputChange, input_changes
from review.policies import PolicyResult
from review.preview import Preview
from review.verdict import Sentence, verdict


@dataclass(frozen=True)
class Page:
    """The parts of a review, in the order of reading."""

    stack: str
    verdict: tuple[Sentence, ...]
    files: tuple[FileChange, ...]
    inputs: tuple[InputChange, ...]
    digest: str
    policies: tuple[PolicyResult, ...] = ()

    @property
    def title(self) -> str:
        """The headline."""
        return f"What `pulumi up` will do to the stack {self.stack}"

    @property
    def end(self) -> str:
        """The last line, with which `fleet start --approved` approves this preview."""
        return f"Digest of this preview: `{self.digest}`"


def page_of(preview: Preview, stack: str, policies: tuple[PolicyResult, ...] = ()) -> Page:
    """Return the review of a preview."""
    return Page(
        stack=stack,
        verdict=tuple(verdict(preview)),
        files=tuple(file_changes(preview)),
        inputs=tuple(input_changes(preview)),
        digest=preview.digest,
        policies=policies,
    )

"""A review as a page: what the writers of Markdown and HTML both write."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from review.comparison import against, created
from review.files import FileChange, file_changes
from review.inputs import InputChange, input_changes
from review.policies import PolicyResult
from review.preview import Preview
from review.text import counted
from review.verdict import Sentence, verdict
from review.write_plan import WritePlan


@dataclass(frozen=True)
class Page:
    """The parts of a review, in the order of reading."""

    stack: str
    verdict: tuple[Sentence, ...]
    files: tuple[FileChange, ...] = ()
    inputs: tuple[InputChange, ...] = ()
    digest: str = ""
    """That of the write plan; empty for a preview that failed."""
    policies: tuple[PolicyResult, ...] = ()

    @property
    def title(self) -> str:
        """The headline."""
        return f"What `pulumi up` will do to the stack {self.stack}"

    @property
    def end(self) -> str:
        """The last line, with which `fleet start --approved` approves this preview."""
        return f"Digest of this preview: `{self.digest}`" if self.digest else "No digest: the preview failed."


def page_of(
    preview: Preview,
    stack: str,
    policies: tuple[PolicyResult, ...] = (),
    base: Preview | None = None,
    notices: Sequence[str] = (),
) -> Page:
    """Return the review of a preview.

    Args:
        preview: The preview.
        stack: Name of the stack.
        policies: The results of the policies.
        base: The preview of the base branch, with which files and inputs that are not installed yet are compared.
        notices: What the inventory of the servers says against the files.
    """
    shown = against(preview, base) if base else preview
    return Page(
        stack=stack,
        verdict=(
            *verdict(preview),
            *(_not_installed(preview, base) if base else ()),
            *(Sentence(notice) for notice in notices),
        ),
        files=tuple(file_changes(shown)),
        inputs=tuple(input_changes(shown)),
        digest=WritePlan.of(preview).digest,
        policies=policies,
    )


def refused_page(stack: str, errors: Sequence[str]) -> Page:
    """Return the review of a preview that failed: its errors, and nothing of what it had found before."""
    return Page(stack, tuple(Sentence(f"`pulumi up` would be refused: {error}", is_grave=True) for error in errors))


def _not_installed(preview: Preview, base: Preview) -> Iterator[Sentence]:
    if common := len(created(preview).keys() & created(base).keys()):
        them = "it" if common == 1 else "them"
        what = f"The base branch has {counted(common, 'resource')} that `up` has not created yet"
        yield Sentence(f"{what}; below is only what this change makes different in {them}.")

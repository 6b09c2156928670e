"""The two forms of a review: Markdown within the limit of a comment, and one HTML page."""

from html.parser import HTMLParser

import pytest

from review.document import Page, page_of
from review.files import FileChange, MachineFile
from review.html import html
from review.inputs import InputChange
from review.markdown import LIMIT, markdown
from review.policies import PolicyResult
from review.preview import read_preview
from review.verdict import Sentence
from testing import plans
from testing.preview_steps import bmc_host, file, preview, step

SMALL = Page(
    stack="prod",
    verdict=(Sentence("Moves the API VIP `192.0.2.5`."), Sentence("Wipes `/dev/sda` of m0.", is_grave=True)),
    files=(
        FileChange((MachineFile("/etc/a", "m0"), MachineFile("/etc/a", "m1")), "changed", (" a", "-b", "+c")),
        FileChange((MachineFile("/etc/b", "m0"),), "new", ("x",)),
        FileChange((MachineFile("/etc/k", "m0"),), "changed", secret=True),
    ),
    inputs=(InputChange("vips[0]", "192.0.2.5", None, ("okd-api",)),),
    digest="00d1e5700d1e5700",
)
WRITTEN = """<!-- okd-baremetal review prod -->
## What `pulumi up` will do to the stack prod

- Moves the API VIP `192.0.2.5`.
- **Wipes `/dev/sda` of m0.**

### Files

`/etc/a` on m0, m1

```diff
 a
-b
+c
```

<details><summary><code>/etc/b</code> on m0 (new, 1 line)</summary>

```text
x
```

</details>

`/etc/k` on m0 (changed; secret, so its lines are not shown)

### Other inputs

| input | before | after | of |
|---|---|---|---|
| `vips[0]` | `192.0.2.5` | not set | okd-api |

Digest of this preview: `00d1e5700d1e5700`
"""


def test_markdown_has_verdict_files_and_inputs() -> None:
    assert markdown(SMALL) == WRITTEN


def many(files: int, inputs: int, sentences: int = 1) -> Page:
    lines = tuple(f"+line {number} of a file that has many of them, ä" for number in range(40))
    return Page(
        stack="prod",
        verdict=tuple(Sentence(f"Sentence {number} on a machine.") for number in range(sentences)),
        files=tuple(
            FileChange((MachineFile(f"/etc/{number:03}", "m0"),), "changed", lines) for number in range(files)
        ),
        inputs=tuple(InputChange(f"input.{number:04}", "a" * 60, "b" * 60, ("okd-a",)) for number in range(inputs)),
        digest="00d1e5700d1e5700",
    )


@pytest.mark.parametrize(
    ("page", "left"),
    [
        (many(20, 20), None),
        (many(60, 20), "27 file blocks"),
        (many(20, 1000), "20 file blocks, 582 inputs"),
        (many(20, 20, 4000), "1798 sentences, 20 file blocks, 20 inputs"),
    ],
    ids=["all", "files", "inputs", "sentences"],
)
def test_a_comment_never_exceeds_the_limit_and_says_what_it_leaves_out(page: Page, left: str | None) -> None:
    written = markdown(page)
    assert (LIMIT - 2500 if left else 0) < len(written.encode()) <= LIMIT
    said = [line for line in written.splitlines() if line.startswith("Left out here")]
    assert said == (
        [
            f"Left out here, because a comment has room for 65536 characters: {left}; "
            "`okd-baremetal review prod --html` has all of them."
        ]
        if left
        else []
    )
    assert written.startswith(
        "<!-- okd-baremetal review prod -->\n## What `pulumi up` will do to the stack prod\n\n- Sent"
    )


def test_what_is_left_out_comes_last_in_order() -> None:
    written = markdown(many(60, 20))
    shown = [line for line in written.splitlines() if line.startswith("`/etc/")]
    assert shown == [f"`/etc/{number:03}` on m0" for number in range(33)]
    assert written.count("| `input.") == 20


def test_html_leaves_nothing_out() -> None:
    written = html(many(60, 1000, 4000))
    assert (written.count("<pre>"), written.count("<tr>"), written.count("<li ")) == (60, 1001, 4000)


def test_a_fence_is_longer_than_those_in_the_file() -> None:
    written = markdown(page_of(read_preview(preview(file("compute", "/etc/a", None, "```\n````x\n")), ""), "prod"))
    assert "`````text\n```\n````x\n`````\n" in written


class Tags(HTMLParser):
    """The names of a page's elements."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)


HOSTILE = "`|</code><script>alert(1)</script>\n# x"


def test_no_value_breaks_out_of_its_place() -> None:
    host = plans.HOSTS[0]
    hostile = plans.plan(consent={**plans.CONSENT, host: HOSTILE})
    steps = [
        step("update", f"okd-{host}", bmc_host(plans.plan(), host), bmc_host(hostile, host)),
        file("compute", "/etc/a", "1\n", "</pre><script>alert(1)</script>\n"),
        file("compute", "/etc/b", None, "</details><script>alert(1)</script>\n"),
    ]
    page = page_of(read_preview(preview(*steps), ""), "prod")
    row = next(line for line in markdown(page).splitlines() if line.startswith("| `consent`"))
    assert row == rf"| `consent` | `SERIAL-{host}` | `'\|</code><script>alert(1)</script>\n# x` | okd-{host} |"

    reader = Tags()
    reader.feed(html(page))
    assert reader.seen == {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "ul", "li", "p", "pre", "span", "code"),
        *("details", "summary", "table", "tr", "th", "td"),
    }


def test_html_marks_lines_and_grave_sentences_and_loads_nothing() -> None:
    written = html(SMALL)
    assert '<li class="plain">Moves the API VIP <code>192.0.2.5</code>.</li>' in written
    assert '<li class="grave">Wipes <code>/dev/sda</code> of m0.</li>' in written
    assert '<pre> a\n<span class="gone">-b</span>\n<span class="new">+c</span></pre>' in written
    assert "<details><summary><code>/etc/b</code> on m0 (new, 1 line)</summary><pre>x</pre></details>" in written
    assert not any(each in written for each in ("src=", "href=", "url(", "@import"))


def test_a_breach_is_no_markup() -> None:
    """S23: the reason may be git's."""
    breach = "consent.m0: git blame failed: ```<b>*x*</b> [a](b)"
    text = markdown(Page("prod", (), policies=(PolicyResult("consent", "Why.", (breach,)),)))
    assert r"  - consent.m0: git blame failed: \`\`\`\<b\>\*x\*\</b\> \[a\](b)" in text.splitlines()

"""Changed lines once, with all machines that they reach; new files in full; always in one order."""

from assets.file import Reader, RenderedFile
from providers.rendered_asset.model import RenderedAssetSpec
from review.files import FileChange, MachineFile, file_changes
from review.preview import read_preview
from testing.preview_steps import file, preview, step

OLD = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n"
NEW = OLD.replace("e\n", "E\n")
HUNK = (" b", " c", " d", "-e", "+E", " f", " g", " h")
CONF = "/etc/okd-baremetal/keepalived.conf"


def found(*steps: dict[str, object]) -> list[FileChange]:
    return file_changes(read_preview(preview(*steps), ""))


def test_an_equal_hunk_is_shown_once_with_all_that_it_reaches() -> None:
    steps = [
        file("hosts/m0", CONF, OLD, NEW),
        file("hosts/m1", CONF, "0\n" + OLD, "0\n" + NEW),
        file("bootstrap", "/etc/b", OLD, NEW),
    ]
    (shown_once,) = found(*steps)
    assert shown_once.lines == HUNK
    assert shown_once.reach == (
        MachineFile("/etc/b", "the bootstrap VM"),
        MachineFile(CONF, "m0"),
        MachineFile(CONF, "m1"),
    )
    assert shown_once.title == f"`/etc/b` on the bootstrap VM; `{CONF}` on m0, m1"


def test_hunks_of_equal_reach_stay_together_and_others_apart() -> None:
    both = OLD + OLD.replace("e\n", "x\n")
    changed = NEW + OLD.replace("e\n", "y\n")
    pair, own = found(file("control-plane", "/etc/a", both, changed), file("compute", "/etc/a", OLD, NEW))
    assert (pair.reach, pair.lines) == (
        (MachineFile("/etc/a", "compute"), MachineFile("/etc/a", "the control plane")),
        HUNK,
    )
    assert own.reach == (MachineFile("/etc/a", "the control plane"),)
    assert own.lines == (" b", " c", " d", "-x", "+y", " f", " g", " h")


def test_the_files_of_arbiters_are_not_those_of_a_host_of_that_name() -> None:
    shared, own = found(file("arbiter", "/etc/a", OLD, NEW), file("hosts/arbiter", "/etc/b", OLD, OLD.upper()))
    assert (shared.reach, own.reach) == ((MachineFile("/etc/a", "the arbiter"),), (MachineFile("/etc/b", "arbiter"),))


def test_two_hunks_of_one_file_are_separated() -> None:
    (both,) = found(file("compute", "/etc/a", OLD + OLD, NEW + OLD.replace("e\n", "y\n")))
    assert both.lines == (*HUNK, "@@", *(line.replace("E", "y") for line in HUNK))


def test_the_order_does_not_depend_on_that_of_the_steps() -> None:
    steps = [
        file(folder, path, old, f"{old or ''}{path}\n" if folder != "bootstrap" else None)
        for folder in ("hosts/m0", "hosts/m1", "compute", "bootstrap")
        for path, old in (("/etc/a", "1\n"), ("/etc/b", "1\n"), ("/etc/c", None))
        if not (folder == "bootstrap" and old is None)
    ]
    first = found(*steps)
    for first_one in range(len(steps)):
        assert found(*steps[first_one:], *steps[:first_one]) == first
    assert [each.kind for each in first] == ["changed", "changed", "new", "removed"]
    assert [each.reach[0].path for each in first] == ["/etc/a", "/etc/b", "/etc/c", "/etc/a"]


def test_a_new_file_is_shown_in_full_and_once_if_machines_have_the_same() -> None:
    same, other = found(
        file("hosts/m1", "/etc/hostname", None, "x\n"),
        file("hosts/m0", "/etc/hostname", None, "x\n"),
        file("hosts/m2", "/etc/hostname", None, "y\nz\n"),
    )
    assert (same.lines, same.title, same.remark) == (("x",), "`/etc/hostname` on m0, m1", "new, 1 line")
    assert (other.lines, other.title, other.remark) == (("y", "z"), "`/etc/hostname` on m2", "new, 2 lines")


def test_removed_files_are_listed_by_machine() -> None:
    (gone,) = found(file("bootstrap", "/etc/b", "1\n", None), file("bootstrap", "/etc/a", "1\n", None))
    assert (gone.title, gone.remark) == ("2 files of the bootstrap VM", "removed from the stack")
    assert gone.lines == ("/etc/a", "/etc/b")


def test_a_lost_newline_at_the_end_is_shown() -> None:
    (changed,) = found(file("compute", "/etc/a", "a\n", "a"))
    assert changed.lines == (" a", "+\\ No newline at end of file")


def test_a_secret_file_has_no_lines() -> None:
    changed, new = found(
        file("hosts/m0", "/etc/k", "a\n", "b\n", secret=True),
        file("hosts/m1", "/etc/k", None, "a\n", secret=True),
    )
    assert (changed.lines, changed.remark) == ((), "changed; secret, so its lines are not shown")
    assert (new.lines, new.remark) == ((), "new; secret, so its lines are not shown")


def test_a_file_that_becomes_secret_shows_neither_text() -> None:
    open_, secret = (
        RenderedAssetSpec.of(RenderedFile("/etc/k", "a\n", Reader.SYSTEMD, secret)) for secret in (False, True)
    )
    for old, new in ((open_, secret), (secret, open_)):
        (changed,) = found(step("update", "okd-hosts-m0-k", old, new))
        assert (changed.lines, changed.secret) == ((), True)

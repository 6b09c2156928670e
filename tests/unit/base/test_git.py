"""What git says when it fails reaches the operator in one line, without a login."""

from subprocess import CompletedProcess

from base.git import reason_of


def test_the_reason_has_no_login_of_a_remote() -> None:
    # As git 2.39 writes it; its other errors leave the login out themselves.
    text = "fatal: clone of 'https://usr:CNRYpg@127.0.0.1:1/x' into submodule path '/tmp/zz' failed\n"
    done = CompletedProcess(["git"], 128, "", text)
    assert reason_of(done) == "fatal: clone of 'https://[masked]@127.0.0.1:1/x' into submodule path '/tmp/zz' failed"

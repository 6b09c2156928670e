"""What the proofs read on the consoles of machines."""

from lab.rehearsal.proofs import chosen_time_servers

CONSOLE = """\
[    9.102034] chronyd[412]: 2026-11-22T22:27:11Z chronyd version 4.3 starting (+CMDMON +NTP)
[   14.583121] chronyd[412]: 2026-11-22T22:27:15Z Selected source 10.30.0.123
[   21.010233] chronyd[412]: 2026-11-22T22:27:22Z Selected source fd30:0:0:1::2 (ntp.lab.test)
"""


def test_a_machine_says_which_time_servers_it_has_chosen_time_servers() -> None:
    assert chosen_time_servers(CONSOLE.splitlines()) == {"10.30.0.123", "fd30:0:0:1::2", "ntp.lab.test"}


def test_a_machine_whose_time_servers_do_not_answer_has_chosen_none() -> None:
    assert chosen_time_servers(CONSOLE.splitlines()[:1]) == set()

"""A member of the control plane that hangs, behind the rendered haproxy (case HP2)."""

from pathlib import Path

from testing.namespaces import in_own_network, needs_root
from testing.scene.machine import until
from testing.scene.members import API, ended, members_of

pytestmark = needs_root
HUNG = "okd-master-1"
SOON_S = 15
"""Far from the 5 minutes after which haproxy ends a silent connection anyway."""


def test_a_hung_member_loses_its_clients_and_returns_slowly(tmp_path: Path) -> None:
    def scenario() -> None:
        with members_of("rehearsal", tmp_path) as members:
            members.start()
            hung = members.node(HUNG)
            with members.to_each() as clients:
                hung.freeze(API)
                until("haproxy notices", lambda: members.reported(f"{HUNG} is DOWN"))
                assert ended(clients.pop(HUNG), SOON_S), "its client would wait for as long as it hangs"
                assert not any(ended(client, 0) for client in clients.values()), "the others' clients stay"
                assert HUNG not in members.serving(12)
            hung.signal("CONT", API)
            until("haproxy notices", lambda: members.reported(f"{HUNG} is UP"))
            assert members.serving(30).count(HUNG) < 30 / 3 / 2, "it is ready before its pods are"

    in_own_network(scenario)

from lab.site.bmc import count_writes

LOG = """\
 * Running on https://172.22.0.1:8443
10.0.0.1 - - [21/Nov/2026 10:00:30] "GET /redfish/v1/Systems HTTP/1.1" 200 -
10.0.0.1 - - [21/Nov/2026 10:00:31] "PATCH /redfish/v1/Systems/a-1 HTTP/1.1" 204 -
10.0.0.1 - - [21/Nov/2026 10:00:32] "\x1b[35m\x1b[1mPOST /redfish/v1/Systems/a-1/Actions/Reset HTTP/1.1\x1b[0m" 204 -
10.0.0.1 - - [21/Nov/2026 10:00:33] "POST /redfish/v1/Managers/b-2/VirtualMedia/Cd/Actions/X HTTP/1.1" 204 -
10.0.0.1 - - [21/Nov/2026 10:00:34] "HEAD /redfish/v1/Systems/b-2 HTTP/1.1" 200 -
10.0.0.1 - - [21/Nov/2026 10:00:35] "POST /redfish/v1/SessionService/Sessions HTTP/1.1" 401 -
"""


def test_requests_other_than_reads_are_counted_by_system() -> None:
    assert count_writes(LOG.splitlines()) == {"a-1": 2, "b-2": 1, "": 1}

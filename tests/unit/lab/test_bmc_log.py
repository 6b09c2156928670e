from lab.inventory import load_site
from lab.site.bmc import _front_config, count_foreign_requests, count_writes

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


BMCS = """\
[NOTICE]   (7) : haproxy version is 2.6.12-1+deb12u4
GET /redfish/v1/Systems/1 from 172.22.1.1
POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset from 10.70.0.2
GET /redfish/v1/Systems from 10.70.0.20
<BADREQ> - from 10.70.0.20
GET /redfish/v1/Systems from 10.70.0.21
"""


def test_requests_of_others_than_the_provisioner_are_counted_by_address() -> None:
    counted = count_foreign_requests(BMCS.splitlines(keepends=True), load_site("platform"))
    assert counted == {"10.70.0.20": 2, "10.70.0.21": 1}


def test_the_front_of_the_bmcs_logs_each_request_and_who_sent_it() -> None:
    config = _front_config(load_site("platform"))
    assert "log stdout format raw daemon info\n" in config
    assert 'log-format "%HM %HP from %ci"\n' in config

"""The packets that other machines than the provisioner send to a BMC: Redfish, IPMI, or whatever else."""

import json
from collections import Counter

from lab.inventory import Site
from lab.paths import NAMESPACE
from lab.shell import run
from lab.templates import render

TABLE = "lab_bmcs"
READ = ("nft", "-j", "list", "table", "inet", TABLE)


def ensure_counted(site: Site) -> None:
    """Count them from now on; safe to repeat."""
    run("ip", "netns", "exec", NAMESPACE, "nft", "-f", "-", stdin=rules(site))


def foreign_packets() -> Counter[str]:
    """Count the packets since the lab came up, by the address of their sender."""
    return packets(run("ip", "netns", "exec", NAMESPACE, *READ))


def rules(site: Site) -> str:
    """Return the rules, as nft reads them."""
    bmcs = sorted({bmc.address for bmc in site.bmcs.values()}, key=str)
    return render("site/files/bmc-traffic.nft.j2", table=TABLE, bmcs=bmcs)


def packets(table: str) -> Counter[str]:
    """Return what the rules have counted, from nft's JSON."""
    sets = [each["set"] for each in json.loads(table)["nftables"] if "set" in each]
    senders = [each["elem"] for own in sets for each in own.get("elem", ())]
    return Counter({sender["val"]: sender["counter"]["packets"] for sender in senders})

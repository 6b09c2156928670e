"""What the program promises an operator, and who watches that it keeps it, in every simulated history."""

from dataclasses import dataclass, field

PROMISES = {
    "consent": "A disk is wiped only if it is that of the machine which the newest consent of its host names.",
    "wipe": "A server that has joined the cluster is never wiped, unless its reinstallation was asked for.",
    "off": "A server that has joined the cluster is never switched off, unless its reinstallation was asked for.",
    "sleep": "A server is shut down only if the cluster is to sleep; one with etcd, once all others are off.",
    "spare": "Nothing is ever written to a spare.",
    "grow": "A server joins the control plane alone (two join one, if OKD was asked), while all of etcd answers.",
    "pair": "Of two servers that join one, neither becomes a node before both ask to.",
    "saved": "With `snapshots`, each run saves etcd before it wipes a server of a control plane that runs.",
    "wake": "A cluster that slept wakes as the same one, with the nodes schedulable that were.",
    "drain": "A server that leaves the cluster is not switched off while its node is ready and runs a pod.",
    "one-wipe": "A server is not wiped once more after a run has seen its installation end, unless asked.",
    "first-boot": "An installed server is first switched on to boot its disk, whatever its permanent boot order.",
    "again": "A request that a BMC has not answered is not sent again while it may still take effect.",
    "holder": "As long as a machine can hold it, the API VIP is never left by all, nor taken by several, for long.",
    "release": "The API VIP is released only while every node of the control plane is ready.",
    "vm": "The bootstrap VM is not ended while it alone holds the API VIP or etcd needs it, nor before OKD is done.",
    "quorum": "What the program does to a server never costs etcd its quorum.",
    "lock": "Each write is made under the lock of its machine.",
    "record": "What is recorded as installed runs from the disk that was installed for it.",
    "proof": "What is recorded as the holder of the API VIP holds it alone.",
    "end": "After a successful `up`, the cluster is as its phase wants it.",
    "converges": "Once nothing fails any more, `up` succeeds in four runs, if one does what the errors say.",
    "idle": "The `up` after a successful one changes nothing, and writes nothing.",
    "found": "`destroy` leaves the servers off, without media, and their boot override and boot mode as found.",
    "gone": "`destroy` leaves nothing of the bootstrap VM.",
    "error": "Every error is the program's own, and says what is wrong and how it is removed.",
    "deadline": "Nothing waits beyond its deadline.",
}


@dataclass(frozen=True)
class Breach:
    """A promise that was broken."""

    promise: str
    run: int
    what: str

    def __str__(self) -> str:
        return f"run {self.run} broke `{self.promise}`: {self.what}. Promised: {PROMISES[self.promise]}"


@dataclass
class Watch:
    """The breaches of one history; the first of each promise counts."""

    breaches: list[Breach] = field(default_factory=list)

    def breach(self, promise: str, run: int, what: str) -> None:
        assert promise in PROMISES
        if promise not in self.promises:
            self.breaches.append(Breach(promise, run, what))

    @property
    def promises(self) -> list[str]:
        return [breach.promise for breach in self.breaches]

"""`plan --online`: what registries lack for the installation of a stack, and what would wrongly go to its proxy."""

import ssl
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from base.clock import SYSTEM_CLOCK, Clock
from base.errors import ConfigError, Fault, PreflightError
from base.files import read_file
from base.http_client import pool_through
from base.shown import few, short
from cli.shared.command_line import stack_file
from cli.shared.interrupts import threads
from cli.shared.stack_options import stack_pull_secret
from cluster.files import read_text
from cluster.install_config import InstallConfig, read
from cluster.known_options import known_options
from cluster.mirrors import Place, places_of
from cluster.plan import Intent
from cluster.plan.addresses import CONFIG
from cluster.plan.no_proxy import goes_direct, proxied_addresses
from cluster.stack_file import read_options
from cluster.values.image_reference import ImageReference
from payload.origin_checks import release_image
from payload.pem import certificates_in_text
from payload.reading import parse_ignition, payload_folder
from wires.registry.client import Repository
from wires.registry.images import COPY_AGAIN, ReleaseImages, manifests_of, release_images, signature_of
from wires.registry.logins import login_for

if TYPE_CHECKING:
    from urllib3 import PoolManager

DEADLINE_S = 60.0
"""For all questions. A token of a registry lives at least as long (distribution, docs/content/spec/auth/token.md)."""
CONNECT_S = 10.0
AT_ONCE = 8
"""Threads: a registry that is asked more at a time answers 429 sooner."""
RELEASE = "release"
"""The name of the release image itself in messages."""
TO_PAYLOAD = "name one in images.release, or put the payload's bootstrap.ign back"


class Wanted(NamedTuple):
    """An image that machines fetch, and one of the places that they fetch it from."""

    name: str
    place: Place
    signed: bool = False
    """Whether nodes start it only with its signature."""


class _Answer(NamedTuple):
    """What a place lacks of an image: digests and tags; empty: nothing."""

    image: str = ""
    signature: str = ""


@dataclass
class _Seen:
    """What one repository has."""

    answers: dict[str, _Answer] = field(default_factory=dict)
    signed: int = 0
    """How many images it must have signatures of."""
    refusal: Fault | None = None
    """Why it was not asked further."""


def online(file: Path, stack: str, intent: Intent, clock: Clock = SYSTEM_CLOCK) -> tuple[list[Fault], list[str]]:
    """Ask the registries of a stack, within `DEADLINE_S` seconds, and change nothing.

    Args:
        file: The install-config, which has no faults.
        stack: Its stack.
        intent: Both, joined.
        clock: Limits the questions.

    Returns:
        What the installation would lack; and a line for each repository that lacks nothing.

    Raises:
        ConfigError: The pull secret cannot be read, or no release is named.
        PayloadError: bootstrap.ign is broken.
    """
    config = read(read_text(file)).config
    lacks = [*proxied_addresses(config, known_options(read_options(stack_file(stack))).options)]
    release = ImageReference.of(_release_name(stack) or intent.images.release)
    if release is None:
        raise ConfigError(Fault(f"{CONFIG}: images.release", "no release is known to ask registries for", TO_PAYLOAD))
    named = {f"images.{name}": ImageReference.of(image) for name, image in intent.images if name != "release"}
    images = {RELEASE: release, **{name: image for name, image in named.items() if image}}
    registries = asked_for(config, stack, intent, images, clock)
    lacks += [*registries.lacks(), *registries.refusals()]
    placed = [fault if fault.where.startswith(CONFIG) else fault.within(str(file)) for fault in lacks]
    return placed, [*registries.lines()]


def asked_for(
    config: InstallConfig,
    stack: str,
    intent: Intent,
    images: Mapping[str, ImageReference],
    clock: Clock = SYSTEM_CLOCK,
) -> "Registries":
    """Ask the registries of a stack for a release and all that it has, and change nothing.

    Args:
        config: The stack's install-config.
        stack: The stack.
        intent: Both, joined.
        images: The release image by the name `RELEASE`, and others.
        clock: Limits the questions.

    Raises:
        ConfigError: The pull secret cannot be read.
    """
    secret = stack_pull_secret(stack) or config.pull_secret.get_secret_value()
    registries = Registries(config, secret, frozenset(map(str, intent.architectures.values())), clock)
    with closing(registries):
        if found := registries.release(images[RELEASE]):
            registries.ask({**images, **found.by_name}, found)
    return registries


def _release_name(stack: str) -> str:
    """Return the release image of the stack's payload; empty if its bootstrap.ign is gone, or names none."""
    path = payload_folder(stack) / "bootstrap.ign"
    return release_image(path, parse_ignition(path, read_file(path))) if path.exists() else ""


class Registries:
    """The registries of an install-config, asked as its machines would: through its proxy, trusting its CAs.

    Args:
        config: The install-config.
        pull_secret: Its pull secret, or that of the stack.
        architectures: Those of the cluster's machines.
        clock: Decides when nothing more is asked.
    """

    def __init__(self, config: InstallConfig, pull_secret: str, architectures: frozenset[str], clock: Clock) -> None:
        self._config, self._architectures = config, architectures
        self._pull_secret, self._clock = pull_secret, clock
        self._until = clock.now() + DEADLINE_S
        self._repositories = dict[str, Repository]()
        self._blobs = dict[tuple[str, str], bool]()
        self._seen = defaultdict[Place, _Seen](_Seen)
        self._refusing = dict[str, Fault]()
        self._context = _trusting(config.additional_trust_bundle)
        self._pools: dict[str, PoolManager] = {}

    def release(self, image: ImageReference) -> ReleaseImages | None:
        """Return what a release is made of, by the first place that has it. None: none has; `lacks` says why."""
        for place in places_of(self._config, image):
            seen = self._seen_of(place)
            try:
                return release_images(self._opened(place.image), image.version, self._architectures)
            except LookupError as error:
                seen.answers[RELEASE] = _Answer(error.args[0])
            except PreflightError as error:
                seen.refusal = error.fault
        return None

    def ask(self, images: Mapping[str, ImageReference], release: ReleaseImages) -> None:
        """Ask each place of each image whether it has all of it, and the signature that nodes of the release want."""
        wanted = [
            Wanted(name, place, release.must_be_signed(image))
            for name, image in images.items()
            for place in places_of(self._config, image)
        ]
        for each in wanted:  # one after the other: each repository gets the login once
            self._try(each, self._open)
        with threads(AT_ONCE) as pool:
            for each, answer in zip(
                wanted, pool.map(lambda each: self._try(each, self._answer), wanted), strict=True
            ):
                if answer:
                    seen = self._seen_of(each.place)
                    seen.answers[each.name] = answer
                    seen.signed += each.signed

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.clear()

    def lacks(self) -> Iterator[Fault]:
        """Yield a fault for each thing that a place lacks."""
        for place, seen in self._seen.items():
            where, repository = place.field or "imageDigestSources", place.image.repository
            images = [f"{name} {each.image}" for name, each in seen.answers.items() if each.image]
            if images:
                what = f"{repository} lacks {len(images)} of {len(seen.answers)} images: {_listed(images)}"
                yield Fault(where, what, COPY_AGAIN)
            unsigned = [f"{name} {each.signature}" for name, each in seen.answers.items() if each.signature]
            if unsigned:
                what = (
                    f"{repository} lacks {len(unsigned)} of {seen.signed} signatures, for which nodes wait for ever "
                    f"at their first boot: {_listed(unsigned)}"
                )
                yield Fault(where, what, COPY_AGAIN)

    def refusals(self) -> Iterator[Fault]:
        """Yield why each place was not asked further that refused, or did not answer."""
        for place, seen in self._seen.items():
            if seen.refusal:
                yield _refused(place, seen.refusal).within(place.field or "imageDigestSources")

    def lines(self) -> Iterator[str]:
        """Yield a line for each repository that lacks nothing."""
        for place, seen in self._seen.items():
            if seen.answers and not seen.refusal and not any(any(answer) for answer in seen.answers.values()):
                signatures = f", and their {seen.signed} signatures" if seen.signed else ""
                yield f"{place.image.repository} has all {len(seen.answers)} images that are wanted{signatures}"

    def _seen_of(self, place: Place) -> _Seen:
        """Return what was seen of the repository of a place."""
        return self._seen[place._replace(image=place.image._replace(version=""))]

    def _try(self, wanted: Wanted, ask: Callable[[Wanted], _Answer | None]) -> _Answer | None:
        """Ask, unless the repository has refused before: it would refuse each image."""
        name = wanted.place.image.repository
        try:
            if name not in self._refusing:
                return ask(wanted)
        except PreflightError as error:
            self._refusing[name] = error.fault
        self._seen_of(wanted.place).refusal = self._refusing[name]
        return None

    def _open(self, wanted: Wanted) -> None:
        self._opened(wanted.place.image)

    def _answer(self, wanted: Wanted) -> _Answer:
        """Return what a place lacks of an image."""
        image = wanted.place.image
        repository, lacking = self._opened(image), ""
        try:
            for _, blobs in manifests_of(repository, image.version, self._architectures):
                for blob in blobs:
                    self._find(repository, blob.digest)
        except LookupError as error:
            lacking = error.args[0]
        tag = signature_of(image) if wanted.signed else ""
        return _Answer(lacking, tag if tag and not repository.has(f"manifests/{tag}") else "")

    def _find(self, repository: Repository, digest: str) -> None:
        """Ask for a blob once, however many images have it."""
        key = repository.name, digest
        if key not in self._blobs:
            self._blobs[key] = repository.has(f"blobs/{digest}")
        if not self._blobs[key]:
            raise LookupError(f"blob {digest}")

    def _opened(self, image: ImageReference) -> Repository:
        """Return the repository of an image, logged in. A login that was refused is not sent again: accounts lock."""
        if refusal := self._refusing.get(image.registry):
            raise PreflightError(refusal.what, where=refusal.where, fix=refusal.fix)
        if image.repository not in self._repositories:
            login = login_for(self._pull_secret, image.repository)
            opened = Repository(image.registry, image.path, login, self._pool, self._clock, self._until)
            try:
                opened.open()
            except PreflightError as error:
                self._refusing[error.fault.where] = error.fault  # the registry, or only the repository
                raise
            self._repositories[image.repository] = opened
        return self._repositories[image.repository]

    def _pool(self, host: str) -> "PoolManager":
        """Return the pool for a host, through the proxy of the install-config if the cluster asks it so."""
        proxy = self._config.proxy
        through = proxy.https_proxy if proxy and not goes_direct(self._config, host) else ""
        if through not in self._pools:
            self._pools[through] = pool_through(through, CONNECT_S, self._context, AT_ONCE)
        return self._pools[through]


def _refused(place: Place, refusal: Fault) -> Fault:
    """Return why a place was not asked further; of one that no field names, that a mirror may be missing."""
    if place.field:
        return refusal
    what = f"{refusal.what}; and no mirror is named for {place.image.repository}"
    return replace(refusal, what=what, fix=f"name a mirror for it; or {refusal.fix}")


def _trusting(bundle: str) -> ssl.SSLContext:
    """Return a context that trusts what the cluster's machines do: Mozilla's CAs, as CoreOS has them, and a bundle.

    Not this machine's own CAs, which may have the mirror's because somebody copied images there from here.
    """
    import certifi  # noqa: PLC0415  (`plan` alone asks nobody)

    context = ssl.create_default_context(cafile=certifi.where())
    if pem := certificates_in_text(bundle.encode()):
        context.load_verify_locations(cadata=pem)
    return context


def _listed(things: list[str]) -> str:
    return ", ".join(map(short, few(things)))

"""What an `up` does right before it changes something, whatever inputs have changed: Pulumi's resource hooks.

Pulumi calls them in the process of the program; in a preview, and for an unchanged resource, it calls none.
"""

import asyncio
from functools import partial

import pulumi
from pulumi import ErrorHook, ErrorHookArgs, ResourceHook, ResourceHookArgs, ResourceHookBinding

from base.progress import Progress, Report
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.ready import checked, provided_image
from providers.pulumi.plugin_process import end_plugin

CONNECT_S, LEAST_BYTES_PER_S = 120, 1024**2
"""An upload that takes longer than this hangs: pulumi-libvirt waits for ever where libvirtd or SSH has ended."""


class Hooks:
    """The hooks of one cluster's resources."""

    def __init__(self, name: str, spec: ProvisionerPreflightSpec) -> None:
        self._spec, self._ready, self._checking = spec, False, asyncio.Lock()
        self._limit: asyncio.TimerHandle | None = None
        # Pulumi shows these names: `before hook "okd-preflight" failed: …`.
        passed, check = ResourceHook(f"{name}-passed", self._passed), ResourceHook(f"{name}-preflight", self._check)
        before = ResourceHook(f"{name}-base-image", self._upload)
        after, failed = (
            ResourceHook(f"{name}-uploaded", self._uploaded),
            ErrorHook(f"{name}-not-uploaded", self._failed),
        )
        self.preflight = ResourceHookBinding(after_create=[passed], after_update=[passed])
        """Of the preflight: what it has checked in this run is not checked again."""
        self.machine = ResourceHookBinding(before_create=[check], before_update=[check])
        """Of a resource that changes a machine: the host may have changed since an earlier run's preflight."""
        self.base_volume = ResourceHookBinding(before_create=[before], after_create=[after], on_error=[failed])
        """Of the volume that pulumi-libvirt uploads: its image is fetched and checked, its upload ends in time."""

    async def _passed(self, _: ResourceHookArgs) -> None:
        self._ready = True

    async def _check(self, of: ResourceHookArgs) -> None:
        if await _changed(of) == {"protected"}:
            return
        async with self._checking:
            if not self._ready:
                await asyncio.to_thread(checked, self._spec, _reporter(), again=True)
                self._ready = True

    async def _upload(self, of: ResourceHookArgs) -> None:
        image = await asyncio.to_thread(provided_image, self._spec, _reporter())
        limit_s = CONNECT_S + image.size // LEAST_BYTES_PER_S
        self._limit = asyncio.get_running_loop().call_later(limit_s, partial(_end_upload, of.name, limit_s))

    async def _uploaded(self, _: ResourceHookArgs) -> None:
        self._end_limit()

    async def _failed(self, _: ErrorHookArgs) -> bool:
        self._end_limit()
        return False  # Pulumi does not repeat it

    def _end_limit(self) -> None:
        if self._limit:
            self._limit.cancel()


async def _changed(of: ResourceHookArgs) -> set[str]:
    """Return the names of the inputs that an update changes; of a creation, all."""
    # Secrets are outputs here.
    new, old = [
        await pulumi.Output.from_input(inputs or {}).future() or {} for inputs in (of.new_inputs, of.old_inputs)
    ]
    return {name for name in {*new, *old} if new.get(name) != old.get(name)}


def _end_upload(volume: str, limit_s: float) -> None:
    """End the plugin: Pulumi has no time limit of its own, and the plugin ignores the one that it is given."""
    what = f"base volume {volume}: its upload takes more than {limit_s:g} s, and was ended"
    pulumi.log.error(f"{what}. Fix: see that libvirtd runs, and runs on; then `pulumi up`, which uploads it again")
    end_plugin("libvirt")


def _reporter() -> Report:
    """Return a reporter for another thread, which shows its progress in the row of the stack."""
    loop = asyncio.get_running_loop()

    def show(progress: Progress) -> None:
        loop.call_soon_threadsafe(partial(pulumi.log.info, str(progress), ephemeral=True))

    return show

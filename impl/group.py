"""Makes the gloo group that one `AckSync` owns, out of a store that the ranks share."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from pathlib import Path

from torch._C._distributed_c10d import ProcessGroupGloo, Store

from rankproof.impl.errors import Misuse, PeerLost
from rankproof.impl.transport import gloo_words
from rankproof.model.errors import BadInput

INTERFACE_VARIABLE = "GLOO_SOCKET_IFNAME"
"""The variable by which torch itself lets a user choose the interface; names are separated by commas."""


SHORTEST, LONGEST = 0.001, 1e6
"""The deadlines that can be, in seconds: a millisecond to eleven days."""

MOST_IN_FLIGHT = 64
"""More than any engine has use for; gloo starts a thread for each."""


def gloo_group(rank: int, world: int, store: Store, timeout: float, in_flight: int = 1) -> ProcessGroupGloo:
    """The gloo group of `world` ranks that meet in `store`; returns on each rank once all of them are connected.

    timeout    seconds: the deadline for the making of the group, and then for each wait in it
    store      one that no group was made in before, such as `PrefixStore(name, store)` with a name used once
    in_flight  rounds that are to travel at the same time; gloo gives each a thread

    The group uses the interfaces that GLOO_SOCKET_IFNAME names. Without it, the loopback interface where all ranks are
    on this host, and otherwise the one to which the host's name resolves.

    Raises Misuse for impossible numbers or a used store, PeerLost naming the ranks that did not come in time, and
    BadInput for an interface that gloo cannot use.
    """
    if type(world) is not int or world < 2:
        raise Misuse(f"a group has 2 ranks or more, not {world!r}: a group of one has nobody to agree with")
    if type(rank) is not int or not 0 <= rank < world:
        raise Misuse(f"rank {rank!r} is outside the group; ranks are 0 to {world - 1}")
    if type(in_flight) is not int or not 0 <= in_flight <= MOST_IN_FLIGHT:
        raise Misuse(f"rounds in flight are 0 to {MOST_IN_FLIGHT}, each with a thread, not {in_flight!r}")
    check_deadline(timeout)
    check_store(store)
    options = ProcessGroupGloo._Options()  # type: ignore[attr-defined]
    options._threads = max(2, in_flight)
    options._timeout = timedelta(seconds=timeout)
    options._devices = _devices(_all_on_this_host(rank, world, store, timeout))
    try:
        group = ProcessGroupGloo(store, rank, world, options)
        # A rank that left right after this call would break the peers that still connect.
        group.barrier().wait()  # type: ignore[attr-defined]
    except RuntimeError as error:
        raise PeerLost(f"rank {rank} could not connect to the other {world - 1} ({gloo_words(error)})") from error
    return group


def check_deadline(timeout: float) -> None:
    """Raises Misuse for a deadline that no wait can have; gloo counts whole milliseconds, and 0 would be for ever."""
    if type(timeout) not in (int, float) or not SHORTEST <= timeout <= LONGEST:
        raise Misuse(f"a deadline is {SHORTEST} to {LONGEST:.0f} seconds, not {timeout!r}")


def check_store(store: Store) -> None:
    """Raises Misuse for what is no store."""
    if not isinstance(store, Store):
        raise Misuse(f"ranks meet in a store of torch.distributed, such as a TCPStore, not in {store!r}")


def _all_on_this_host(rank: int, world: int, store: Store, timeout: float) -> bool:
    """Tells the other ranks in `store` where this one is, and compares when all have."""
    if store.add(f"joined/{rank}", 1) != 1:
        raise Misuse(f"rank {rank} joined a group in this store before; give a PrefixStore with a name used once")
    return len(set(exchange(store, "place", rank, world, _place(), timeout))) == 1


def exchange(store: Store, what: str, rank: int, world: int, mine: str, timeout: float) -> list[str]:
    """The text that each rank gives under the name `what`, by rank. Raises PeerLost naming those that did not come."""
    keys = [f"{what}/{peer}" for peer in range(world)]
    store.set(keys[rank], mine)
    try:
        store.wait(keys, timedelta(seconds=timeout))
        return [store.get(key).decode() for key in keys]
    except RuntimeError as error:
        missing = [str(peer) for peer, key in enumerate(keys) if not _has(store, key)]
        who = f"rank {' and '.join(missing)}" if missing else "the store"
        raise PeerLost(f"rank {rank} of {world} waited {timeout:g} s to be joined by {who}") from error


def _has(store: Store, key: str) -> bool:
    try:
        return store.check([key])
    except RuntimeError:
        return False


def _place() -> str:
    """The same text for two processes that reach each other over the loopback interface."""
    namespace = Path("/proc/self/ns/net")
    boot = Path("/proc/sys/kernel/random/boot_id")
    return " ".join(
        [
            socket.gethostname(),
            str(namespace.readlink()) if namespace.exists() else "",
            boot.read_text().strip() if boot.exists() else "",
        ]
    )


def _devices(one_host: bool) -> list[ProcessGroupGloo.Device]:
    named = [name.strip() for name in os.environ.get(INTERFACE_VARIABLE, "").split(",") if name.strip()]
    try:
        if named:
            return [ProcessGroupGloo.create_device(interface=name) for name in named]
        if one_host:
            return [ProcessGroupGloo.create_device(hostname="127.0.0.1")]
        return [ProcessGroupGloo.create_default_device()]
    except RuntimeError as error:
        wanted = f"{INTERFACE_VARIABLE}={','.join(named)}" if named else "the interface of this host"
        present = ", ".join(name for _, name in socket.if_nameindex())
        raise BadInput(
            f"gloo cannot use {wanted} ({gloo_words(error)}); set {INTERFACE_VARIABLE} to one that is up, of: {present}"
        ) from error

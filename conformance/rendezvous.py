"""How the ranks of a group find each other: a file and one fresh gloo group after another, or the memory they share."""

from __future__ import annotations

import datetime
import os
import socket
import sys

import torch.distributed as dist

from rankproof.conformance.memory_group import MemoryConfig
from rankproof.conformance.subject import SubjectConfig
from rankproof.model.errors import BadInput

_INTERFACE = "GLOO_SOCKET_IFNAME"


def join(config: SubjectConfig) -> dist.ProcessGroup:
    """The group of all ranks, in which every wait lasts at most `config.timeout`.

    Where all ranks share a process it is the one that the harness has made there. Else it is a gloo group, this
    process's default group.

    Makes the group if this process has none, else gives the one it has: making one takes 12 ms at 2 ranks, and leaving
    it 20 ms, because gloo's threads look up only every 10 ms. Returns when every rank has come, so that one that ends
    at once breaks none that still connects.

    Needs no name service: the ranks meet in a file, and talk over the loopback interface unless GLOO_SOCKET_IFNAME
    names another. (A TCPStore is faster, but asks the name service who each of its peers is, and a lost answer or
    a machine without a network costs 5 seconds: seen once in 50 connections.) Raises BadInput when no interface has
    the name that GLOO_SOCKET_IFNAME gives.
    """
    if isinstance(config, MemoryConfig):
        dist.barrier(group=config.group)
        return config.group
    if not dist.is_initialized():
        _choose_interface()
        dist.init_process_group(
            "gloo",
            store=dist.FileStore(config.store_file, config.world),  # type: ignore[attr-defined] # public all the same
            rank=config.rank,
            world_size=config.world,
            timeout=datetime.timedelta(seconds=config.timeout),
        )
    dist.barrier()
    group = dist.group.WORLD
    assert group is not None
    return group


def leave() -> None:
    """Leave the group, if this process is in one; blocks until what is in flight on it has finished or failed."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _choose_interface() -> None:
    names = [name for _, name in socket.if_nameindex()]
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    chosen = [name for name in os.environ.get(_INTERFACE, "").split(",") if name]
    if not chosen and loopback in names:
        os.environ[_INTERFACE] = loopback
    for name in chosen:
        if name not in names:
            raise BadInput(
                f"{_INTERFACE} names the interface {name!r}, which is not here; there are: {', '.join(names)}"
            )

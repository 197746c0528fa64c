"""How the processes that torchrun has started find each other, also after a restart.

torchrun's own store outlives its workers, so a restarted worker can find the addresses that dead ones left there and
fail to connect (seen with torch 2.13, `--max-restarts`). Here process 0 of each start opens a fresh store and leaves
only its address in torchrun's; the others take that address once somebody answers there. What the store remembers is
also how one launch is told from another.
"""

import os
import socket
import time
import uuid
from datetime import timedelta

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Store, TCPStore

ADDRESS, LAUNCH = "bangbang/address", "bangbang/launch"
PATIENCE = timedelta(minutes=30)
ANSWER_SECONDS = 2.0


def join() -> None:
    """Make the process group, if torchrun started this process and nobody has made it yet."""
    other = torch.accelerator.is_available() and not torch.cuda.is_available()
    if not launched() or dist.is_initialized() or other:
        return
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = opened(launcher_store(), os.environ["MASTER_ADDR"]) if rank == 0 else found(launcher_store())
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=PATIENCE)


def launched() -> bool:
    """Whether torchrun started this process and shares its store with it."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def launcher_store() -> Store:
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    return TCPStore(host, port, is_master=False, timeout=PATIENCE)


def launch() -> str:
    """What all starts of one torchrun launch have in common, and no other launch has; nothing without torchrun.

    Not its --rdzv-id, which the next launch may have too, nor the count of restarts: an agent does not count those that
    began on another host.
    """
    return launcher_store().compare_set(LAUNCH, "", uuid.uuid4().hex).decode() if launched() else ""


def opened(launcher: Store, host: str) -> Store:
    """A store of process 0's own, its address made known."""
    store = TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=PATIENCE)
    launcher.set(ADDRESS, f"{host} {store.port}")
    return store


def found(launcher: Store) -> Store:
    """The store of this start's process 0: an address left by an earlier start has nobody behind it."""
    while True:
        host, port = launcher.get(ADDRESS).decode().split()
        try:
            socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
        except OSError:
            time.sleep(0.1)
        else:
            return TCPStore(host, int(port), is_master=False, timeout=PATIENCE)

"""Two processes that train together, on this machine: what tests of several ranks have in common."""
import faulthandler
import multiprocessing
import os
import socket
import sys

import torch

import hws


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


PATIENCE = 400  # seconds until a rank that waits is given up


def join_ranks(rank, ranks, port):
    """Makes this process one of a group. A rank that waits for long shows where."""
    faulthandler.dump_traceback_later(PATIENCE / 2, file=sys.__stderr__)
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)


def leave_ranks(results):
    results.close()
    results.join_thread()
    # Not by the usual way: the destructor of PyTorch 1.13's gloo group waits, with the interpreter's lock, for a thread
    # that now and then waits for the lock.
    os._exit(0)


def results_of_two_ranks(work, *arguments):
    """What work(rank, ranks, port, *arguments, results) puts into its queue as (rank, ...), by rank."""
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    results = context.Queue()
    port = free_port()
    # Not daemons, which may have no loader processes.
    processes = [context.Process(target=work, args=(rank, 2, port, *arguments, results)) for rank in range(2)]
    for process in processes:
        process.start()
    try:
        ranks = {rank: rest for rank, *rest in (results.get(timeout=PATIENCE) for _ in processes)}
        for process in processes:
            process.join(PATIENCE)
            assert process.exitcode == 0
    finally:
        for process in processes:
            process.kill()
            process.join()
    return ranks


def refused(call):
    try:
        call()
        return ""
    except hws.HwsError as error:
        return f"{type(error).__name__}: {error}"

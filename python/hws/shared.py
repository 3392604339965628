"""A sampler whose losses every process sees: loader processes draw from what the main process has just learnt.

The main process owns a :class:`SharedSampler` and updates it; each loader process, forked or spawned, makes a
:class:`Reader` and draws::

    shared = hws.shared.SharedSampler(len(data), beta=10)          # main process

    def worker(handle, number):                                    # loader process
        reader = handle.reader(number)
        batch = reader.draw(2)
        ...

    Process(target=worker, args=(shared.handle, 0)).start()

How it works. A block of shared memory holds the losses and a journal: a ring of the last changes, numbered without
end. The owner alone writes. Each reader has a sampler of its own, applies the changes it has not seen yet and then
draws, so nobody ever waits for anybody: there is no lock to be left behind by a process that dies. A reader that has
fallen behind the ring copies all losses instead, and then the changes made meanwhile. Each entry of the journal carries
a check word made of its number and its contents, so that an entry that is being overwritten is recognised.

Examples that have no loss yet are drawn first by each reader, in an order of its own: until its loss is published, an
example may be drawn by several of them.

Worker w draws from streams of random numbers of its own: its e-th reader makes the same draws in each run, for the same
seed and the same losses.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import tempfile
import threading
import time
from multiprocessing import reduction
from typing import Any, Dict, Mapping, Optional

import numpy as np

from ._arrays import as_count, as_indices, as_losses, for_state, from_state
from .divergence import CustomDivergence
from .errors import ArgumentError, CorruptStateError, HwsError, OwnershipError
from .sampler import Sampler

__all__ = ["SharedSampler", "SharedHandle", "Reader"]

#: How many readers can be told apart.
MAX_WORKERS = 4096

# Words of the block's head. All are aligned 64-bit words, each written by one process only.
_CHANGES = 0  # how many changes have been published
_BETA = 1  # the beta in force, a float64
_HEAD_WORDS = 8

# Options that a reader takes from its handle once and for all: what it draws follows from them, the losses and beta.
_KNOWN_TO_READERS = ("divergence", "seed", "replacement", "floor", "uniform_mix", "trim")
_NO_DOUBT = "doubt cannot be shared: readers know the losses, but not the records that it follows from"

_SPIN = 1e-4  # seconds to wait before looking again at a change that is being written,
_ATTEMPTS = 20  # and how often to look before all losses are copied instead: the owner may have died in the middle


def _fence() -> None:
    """Orders memory: what was stored before is seen before what is stored afterwards.

    Processors with a strong memory order need none; a lock's acquire and release, twice, is one for the others.
    """
    for _ in range(2):
        _fence_lock.acquire()
        _fence_lock.release()


_fence_lock = threading.Lock()
if hasattr(os, "register_at_fork"):

    def _renew_lock() -> None:
        global _fence_lock
        _fence_lock = threading.Lock()

    os.register_at_fork(after_in_child=_renew_lock)


def _mix(words: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser, a good hash of 64 bits."""
    with np.errstate(over="ignore"):
        words = words + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))


def _check_words(numbers: np.ndarray, indices: np.ndarray, bits: np.ndarray) -> np.ndarray:
    return _mix(_mix(_mix(numbers.astype(np.uint64)) ^ indices.astype(np.uint64)) ^ bits.astype(np.uint64))


def stream_seed(seed: int, worker: int, era: int) -> int:
    """The key of a reader's randomness; the owner's own is ``seed`` itself."""
    word = np.array([seed], np.uint64)
    for part in (worker + 1, era):
        word = _mix(word ^ _mix(np.array([part], np.uint64)))
    return int(word[0])


class _Block:
    """The shared memory: anonymous, so that nothing is left behind however the processes end."""

    def __init__(self, n: int, ring: int, fd: Optional[int] = None):
        self.n, self.ring = n, ring
        sizes = [8 * _HEAD_WORDS, 8 * MAX_WORKERS, 8 * ring, 8 * ring, 4 * ring, 4 * n]
        starts = np.concatenate([[0], np.cumsum([-(-size // 64) * 64 for size in sizes])])
        size = int(starts[-1])
        if fd is None:
            fd = _anonymous_file(size)
        elif os.fstat(fd).st_size != size:
            raise HwsError("the shared memory is not that of this sampler")
        self.fd = fd
        self._map = mmap.mmap(fd, size)

        def array(part: int, count: int, dtype: type) -> np.ndarray:
            return np.frombuffer(self._map, dtype, count, int(starts[part]))

        self.head = array(0, _HEAD_WORDS, np.int64)
        self.beta = array(0, _HEAD_WORDS, np.float64)
        self.eras = array(1, MAX_WORKERS, np.int64)
        self.journal_check = array(2, ring, np.uint64)
        self.journal_index = array(3, ring, np.int64)
        self.journal_loss = array(4, ring, np.float32)
        self.losses = array(5, n, np.float32)

    def changes(self) -> int:
        return int(self.head[_CHANGES])

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:
            os.close(self.fd)

    def __reduce__(self) -> Any:
        return _attached, (self.n, self.ring, reduction.DupFd(self.fd))


def _attached(n: int, ring: int, duplicate: Any) -> _Block:
    return _Block(n, ring, duplicate.detach())


def _anonymous_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("hws", getattr(os, "MFD_CLOEXEC", 0))
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        # Where it can be, all of it is claimed now: later a lack of memory would end the process.
        os.posix_fallocate(fd, 0, size) if hasattr(os, "posix_fallocate") else os.ftruncate(fd, size)
    except OSError as error:
        os.close(fd)
        raise HwsError(f"no {size} bytes of shared memory: {error.strerror}") from None
    return fd


# ---- readers -------------------------------------------------------------------------------------------------------


class SharedHandle:
    """What the owner gives to other processes: a few numbers and a way to the shared memory.

    It can be pickled for a process that is being started (the arguments of a ``Process``, the data set of a
    ``DataLoader``), or be inherited by fork.
    """

    def __init__(self, block: _Block, options: Dict[str, Any]):
        self._block = block
        self._options = options

    def __len__(self) -> int:
        return self._block.n

    def reader(self, worker: int, era: Optional[int] = None) -> "Reader":
        """A reader with a stream of random numbers of its own.

        Args:
            worker: a number that no other process uses, from 0 on.
            era: which of this worker's streams; the next one unless told otherwise, so that loader processes that are
                started anew for each epoch go on instead of repeating themselves.
        """
        worker = as_count(worker, "worker")
        if worker >= MAX_WORKERS:
            raise ArgumentError(f"worker is {worker}; it must be below {MAX_WORKERS}")
        if era is None:
            era = int(self._block.eras[worker])
            self._block.eras[worker] = era + 1
        return Reader(self._block, self._options, worker, as_count(era, "era"))


class Reader:
    """Draws from the losses that the owner publishes. Belongs to the process that made it."""

    def __init__(self, block: _Block, options: Dict[str, Any], worker: int, era: int):
        self._block = block
        self._process = os.getpid()
        self.worker, self.era = worker, era
        self._indices = np.empty(block.ring, np.int64)
        self._losses = np.empty(block.ring, np.float32)
        self._seen = block.changes()
        _fence()
        # The owner publishes losses with the momentum applied: here they are taken as they are.
        # So is beta, which need not follow from a tail here, and nobody asks a reader for weights.
        private: Dict[str, Any] = {**options, "momentum": 0.0, "keep_counts": False, "keep_record": False, "tail": None,
                                   "importance": "paper", "beta": float(block.beta[_BETA]),
                                   "seed": stream_seed(options["seed"], worker, era)}
        self._sampler = Sampler(np.array(block.losses), **private)
        #: How often all losses had to be copied because this reader had fallen behind the journal.
        self.copies = 0
        self.refresh()

    def __len__(self) -> int:
        return self._block.n

    def __reduce__(self) -> Any:
        raise OwnershipError("a reader belongs to one process: send the SharedHandle and make a reader there")

    @property
    def changes_seen(self) -> int:
        """How many changes of the losses this reader knows of."""
        return self._seen

    def refresh(self) -> None:
        """Takes over everything the owner has published. :meth:`draw` does so by itself."""
        if os.getpid() != self._process:
            raise OwnershipError("this reader belongs to another process: make one here with handle.reader(worker)")
        target, attempts = self._block.changes(), 0
        while self._seen < target:
            published = self._block.changes()
            _fence()
            if published - self._seen > self._block.ring or attempts == _ATTEMPTS:
                self._copy_all()
            elif not self._apply(published):
                attempts += 1
                time.sleep(_SPIN)
        beta = float(self._block.beta[_BETA])
        if beta != self._sampler.beta:
            self._sampler.beta = beta

    def _apply(self, published: int) -> bool:
        """Applies the changes up to ``published``, unless the owner is overwriting them."""
        count = published - self._seen
        numbers = np.arange(self._seen, published, dtype=np.int64)
        slots = numbers % self._block.ring
        indices, losses = self._indices[:count], self._losses[:count]
        np.take(self._block.journal_index, slots, out=indices)
        np.take(self._block.journal_loss, slots, out=losses)
        check = self._block.journal_check[slots]
        if not np.array_equal(check, _check_words(numbers, indices, losses.view(np.uint32))):
            return False
        if np.isnan(losses).any():  # a loss was taken away, which an update cannot do
            self._copy_all()
            return True
        self._sampler.update(indices, losses)
        self._seen = published
        return True

    def _copy_all(self) -> None:
        # Each loss is one aligned word, so what is read is true now or a moment later. Changes made meanwhile may be in
        # already; they are in the journal too, and applying them again, in their order, does no harm.
        published = self._block.changes()
        _fence()
        self._sampler.set_losses(np.array(self._block.losses))
        self._seen = published
        self.copies += 1

    def draw(self, count: int, out: Optional[np.ndarray] = None) -> np.ndarray:
        """Draws a batch from the losses published so far; waits for nobody."""
        self.refresh()
        return self._sampler.draw(count, out)

    def losses(self) -> np.ndarray:
        """The losses published so far."""
        self.refresh()
        return self._sampler.losses()

    def probabilities(self) -> np.ndarray:
        """The distribution that the next draw follows."""
        self.refresh()
        return self._sampler.probabilities()


# ---- the owner -----------------------------------------------------------------------------------------------------


class SharedSampler(Sampler):
    """An :class:`hws.Sampler` that publishes its losses to the readers of other processes.

    Args:
        examples, options: as for :class:`hws.Sampler`.
        journal: how many changes the journal holds; a reader that falls further behind copies all losses.

    It belongs to the process that made it, the only one that may change it, from as many threads as it likes. Other processes
    draw through ``handle.reader(worker)``, and never wait for it.

    >>> import hws.shared
    >>> shared = hws.shared.SharedSampler([1.0, 1.0, 1.0], beta=1000)
    >>> reader = shared.handle.reader(worker=0)
    >>> shared.update([2], [5.0])
    >>> reader.draw(1)
    array([2])
    """

    _process = 0
    _unpublished = False  # whether readers may not know everything: after an interrupt in the middle of a change

    def __init__(self, examples: Any, *, journal: int = 65536, **options: Any):
        journal = as_count(journal, "journal")
        if journal < 1:
            raise ArgumentError("the journal must hold at least one change")
        if options.get("doubt"):
            raise ArgumentError(_NO_DOUBT)
        super().__init__(examples, **options)
        self._process = os.getpid()
        self._momentum = self.options["momentum"]
        self._block = _Block(len(self), journal)
        self._block.losses[:] = self.losses()
        self._block.beta[_BETA] = self.beta

    @property
    def handle(self) -> SharedHandle:
        """What other processes need to draw."""
        self._live()
        return SharedHandle(self._block, self.options)

    def __reduce__(self) -> Any:
        raise OwnershipError("a SharedSampler belongs to one process: send its .handle, or save its state_dict()")

    def __copy__(self) -> Any:
        raise OwnershipError("a SharedSampler cannot be copied; Sampler.from_bytes(shared.to_bytes()) is a plain one")

    @classmethod
    def load(cls, path: Any, divergence: Optional[CustomDivergence] = None, journal: int = 65536) -> "SharedSampler":
        """Reads a sampler that ``save`` wrote.

        A file does not say which streams of random numbers the readers have used. So they begin new ones, the same whenever
        this file is read; with :meth:`state_dict` they go on as if nothing had been interrupted.
        """
        plain = Sampler.load(path, divergence)
        return cls._from_plain(plain, journal)

    @classmethod
    def from_bytes(cls, state: Any, divergence: Optional[CustomDivergence] = None,
                   journal: int = 65536) -> "SharedSampler":
        """The sampler that ``to_bytes`` wrote down; its readers begin new streams, as after :meth:`load`."""
        return cls._from_plain(Sampler.from_bytes(state, divergence), journal)

    @classmethod
    def _from_plain(cls, plain: Sampler, journal: int) -> "SharedSampler":
        shared = cls(plain.losses(), journal=journal, **plain.options)
        state = plain.to_bytes()
        Sampler.load_state_dict(shared, {"state": state})
        shared._block.beta[_BETA] = shared.beta  # with a tail, it need not be the one that was just made of the losses
        # Which streams readers have used is not written there: these are numbered as no others are, and follow from the state.
        shared._block.eras[:] = int.from_bytes(hashlib.blake2b(state, digest_size=8).digest(), "little") >> 2
        return shared

    def _check_process(self) -> None:
        if os.getpid() != self._process and self._process:
            raise OwnershipError("this sampler belongs to another process: draw with shared.handle.reader(worker)")

    def _invoke(self, function: Any, *arguments: Any) -> None:
        self._check_process()
        super()._invoke(function, *arguments)

    # ---- changes, each followed by its publication ----------------------------------------------------------------

    def update(self, indices: Any, losses: Any) -> None:
        indices, losses = as_indices(indices), as_losses(losses)
        with self._lock, _Change(self) as complete:
            super().update(indices, losses)
            if self._momentum and len(indices):
                indices = np.unique(indices)
                losses = np.concatenate([self.losses(int(index), 1) for index in indices])
            complete(indices, losses)

    def set_losses(self, losses: Any, first: int = 0) -> None:
        losses = as_losses(losses)
        with self._lock, _Change(self) as complete:
            super().set_losses(losses, first)
            complete(np.arange(first, first + len(losses), dtype=np.int64), losses)

    def grow(self, examples: Any) -> None:
        raise OwnershipError("a SharedSampler cannot grow: its readers' memory has a fixed size")

    @property
    def beta(self) -> float:
        return Sampler.beta.fget(self)  # type: ignore[attr-defined]

    @beta.setter
    def beta(self, value: float) -> None:
        with self._lock:
            Sampler.beta.fset(self, value)  # type: ignore[attr-defined]
            self._block.beta[_BETA] = self.beta

    def state_dict(self) -> Dict[str, Any]:
        """Everything, for a checkpoint; also which streams the readers have used up."""
        return {**super().state_dict(), "eras": for_state(np.array(self._block.eras))}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over a state and publishes it. Its options must be those that the readers were made with."""
        self._check_process()
        if not isinstance(state_dict, Mapping) or "state" not in state_dict:
            raise CorruptStateError("this is no state_dict of a sampler: it has no entry 'state'")
        before = self.options
        other = Sampler.from_bytes(state_dict["state"], self._functions).options
        if other["doubt"]:
            raise CorruptStateError(f"the state is of a sampler with doubt, and {_NO_DOUBT}")
        fixed = sorted(name for name in _KNOWN_TO_READERS if other[name] != before[name])
        if fixed:
            raise CorruptStateError(f"the state differs in {', '.join(fixed)}, which readers cannot change: open the "
                                    "SharedSampler with the same options")
        eras = from_state(state_dict.get("eras", self._block.eras))
        if eras.shape != (MAX_WORKERS,) or eras.dtype != np.int64:
            raise CorruptStateError("the readers' streams are damaged")
        with self._lock:
            super().load_state_dict(state_dict)
            self._unpublished = True
            self._momentum = self.options["momentum"]
            self._block.eras[:] = np.maximum(eras, self._block.eras)
            self._block.beta[_BETA] = self.beta
            self._publish_all()

    def _publish(self, indices: np.ndarray, losses: np.ndarray) -> None:
        block, count = self._block, len(indices)
        first = block.changes()
        block.losses[indices] = losses
        numbers = np.arange(first, first + count, dtype=np.int64)
        slots = numbers % block.ring
        block.journal_index[slots] = indices
        block.journal_loss[slots] = losses
        block.journal_check[slots] = _check_words(numbers, indices, losses.view(np.uint32))
        _fence()
        block.head[_CHANGES] = first + count

    def _publish_all(self) -> None:
        """Makes every reader copy all losses: they find themselves further behind than the journal reaches."""
        block = self._block
        block.losses[:] = self.losses()
        _fence()
        block.head[_CHANGES] = block.changes() + block.ring + 1
        self._unpublished = False


class _Change:
    """A change and its publication: whatever interrupts them, the next change makes it good."""

    def __init__(self, shared: SharedSampler):
        self._shared = shared

    def __enter__(self) -> Any:
        self._before, self._shared._unpublished = self._shared._unpublished, True
        return self._complete

    def _complete(self, indices: np.ndarray, losses: np.ndarray) -> None:
        if self._before or len(indices) > self._shared._block.ring:
            self._shared._publish_all()
        else:
            self._shared._publish(indices, losses)
            self._shared._unpublished = False
        self._shared._block.beta[_BETA] = self._shared.beta  # which may follow from the losses

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, HwsError):  # refused: nothing has changed
            self._shared._unpublished = self._before

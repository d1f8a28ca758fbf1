"""Processes that must not outlive the one that started them.

Knows the operating system's signals; refuses to know what a process computes.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Self, TypeVar

from robotrain.errors import WorkerDiedError

T = TypeVar("T")
R = TypeVar("R")

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this child process when its parent dies, however it dies; does nothing where not Linux.

    To be called in a process that `multiprocessing` started. Under a fork server the parent is that server, which ends
    with the process that it serves.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():  # it died before the kernel was asked
        os.kill(os.getpid(), signal.SIGKILL)


def leave_signals_to_parent() -> None:
    """Ignore the signals that the parent acts on: an interrupt from the keyboard, and a cluster's word to save."""
    for name in ("SIGINT", "SIGUSR1", "SIGUSR2"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


class Workers:
    """Processes that share out a list of small tasks; started when there is enough to do, ended with the block.

    They are copies of this process, die with it, and leave its signals to it.
    """

    def __init__(self, num: int | None = None) -> None:
        self._num = num or num_cores()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[[T], R], tasks: Sequence[T], *, portion: int = 8) -> Iterator[R]:
        """Yield the results in the order of the tasks.

        Args:
            function: of a module, so that it can be sent to a process.
            tasks: few, or this process does them itself.
            portion: tasks sent at a time.

        Raises:
            WorkerDiedError: when a process is killed.
        """
        if self._num < 2 or (self._pool is None and len(tasks) < 2 * portion):
            yield from map(function, tasks)
            return
        if self._pool is None:
            context = multiprocessing.get_context("fork")  # as torch's loaders: nothing is imported twice
            self._pool = ProcessPoolExecutor(self._num, context, initializer=_enter_worker)
        try:
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of forks beside threads
                results = self._pool.map(function, tasks, chunksize=portion)
            yield from results
        except BrokenProcessPool:
            raise WorkerDiedError from None


def num_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _enter_worker() -> None:
    die_with_parent()
    leave_signals_to_parent()

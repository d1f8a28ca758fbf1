"""Processes that must not outlive the one that started them.

Knows the operating system's signals; refuses to know what a process computes.
"""

import ctypes
import multiprocessing
import os
import signal
import sys

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

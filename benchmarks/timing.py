"""Functions that all benchmarks share: timing, and printing one line of the results."""

from __future__ import annotations

import sys
import time

import numpy as np


def clock(work, repeats=3):
    """Return the shortest time of several runs, in seconds, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def report(name, ours, peers, note=""):
    """Print our seconds beside those of the fastest peer."""
    peer, seconds = min(peers.items(), key=lambda item: item[1])
    print(f"{name:44} {ours:8.3f} s   {peer:28} {seconds:8.3f} s   {seconds / ours:6.1f}x   {note}", flush=True)


def run(rows):
    """Run all rows of a benchmark, or those named on the command line."""
    wanted = sys.argv[1:]
    print(f"{'work':44} {'likely':>10}   {'best peer':28} {'seconds':>10}   {'ratio':>7}")
    for row in rows:
        if not wanted or row.__name__ in wanted:
            row()

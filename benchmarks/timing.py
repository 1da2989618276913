"""What all benchmarks share: a clock, and a line of the report."""

from __future__ import annotations

import sys
import time

import numpy as np


def clock(work, repeats=3):
    """The best of some runs, in seconds, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def report(name, ours, peers, said=""):
    """Our seconds beside those of the fastest peer."""
    peer, seconds = min(peers.items(), key=lambda item: item[1])
    print(f"{name:44} {ours:8.3f} s   {peer:28} {seconds:8.3f} s   {seconds / ours:6.1f}x   {said}", flush=True)


def run(rows):
    """All rows of a benchmark, or those named on the command line."""
    wanted = sys.argv[1:]
    print(f"{'work':44} {'likely':>10}   {'best peer':28} {'seconds':>10}   {'ratio':>7}")
    for row in rows:
        if not wanted or row.__name__ in wanted:
            row()

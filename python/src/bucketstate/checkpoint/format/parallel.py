"""Many requests at once: what takes time where files are far away is waiting."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K", bound=Hashable)

REQUESTS = 32
"""As many requests are under way at most, for what reads little of each file."""


def in_order(work: Callable[[A], B], items: Iterable[A], threads: int = REQUESTS) -> Iterator[B]:
    """The result of each item, in their order; so many are worked on at once.

    No more than twice as many are begun before the first is asked for. What an item raises is
    raised in its place; then, or if the caller goes away, those not begun are dropped and those
    under way are waited for. A single item, and all if `threads` is 1, are worked on by the
    caller's own thread, each when it is asked for.
    """
    left = iter(items)
    first = list(islice(left, 2))
    if len(first) < 2 or threads == 1:
        # To hand it over and wait takes longer than the work, where processors are busy.
        yield from map(work, chain(first, left))
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="bucketstate-read")
    begun: deque[Future[B]] = deque()
    try:
        for item in chain(first, left):
            begun.append(pool.submit(work, item))
            if len(begun) >= 2 * threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class Once(Generic[K, B]):
    """What was made for a key, made once however many threads ask. What fails is tried again."""

    def __init__(self) -> None:
        self._made: dict[K, B] = {}
        self._locks: dict[K, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: K, make: Callable[[], B]) -> B:
        with self._lock:
            if key in self._made:
                return self._made[key]
            own = self._locks.setdefault(key, threading.Lock())
        with own:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

"""The queue of one model: which texts are searched next, and which requests are refused when there are too many.

Weighted fair queueing (Demers, Keshav and Shenker 1989). Each client address has the same share of the model, and its
requests divide it. The text with the smallest number comes first:

    due = clock + cost * requests of its client          clock += cost of a batch / clients that wait

So a short text passes long ones, a client with one request passes those of a client with forty, and each text has its
turn, because the clock never stops.
"""

import asyncio
import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from seqloom.serve.finding import Found, Wanted
from seqloom.serve.limits import CLIENT, Limits
from seqloom.serve.refusal import busy, slow_down

EACH = 16  # characters: what a text costs besides its length


@dataclass(eq=False, slots=True)
class Ask:
    """A request's texts, the next one to be taken, and the answers so far."""

    texts: Sequence[str]
    wanted: Wanted
    done: asyncio.Future[None]
    arrived: float
    client: str = ""
    number: int = 0  # of its arrival
    due: float = 0.0
    left: int = 0  # cost of the texts that have not been taken
    taken: int = 0
    missing: int = 0
    found: dict[int, Found] = field(default_factory=dict)
    times: int = field(init=False)  # the work for one text, in plain searches

    def __post_init__(self) -> None:
        self.times = self.wanted.times

    def cost(self, text: str) -> int:
        return (len(text) + EACH) * self.times


Row = tuple[Ask, int]  # the text with this number


class FairQueue:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.places: set[Ask] = set()  # requests that wait or are being answered
        self.waiting: list[Ask] = []  # those of them that have texts left to search
        self.held: Counter[str] = Counter()  # places by client
        self.clock = 0.0
        self.numbers = count()
        self.worked = self.seconds = 0.0  # cost of all batches so far, and how long they took

    def enter(self, ask: Ask) -> None:
        """Give the request a place, or refuse it, or the request of a client that has more places."""
        ask.left = sum(map(ask.cost, ask.texts))
        own = sum(other.left for other in self.waiting if other.client == ask.client)
        if own and own + ask.left > self.limits.work:
            raise slow_down(self.seconds_for(own))
        if len(self.places) >= self.limits.queue:
            self.make_room(ask.client)
        self.held[ask.client] += 1
        ask.number = next(self.numbers)
        ask.due = self.clock + ask.cost(ask.texts[0]) * self.held[ask.client]
        self.places.add(ask)
        self.waiting.append(ask)

    def make_room(self, client: str) -> None:
        """Refuse the latest request of the client with most places, if it has more than the one that comes."""
        [(greedy, most)] = self.held.most_common(1)
        latest = next((ask for ask in reversed(self.waiting) if ask.client == greedy and not ask.taken), None)
        if latest is None or most <= self.held[client] + 1:
            raise busy(f"The queue is full ({self.limits.queue} requests); try again in a second.")
        latest.done.set_exception(slow_down(self.seconds_for(latest.left)))
        self.leave(latest)

    def leave(self, ask: Ask) -> None:
        if ask not in self.places:
            return
        self.places.remove(ask)
        if ask in self.waiting:
            self.waiting.remove(ask)
        self.held[ask.client] -= 1
        if not self.held[ask.client]:
            del self.held[ask.client]

    def refuse_all(self, error: Exception) -> None:
        for ask in [*self.places]:
            if not ask.done.done():
                ask.done.set_exception(error)
            self.leave(ask)

    def take(self) -> list[Row]:
        """Texts for one search, shortest first: those due first, with the same wishes, until the batch is full."""
        if not self.waiting:
            return []
        first = min(self.waiting, key=lambda ask: (ask.due, ask.number))
        wanted, times = first.wanted, first.times
        clients = len({ask.client for ask in self.waiting})
        heap = [(ask.due, ask.number, ask) for ask in self.waiting if ask.wanted is wanted or ask.wanted == wanted]
        heapq.heapify(heap)
        rows, longest, cost = list[Row](), 0, 0
        while heap and len(rows) < max(1, self.limits.rows // times):
            _, number, ask = heap[0]
            text = ask.texts[ask.taken]
            longest = max(longest, len(text))
            if rows and longest * (len(rows) + 1) * times > self.limits.area:
                break
            rows.append((ask, ask.taken))
            cost += ask.cost(text)
            ask.left -= ask.cost(text)
            ask.taken += 1
            if ask.taken < len(ask.texts):
                ask.due += ask.cost(ask.texts[ask.taken]) * self.held[ask.client]
                heapq.heapreplace(heap, (ask.due, number, ask))
            else:
                heapq.heappop(heap)
        self.clock += cost / clients
        self.waiting = [ask for ask in self.waiting if ask.taken < len(ask.texts)]
        return sorted(rows, key=lambda row: len(row[0].texts[row[1]]))

    def measured(self, rows: Sequence[Row], seconds: float) -> None:
        self.worked += sum(ask.cost(ask.texts[number]) for ask, number in rows)
        self.seconds += seconds

    def seconds_for(self, cost: float) -> int:
        """How long this work takes, by the work so far: for Retry-After."""
        return min(60, max(1, math.ceil(cost * self.seconds / self.worked))) if self.worked else 1


@contextmanager
def seat(taken: Counter[str], most: int, each: int, what: str) -> Iterator[None]:
    """One of `most` places at other work, at most `each` of them for one client; refused if there is none."""
    client = CLIENT.get()
    if taken[client] >= each:
        raise slow_down(2)
    if taken.total() >= most:
        raise busy(f"{most} {what}; try again in a second.")
    taken[client] += 1
    try:
        yield
    finally:
        taken[client] -= 1
        taken += Counter()  # forgets clients that have none left

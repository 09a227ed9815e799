"""What one client may ask for, and how long anybody waits. All of it is on by default."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    body: int = 1 << 20  # bytes
    characters: int = 5_000  # of a text, counted before anything is tokenised
    texts: int = 64  # of a request
    queue: int = 64  # requests that wait for a model, or are being answered by it
    requests: int = 256  # in the house at all: each may hold a body
    deadline: float = 30.0  # seconds until 504
    drain: float = 10.0  # seconds that accepted requests have when the server stops
    linger: float = 0.005  # seconds that a batch waits for company
    rows: int = 64  # texts of a batch that want a plain search; of those that want more there are fewer
    # Texts x the longest, in characters: known before anything is tokenised, and a token is one to four of them.
    area: int = 16_384

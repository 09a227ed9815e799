"""Positional encodings as a map, and how alike two positions look.

encoder.positions               position x unit       what is added to the embedding of the token at this position
encoder.positions.similarity    position x position   cosine of the angle between the encodings of two positions

For rotary encodings the map holds the sine and cosine of each angle, and the similarity is the mean cosine of the
difference of two angles: what the rotation leaves of the product of equal queries and keys.
"""

import numpy as np
from numpy.typing import NDArray
from torch import nn

from seqloom.explain.document import Map
from seqloom.inside.subject import Lacks, Options, Parts, Subject
from seqloom.nn.positions import LearnedPositions, RotaryPositions, SinusoidalPositions, rows

LEAST = 64  # positions that are shown, also for a short text: the slow waves need room
ABOUT = {
    "SinusoidalPositions": "sinusoidal encoding: waves of different length, added to the embeddings",
    "LearnedPositions": "learned encoding: one vector per position, added to the embeddings",
    "RotaryPositions": "rotary encoding: sine and cosine of the angles by which queries and keys are rotated",
}


def positions(subject: Subject, options: Options) -> Parts:
    """The encodings of the first positions, of the encoder and of the decoder; once if both are the same."""
    maps: list[Map] = []
    seen: list[NDArray[np.float32]] = []
    for part, name in (("encoder", "source_positions"), ("decoder", "target_positions")):
        module = getattr(subject.model, name, None)
        length = max(LEAST, len(subject.source_ids), len(subject.read_ids))
        table = table_of(module, length)
        if table is None or any(np.array_equal(table, other) for other in seen):
            continue
        seen.append(table)
        about = ABOUT[type(module).__name__]
        maps.append(Map.of(f"{part}.positions", "positions", about, "position unit", table, dtype="float16"))
        alike = "how alike two positions are: the cosine of the angle between their encodings"
        name = f"{part}.positions.similarity"
        maps.append(Map.of(name, "positions", alike, "position position", cosines(table), dtype="float16"))
    if not maps:
        raise Lacks("it has no positional encodings (model.positions = none)")
    return Parts(maps=maps)


def table_of(module: nn.Module | None, length: int) -> NDArray[np.float32] | None:
    """The encodings of the first positions (L, D); None without any. Learned ones end where their table ends."""
    if not isinstance(module, SinusoidalPositions | LearnedPositions | RotaryPositions):
        return None
    if isinstance(module, LearnedPositions):
        length = min(length, len(module.table))
    table: NDArray[np.float32] = rows(module.table.detach(), 0, length).float().cpu().numpy()
    return table


def cosines(table: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    return np.asarray(unit @ unit.T, np.float32)

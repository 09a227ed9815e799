"""Gates and states of recurrent cells over time, as maps: one per gate, layer and direction, tokens x units.

encoder.forward.0.gate.forget    source x unit      what the cell did when it read this source token
decoder.0.gate.forget            target x unit      what it did in the step that writes this target token
"""

import re

from seqloom.explain.document import Map
from seqloom.inside.subject import Lacks, Options, Parts, Subject

NAME = re.compile(r"(encoder|decoder)\.(?:(forward|backward)\.)?(\d+)\.(gate|state)\.(\w+)")
ABOUT = {  # in the order in which they are shown; the equations are in nn/cells.py
    "input": "input gate of an LSTM: how much of the candidate enters the cell; 0 = nothing, 1 = all of it",
    "forget": "forget gate of an LSTM: how much of the old cell stays; 0 = forgotten, 1 = kept",
    "output": "output gate of an LSTM: how much of the cell is shown in the hidden state; 0 = nothing, 1 = all of it",
    "reset": "reset gate of a GRU: how much of the old state the candidate sees; 0 = nothing, 1 = all of it",
    "update": "update gate of a GRU: how much of the old state stays; 0 = replaced by the candidate, 1 = kept",
    "candidate": "candidate: the new content that the gates let in, from -1 to 1",
    "cell": "cell of an LSTM after this token: its memory",
    "hidden": "hidden state after this token: what the cell hands on",
}


def gates(subject: Subject, options: Options) -> Parts:
    """The gates, cells and hidden states of every layer and direction."""
    found = [(name, match) for name in subject.recorded if (match := NAME.fullmatch(name))]
    if not any(match[4] == "gate" for _, match in found):
        raise Lacks("a plain recurrent cell has no gates; models with model.cell = lstm, gru or gru_fused have them")
    found.sort(key=lambda each: place(each[1]))
    return Parts(maps=[one_map(subject, name, match) for name, match in found])


def place(match: re.Match[str]) -> tuple[bool, int, bool, int]:
    """Encoder before decoder, lower layers first, forward before backward, gates in the order of ABOUT."""
    part, direction, layer, _, gate = match.groups()
    return part == "decoder", int(layer), direction == "backward", [*ABOUT].index(gate)


def one_map(subject: Subject, name: str, match: re.Match[str]) -> Map:
    axes = "source unit" if match[1] == "encoder" else "target unit"
    # a byte per number: 255 steps between the lowest and the highest are finer than any colour scale
    return Map.of(name, "gates", ABOUT[match[5]], axes, subject.recorded[name], dtype="uint8")

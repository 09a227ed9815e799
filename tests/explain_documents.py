"""Explain documents made by hand, with every view and known numbers; no model is involved.

The numbers are formulas of their place, so that a test can say what a cell must show.
"""

import numpy as np

from seqloom.explain.document import (
    Agreement,
    Beam,
    Choice,
    Decay,
    Explained,
    Forced,
    Head,
    Heads,
    Lane,
    Map,
    Node,
    Reading,
    Side,
    Step,
    Token,
)  # fmt: skip
from seqloom.explain.points import Curve, Path, Phrase, Phrases

SOURCE = "the animal did not cross the street because it was too tired ."
TARGET = "l' animal n' a pas traversé la rue car il était trop fatigué ."
REFERENCE = "l' animal n' a pas traversé la rue parce qu' il était trop fatigué ."
ROLES = ("previous", "next", "same", "punctuation", "spread", "mixed")


def side(text, start=10):
    """Words are tokens; the end of the sentence is one more."""
    tokens, at = [], 0
    for number, word in enumerate(text.split()):
        at = text.index(word, at)
        tokens.append(Token(start + number, word, (at, at + len(word))))
        at += len(word)
    return Side(text, [*tokens, Token(2, "</s>")])


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def near_diagonal(rows, columns, sharp=1.5):
    """Attention that goes from the first column to the last while the rows go down."""
    along = np.arange(rows)[:, None] * (columns - 1) / max(rows - 1, 1)
    return softmax(-sharp * np.abs(along - np.arange(columns)))


def steps(target):
    """The probability of step t is 0.9 - 0.02 t; another token has a tenth of it, or at step 3 more."""
    made = []
    for t, token in enumerate(target.tokens):
        own, rank = float(np.log(0.9 - 0.02 * (t % 20))), 2 if t == 3 else 1
        choices = [Choice(token.id, token.piece, own), Choice(7, f"other{t}", own - 2.3), Choice(8, "<b>", own - 4.0)]
        if rank == 2:
            own = float(np.log(0.2))
            choices = [Choice(7, f"other{t}", float(np.log(0.6))), Choice(token.id, token.piece, own)]
        margin = choices[rank - 1].log_prob - choices[2 - rank].log_prob
        made.append(Step(own, rank, margin, 0.4 + 0.01 * t, choices, 0.9 - 0.02 * (t % 20)))
    return made


def lane(model, family, source=SOURCE, target=TARGET, **parts):
    made = side(target, 50)
    return Lane(
        model,
        "translate",
        family,
        side(source),
        made,
        False,
        REFERENCE,
        -4.25,
        steps(made),
        [target],
        provenance={"model": "3f2a9c", "command": f"seqloom explain runs/{model} ...", "seed": "1", "version": "0.1.0"},
        **parts,
    )


def sizes(source=SOURCE, target=TARGET):
    return len(target.split()) + 1, len(source.split()) + 1


def gates(columns, axis, where, names, units=24):
    """Unit u of a gate at token s is open to sin(u + s / 3), between 0 and 1; a candidate lies between -1 and 1."""
    wave = np.sin(np.arange(units)[None] + np.arange(columns)[:, None] / 3)
    for name in names:
        values = wave if name in ("candidate", "cell", "hidden") else (wave + 1) / 2 * (0.7 if name == "input" else 1)
        kind = "state" if name in ("cell", "hidden") else "gate"
        about = f"{name} of one unit after one token"
        yield Map.of(f"{where}.{kind}.{name}", "gates", about, f"{axis} unit", values, dtype="uint8")


def flows(rows, columns):
    """The trained gradient falls by a factor of 10 per 5 tokens, the fresh one by 10 per 2."""
    away = np.abs(np.arange(rows)[:, None] - np.arange(columns))
    for trained, slope in ((True, -0.2), (False, -0.5)):
        about = "norm of d log p(target token) / d source state"
        yield Map.of("flow.source", "gradients", about, "target source", 10 ** (slope * away), trained=trained)


def decays():
    far = list(range(12))
    return [Decay("flow.source", far, [10 ** (s * d) for d in far], s, t) for s, t in ((-0.2, True), (-0.5, False))]


def attributions(rows, columns):
    shares = near_diagonal(rows, columns, 1.0) * 0.7
    past = np.tril(np.ones((rows, rows)))
    own = 0.3 * past / past.sum(-1, keepdims=True)
    for method in ("gradient", "integrated"):
        about = f"share of one token in one output token, by {method}"
        yield Map.of(f"attribution.{method}.source", "attribution", about, "target source", shares)
        yield Map.of(f"attribution.{method}.prefix", "attribution", about, "target prefix", own)


def positions(length=24, width=32):
    angle = np.arange(length)[:, None] / 10000 ** (np.arange(width)[None] // 2 * 2 / width)
    table = np.where(np.arange(width) % 2, np.cos(angle), np.sin(angle))
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    yield Map.of("encoder.positions", "positions", "entry of the positional encoding", "position unit", table)
    about = "cosine of the encodings of two positions"
    yield Map.of("encoder.positions.similarity", "positions", about, "position position", unit @ unit.T)


def paths(rows, columns):
    def spiral(number):
        turn = np.arange(number) / 2
        return np.stack([np.cos(turn) * (1 + turn), np.sin(turn) * (1 + turn)], 1).tolist()

    return [
        Path("encoder.states", "source", "b1", [0.41, 0.22], spiral(columns), 500),
        Path("decoder.states", "target", "b2", [0.35, 0.18], spiral(rows), 500),
    ]


def beam(target=TARGET, width=2):
    """Each step keeps the next word of the target and one rival; a third candidate is pruned."""
    nodes, parent, rival, pieces = [], -1, -1, [*target.split(), "</s>"]
    for t, piece in enumerate(pieces, 1):
        last = t == len(pieces)
        first, total = len(nodes), -0.2 * t
        fate = "finished" if last else "kept"
        best = Node(first, parent, t, Choice(t, piece, -0.2), total, total / t, 1, fate, "", True)
        other = Node(
            first + 1, rival if t > 1 else -1, t, Choice(90, f"rival{t}", -0.9), total - 0.7, (total - 0.7) / t, 2,
            "unfinished" if last else "kept", "the search ended" if last else "",
        )  # fmt: skip
        why = f"rank 3 of step {t}: the beam keeps {width}"
        pruned = Node(
            first + 2, parent, t, Choice(91, f"lost{t}", -3.0), total - 2.8, (total - 2.8) / t, 3, "pruned", why
        )
        nodes += [best, other, pruned]
        parent, rival = first, first + 1 if t % 4 else first
    reference = [
        Forced(Choice(60 + i, piece, -0.5 - i / 10), 1 if i < 8 else 2 + i, 1.5 - i / 4, i < 8)
        for i, piece in enumerate(REFERENCE.split()[:12])
    ]
    verdict = "Model error: the model gives the reference -9.1, less than its own answer (-2.6)."
    return Beam(width, 1.0, nodes, reference, verdict)


def lens():
    readings = []
    for number, text in enumerate(("le le le", "l' animal la rue", "l' animal n' a pas"), 1):
        pieces = text.split()
        readings.append(Reading("encoder layer", number, text, pieces, [-1.0 / number] * len(pieces)))
        readings.append(Reading("decoder layer", number, text, pieces, [-2.0 / number] * len(pieces)))
    return readings


def recurrent(model="rnnsearch", units=24, **texts):
    """An LSTM with attention: gates of both directions, flow with fresh weights, attribution, states, beam."""
    rows, columns = sizes(**texts)
    attention = Map.of(
        "decoder.attention", "attention", "attention weight", "target source", near_diagonal(rows, columns)
    )
    lstm = ("input", "forget", "output", "candidate", "cell")
    maps = [
        attention,
        *gates(columns, "source", "encoder.forward.0", lstm, units),
        *gates(columns, "source", "encoder.backward.0", lstm, units),
        *gates(rows, "target", "decoder.0", ("reset", "update", "candidate"), units),
        *flows(rows, columns),
        *attributions(rows, columns),
    ]
    agreement = [Agreement("decoder.attention", "attribution.integrated.source", 0.62, 0.05)]
    words_read = [Reading("words read", k, "l' animal " * k, ["l'", "animal"], [-0.4, -0.2 * k]) for k in (1, 2, 3)]
    return lane(
        model, "rnn", **texts, maps=maps, decay=decays(), agreement=agreement, paths=paths(rows, columns),
        beam=beam(), lens=words_read,
    )  # fmt: skip


def fixed_vector(model="sutskever", **texts):
    """A GRU with a fixed vector: no attention, and it says so."""
    rows, columns = sizes(**texts)
    maps = [*gates(columns, "source", "encoder.forward.0", ("reset", "update", "candidate")), *flows(rows, columns)]
    notes = ["attention: this model has none; models with attention and Transformers have it"]
    return lane(model, "rnn", **texts, maps=maps, decay=decays(), notes=notes, paths=paths(rows, columns)[:1])


def transformer(model="transformer", layers=2, heads=4, **texts):
    """Head h of layer l looks h places back in the encoder; cross-attention gets sharper with the layer."""
    rows, columns = sizes(**texts)
    maps, found = [], []
    causal = np.where(np.tril(np.ones((rows, rows))) > 0, 0, -np.inf)
    for layer in range(layers):
        behind = [softmax(-2.0 * np.abs(np.arange(columns)[:, None] - h - np.arange(columns))) for h in range(heads)]
        own = [softmax(causal - 1.5 * np.abs(np.arange(rows)[:, None] - h - np.arange(rows))) for h in range(heads)]
        across = [near_diagonal(rows, columns, 0.5 + layer + 0.3 * h) for h in range(heads)]
        for name, view, axes, weights in (
            (f"encoder.self.{layer}", "self", "head source source", behind),
            (f"decoder.self.{layer}", "self", "head target prefix", own),
            (f"decoder.cross.{layer}", "attention", "head target source", across),
        ):
            maps.append(Map.of(name, view, "attention weight", axes, np.stack(weights), dtype="float16"))
            for h in range(heads):
                role = ROLES[(layer + h) % len(ROLES)]
                roles = {name: 0.7 if name == role else 0.06 for name in ROLES[:-1]}
                found.append(Head(name, layer, h, roles, role))
    maps += [*flows(rows, columns), *attributions(rows, columns), *positions()]
    agreement = [Agreement("decoder.cross.1", "attribution.gradient.source", 0.48, None)]
    return lane(
        model, "transformer", **texts, maps=maps, heads=Heads(200, found), decay=decays(), agreement=agreement,
        paths=paths(rows, columns), beam=beam(), lens=lens(),
    )  # fmt: skip


def curves():
    at = list(range(100, 2001, 100))
    made = []
    for run, rate in (("rnnsearch", 1.0), ("transformer", 1.4)):
        made += [
            Curve(run, "loss", "nats per token", at, [6 * float(np.exp(-rate * s / 900)) + 1.2 for s in at]),
            Curve(
                run,
                "valid loss",
                "nats per token",
                at[::4],
                [5 * float(np.exp(-rate * s / 900)) + 1.6 for s in at[::4]],
            ),
            Curve(run, "learning rate", "", at, [1e-3 * min(s / 500, (500 / s) ** 0.5) for s in at]),
            Curve(run, "tokens per second", "", at, [9000 + 500 * float(np.sin(s)) for s in at]),
        ]
    return made


def phrases(model="rnnsearch"):
    texts = [
        ("John respects Mary", "respect"), ("Mary respects John", "respect"), ("John admires Mary", "admire"),
        ("Mary admires John", "admire"), ("John is in love with Mary", "love"), ("Mary is in love with John", "love"),
        ("she gave me a card in the garden", "garden"), ("in the garden , she gave me a card", "garden"),
    ]  # fmt: skip
    points = [
        Phrase(text, label, [float(np.cos(i * 0.8) * (3 + i)), float(np.sin(i * 0.8) * 4)])
        for i, (text, label) in enumerate(texts)
    ]
    return Phrases(model, "the last state of the encoder", [0.44, 0.21], points)


def tagger(model="tagger"):
    """A model that gives one tag per word: it has no target."""
    read = side("she reads books")
    tags = ["PRON", "VERB", "NOUN"]
    made = [Step(-0.1, 1, 2.0, 0.3, [Choice(1, tag, -0.1), Choice(9, "X", -2.1)]) for tag in tags]
    weights = np.stack([near_diagonal(4, 4), near_diagonal(4, 4, 0.2)])
    maps = [Map.of("encoder.self.0", "self", "attention weight", "head source source", weights)]
    return Lane(model, "tag", "bert", read, None, False, None, None, made, tags, maps=maps)


def masked(model="masked"):
    """A model that fills two gaps: its answer is the whole text."""
    read = side("she ___ ___ books")
    fills = [("reads", -0.1), ("old", -0.2)]
    made = [
        Step(log, 1, 2.0, 0.3, [Choice(1, piece, log), Choice(9, "X", -2.5)], at=at + 1)
        for at, (piece, log) in enumerate(fills)
    ]
    flow = np.full((2, 5), 0.5)
    maps = [Map.of("flow.source", "gradients", "norm", "target source", flow)]
    return Lane(model, "masked", "bert", read, None, False, None, None, made, ["she reads old books"], maps=maps)


def lineage(**texts):
    """The same sentence through three generations of models."""
    return Explained(lanes=[fixed_vector(**texts), recurrent(**texts), transformer(**texts)])


def everything(**texts):
    """Every view of the project in one document."""
    return Explained(lanes=[recurrent(**texts), transformer(**texts)], curves=curves(), phrases=[phrases()])


def long_texts():
    """60 tokens on either side."""
    return {"source": " ".join(f"word{i}" for i in range(59)), "target": " ".join(f"mot{i}" for i in range(59))}


RIGHT_TO_LEFT = {
    "source": "لم يعبر الحيوان الشارع لأنه كان متعبا .",
    "target": "החיה לא חצתה את הרחוב כי היא הייתה עייפה .",
}
HOSTILE = {
    "source": "</script><script>alert(1)</script> <img src=x onerror=alert(1)> & \u2028",
    "target": "<!--<script> ]]> \"'",
}

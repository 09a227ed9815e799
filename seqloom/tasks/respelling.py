"""Words spelled anew: in training a piece is now and then read as two smaller ones, and each of these perhaps again.

    unlikely     un|likely     unlike|ly     un|like|ly          the same word, the same label

A frequent word is one piece: how it is spelled would never be learned, and a new word is nothing but its spelling.
After BPE-dropout (Provilkov et al. 2020), without its merges: any two pieces that spell a third may stand for it.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch.nn.utils.rnn import pad_sequence

from seqloom.data.batch import Batch
from seqloom.text.vocabulary import FIRST_WORD, PAD

Ways = list[list[tuple[int, int]]]  # of each id all couples of ids that spell it
BLANK = "▁"  # alone it stands for blanks that belong to no word


def ways_to_spell(pieces: Sequence[str]) -> Ways:
    ids = {piece: index for index, piece in enumerate(pieces) if index >= FIRST_WORD and piece != BLANK}
    couples = [[(piece[:cut], piece[cut:]) for cut in range(1, len(piece))] for piece in pieces]
    found = [[(ids[a], ids[b]) for a, b in parts if a in ids and b in ids] for parts in couples]
    return [[] if index < FIRST_WORD else ways for index, ways in enumerate(found)]


def respell(batch: Batch, ways: Ways, share: float) -> Batch:
    """The batch with about this share of its pieces split; a tag stays at the last piece of its word."""
    draw = random.Random(int(torch.randint(2**62, ())))
    aligned = batch.tgt_out.shape == batch.src.shape
    rows, tags = [], []
    for src, real, tgt in zip(batch.src.tolist(), batch.src_mask.sum(1).tolist(), batch.tgt_out.tolist(), strict=True):
        spelled = [spell(index, ways, share, draw) for index in src[:real]]
        rows.append(torch.tensor([index for parts in spelled for index in parts]))
        if aligned:
            longer = [[PAD] * (len(parts) - 1) + [tag] for parts, tag in zip(spelled, tgt[:real], strict=True)]
            tags.append(torch.tensor([tag for parts in longer for tag in parts]))
    src = pad_sequence(rows, batch_first=True, padding_value=PAD).to(batch.src.device)
    if not aligned:
        return replace(batch, src=src, src_mask=src != PAD)
    tgt_out = pad_sequence(tags, batch_first=True, padding_value=PAD).to(src.device)
    return replace(batch, src=src, src_mask=src != PAD, tgt_out=tgt_out, tgt_mask=tgt_out >= FIRST_WORD)


def spell(index: int, ways: Ways, share: float, draw: random.Random) -> list[int]:
    if not ways[index] or draw.random() >= share:
        return [index]
    return [part for half in draw.choice(ways[index]) for part in spell(half, ways, share, draw)]

"""Shapes that torch would broadcast in silence: the annotations refuse them, checked while testing (tests/conftest.py).

The models are those of the registry: one that forgets its annotations fails here.
"""

from dataclasses import replace
from typing import Any

import pytest
import torch
from jaxtyping import TypeCheckError
from torch import Tensor

from seqloom.models.api import Memory, Seq2Seq, select_rows
from seqloom.text.vocabulary import PAD


def test_encode_wants_a_mask_of_every_place(model: Seq2Seq, source: Tensor) -> None:
    mask = source != PAD
    for wrong in (mask[:, :1], mask[:1], mask.long()):
        with pytest.raises(TypeCheckError, match="mask"):
            model.encode(source, wrong)


def test_a_memory_is_of_one_shape(memory: Memory) -> None:
    for part in ("annotations", "mask"):
        whole = getattr(memory, part)
        for wrong in (whole[:, :1], whole[:1], whole[0]):
            with pytest.raises(TypeCheckError):
                replace(memory, **{part: wrong})


def test_hidden_wants_the_memory_of_the_same_sentences(model: Seq2Seq, memory: Memory, target: Tensor) -> None:
    for rows in ([0], [0, 1]):  # of one or two sentences, the four targets would pass for beams
        with pytest.raises(TypeCheckError, match="tokens"):
            model.hidden(target, memory.select(torch.tensor(rows)))


def test_step_wants_keys_of_the_same_sentences(
    model: Seq2Seq, shape: dict[str, Any], memory: Memory, target: Tensor
) -> None:
    if shape.get("attention") == "none":
        pytest.skip("no attention, no keys")
    broadcast = replace(memory, keys=select_rows(memory.keys, torch.tensor([0])))
    with pytest.raises(TypeCheckError):
        model.step(target, model.start(memory), broadcast)


def test_step_wants_a_state_of_its_rows(model: Seq2Seq, memory: Memory, target: Tensor) -> None:
    one = memory.select(torch.tensor([0]))
    _, state = model.step(target[:1], model.start(one), one)
    with pytest.raises((TypeCheckError, RuntimeError)):
        model.step(target, state, one)  # four hypotheses of one sentence, the past of a single one


def test_step_wants_the_same_number_of_beams_for_each_sentence(
    model: Seq2Seq, shape: dict[str, Any], memory: Memory, target: Tensor
) -> None:
    """Five hypotheses of four sentences; 5 x 4 tokens would divide by four, and each would see another's source."""
    if shape.get("attention") == "none":
        pytest.skip("no attention: a state of its own is all a hypothesis needs")
    rows = torch.tensor([0, 1, 2, 3, 3])
    with pytest.raises((RuntimeError, TypeCheckError)):
        model.step(target[rows, :4], select_rows(model.start(memory), rows), memory)


def test_project_wants_vectors(model: Seq2Seq, memory: Memory, target: Tensor) -> None:
    with pytest.raises(TypeCheckError, match="hidden"):
        model.project(target)

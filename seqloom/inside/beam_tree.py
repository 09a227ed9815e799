"""The tree of a beam search: which hypotheses were tried, which were pruned and why, and where a reference fell out.

The search itself runs once more (decode/beam.py) and reports every step: its 2W best candidates, those that ended, and
those that stayed. `decode/search.py` states the rules. A reference is scored by teacher forcing and compared with the
candidates of each step. If the model prefers the reference to its own answer, the search lost it (search error);
otherwise the model itself is wrong (model error).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from seqloom.decode.beam import beam_search
from seqloom.decode.constraints import STRUCK, Rules
from seqloom.decode.hypothesis import Hypothesis, finish
from seqloom.decode.options import SearchRequest
from seqloom.decode.score import log_softmax
from seqloom.explain.document import Beam, Choice, Forced, Node
from seqloom.inside.subject import Options, Parts, Subject
from seqloom.models.api import Memory, Seq2Seq
from seqloom.text.vocabulary import BOS, EOS

Fate = tuple[str, str]  # fate and reason of a candidate
NONE = -1
ROUNDING = 1e-4  # nats: a forced token and the same one found by the search are summed in another order


@dataclass
class Recorder:
    """Watches the search for one sentence and keeps its candidates as nodes of a tree."""

    width: int
    length_penalty: float
    piece: Callable[[int], str]
    nodes: list[Node] = field(default_factory=list)
    live: list[int] = field(default_factory=lambda: [NONE])  # node of each live hypothesis
    texts: dict[int, tuple[int, ...]] = field(default_factory=lambda: {NONE: ()})  # tokens on the path to each node
    last_kept: list[float] = field(default_factory=list)  # per step: log-probability of the last hypothesis that stayed

    def step(self, log_prob: Tensor, parents: Tensor, tokens: Tensor, finished: Tensor, alive: Tensor) -> None:
        ended = {index for index, is_ended in enumerate(finished[0].tolist()) if is_ended}
        stays = alive[0].tolist()
        log_probs, number, new = log_prob[0].tolist(), len(self.last_kept) + 1, {}
        for index, (total, parent, token) in enumerate(
            zip(log_probs, parents[0].tolist(), tokens[0].tolist(), strict=True)
        ):
            if total == STRUCK:
                continue  # a token that a rule forbids, or a second copy of the start
            above = self.live[parent]
            before = self.nodes[above].log_prob if above != NONE else 0.0
            fate, reason = self.fate(index, token, index in ended, index in stays)
            path = (*self.texts[above], token)
            choice = Choice(token, self.piece(token), total - before)
            score = finish([*path], total, self.length_penalty).score
            node = Node(len(self.nodes), above, number, choice, total, score, index + 1, fate, reason)  # type: ignore[arg-type]
            new[index] = node.id
            self.texts[node.id] = path
            self.nodes.append(node)
        self.live = [new.get(index, NONE) for index in stays]
        self.last_kept.append(min(log_probs[index] for index in stays if index in new) if new else float("-inf"))

    def fate(self, index: int, token: int, ended: bool, stays: bool) -> Fate:
        if ended:
            why = "wrote </s>" if token == EOS else "reached the longest output allowed"
            return "finished", f"{why} as candidate {index + 1} of the first {self.width}"
        if token == EOS:
            return (
                "pruned",
                f"wrote </s>, but only as candidate {index + 1}: an end counts among the first {self.width}",
            )
        if stays:
            return "kept", f"among the {self.width} best, which continue"
        return "pruned", f"candidate {index + 1}: {self.width} better ones continue"


def beam(subject: Subject, options: Options) -> Parts:
    """The view: the tree of the search that found the answer; without a search of its own, that of the settings."""
    request = (subject.request or SearchRequest()).filled(subject.config.decode, len(subject.tokenizers.target))
    reference = subject.reference_ids or (subject.written_ids if subject.forced else [])
    model = subject.model
    assert isinstance(model, Seq2Seq)  # views.py offers this view for models that write alone
    tree, _ = beam_tree(model, subject.source_ids, request, subject.piece, without_end(reference), subject.prefix)
    return Parts(beam=tree)


def without_end(ids: list[int]) -> list[int] | None:
    return (ids[:-1] if ids[-1] == EOS else ids) if ids else None


@torch.inference_mode()
def beam_tree(
    model: Seq2Seq,
    source: list[int],
    request: SearchRequest,
    piece: Callable[[int], str],
    reference: list[int] | None = None,
    prefix: Sequence[int] = (),
) -> tuple[Beam, list[Hypothesis]]:
    """The tree and the outputs of a filled request for one source (ids with EOS); `reference` has ids too."""
    tokens = torch.tensor([source])
    memory = model.encode(tokens, torch.ones_like(tokens, dtype=torch.bool))
    rules = Rules.of(request, [[*prefix]], memory)
    recorder = Recorder(request.beam, request.length_penalty, piece)
    found = beam_search(model, memory, request.limits(memory.mask.sum(1)), request, rules, recorder)[0]
    nodes = mark(recorder, found)
    if reference is None:
        return Beam(request.beam, request.length_penalty, nodes), found
    steps, verdict = judge(model, memory, recorder, reference, found[0], request)
    return Beam(request.beam, request.length_penalty, nodes, steps, verdict), found


def mark(recorder: Recorder, found: list[Hypothesis]) -> list[Node]:
    """The nodes with the path of the answer marked, and the hypotheses that were alive at the end called unfinished."""
    nodes, last = recorder.nodes, len(recorder.last_kept)
    answer = found[0].ids + ((EOS,) if found[0].ended else ())
    marked = []
    for node in nodes:
        path = recorder.texts[node.id]
        best = answer[: len(path)] == path and (node.fate == "finished") == (len(path) == len(answer))
        fate, reason = node.fate, node.reason
        if fate == "kept" and node.step == last:
            fate, reason = "unfinished", "the search stopped: enough hypotheses were finished"
        parts = (node.id, node.parent, node.step, node.token, node.log_prob, node.score, node.rank)
        marked.append(Node(*parts, fate, reason, best))
    return marked


def judge(
    model: Seq2Seq,
    memory: Memory,
    recorder: Recorder,
    reference: list[int],
    answer: Hypothesis,
    request: SearchRequest,
) -> tuple[list[Forced], str]:
    """The reference step by step, and the verdict in a sentence."""
    written = [*reference, EOS]
    log_probs = log_softmax(model.project(model.hidden(torch.tensor([[BOS, *reference]]), memory)))[0]
    single = log_probs[torch.arange(len(written)), torch.tensor(written)].tolist()
    paths = {recorder.texts[node.id] for node in recorder.nodes if node.fate in ("kept", "finished")}
    steps, total = [], 0.0
    for number, (token, log_prob) in enumerate(zip(written, single, strict=True), 1):
        total += log_prob
        better = sum(node.step == number and node.log_prob > total + ROUNDING for node in recorder.nodes)
        in_beam = tuple(written[:number]) in paths
        kept = recorder.last_kept[number - 1] if number <= len(recorder.last_kept) else float("nan")
        margin = total - kept if kept == kept and kept != float("-inf") else 0.0
        steps.append(Forced(Choice(token, recorder.piece(token), log_prob), better + 1, margin, in_beam))
    score = finish(written, total, request.length_penalty).score
    return steps, verdict(tuple(reference), score, answer, steps)


def verdict(reference: tuple[int, ...], score: float, answer: Hypothesis, steps: list[Forced]) -> str:
    if reference == answer.ids:
        return f"found: the search found the reference (score {score:.3f})"
    lost = next((number for number, step in enumerate(steps, 1) if not step.in_beam), len(steps))
    where = f"it left the beam at token {lost}, where it was candidate {steps[lost - 1].rank} or worse"
    if score > answer.score:
        return f"search error: the model prefers the reference ({score:.3f} against {answer.score:.3f}), but {where}"
    return f"model error: the model prefers its own answer ({answer.score:.3f} against {score:.3f}); {where}"

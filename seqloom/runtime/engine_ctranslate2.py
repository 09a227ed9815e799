"""The fast engine for Transformers: CTranslate2, which needs no torch.

It does plain searches: beam, n-best, length penalty. `decode/search.py` follows the rules of CTranslate2, so both
engines give the same outputs. Other options are left to the torch engine, because CTranslate2 excludes forbidden tokens
before the softmax and we do it afterwards.

CTranslate2 has one length limit per call; we have one per sentence. So each batch runs to the longest limit in it, and
the rare sentence that reaches its own limit is translated again alone. The same happens to a sentence with <pad> or
<s>, which a trained model never writes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.errors import ModelError
from seqloom.runtime.parts import MOST_ROWS, Part, batches_by_length
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, PAD


class CTranslate2Engine:
    """CTranslate2 engine: translates `threads` batches at once, each on one core, which is the fastest way."""

    name = "ctranslate2"

    def __init__(
        self,
        folder: Path,
        tokenizers: Tokenizers,
        batch_size: int,
        threads: int,
        *,
        longest: int,
        shortlist: bool = False,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """`folder`: where the model is on disk; with `files`, its files by name, it is only named in errors."""
        import ctranslate2

        self.threads, self.batch_size, self.shortlist = threads, batch_size, shortlist
        self.longest = longest  # the longest output that the converted model has positions for
        self.source_tokens, self.target_tokens = tokenizers.source.tokens(), tokenizers.target.tokens()
        self.target_ids = {token: index for index, token in enumerate(self.target_tokens)}
        try:
            self.translator: Any = ctranslate2.Translator(
                str(folder), inter_threads=threads, intra_threads=1, files=files
            )
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"{folder}: CTranslate2 cannot load it: {error}") from None

    def lacks(self, request: SearchRequest, parts: Sequence[Part]) -> str:
        lacking = ["alternatives"] * bool(request.alternatives) + ["sampling"] * bool(request.sample)
        lacking += unlike_ours(request)
        if any(part.prefix for part in parts):
            lacking.append("prefix")
        if (request.max_length or 0) > self.longest:
            lacking.append(f"outputs of more than {self.longest} tokens")
        return f"{' and '.join(lacking)} as Seqloom defines it" if lacking else ""

    def find(self, request: SearchRequest, parts: Sequence[Part]) -> list[list[Hypothesis]]:
        limits = [request.limit(len(part.ids) + 1) for part in parts]
        size = max(1, min(self.batch_size, MOST_ROWS // request.rows, -(-len(parts) // self.threads)))
        asked = []
        for places in reversed(batches_by_length(parts, size)):  # the longest first: no core waits long at the end
            most = max(limits[place] for place in places)
            asked.append((places, most, self.ask(request, [parts[place] for place in places], most)))
        found: list[list[Hypothesis]] = [[] for _ in parts]
        again: dict[int, Any] = {}
        for places, most, answers in asked:
            for place, answer in zip(places, answers, strict=True):
                limit = limits[place]
                found[place] = self.read(answer.result(), request)
                if any(is_strange(hypothesis, limit if limit < most else None) for hypothesis in found[place]):
                    again[place] = self.ask_alone(request, parts[place], limit)  # while others run
        for place, answer in again.items():
            found[place] = self.read(answer.result(), request)
        return [ranked[: request.num] for ranked in found]

    def ask(self, request: SearchRequest, batch: list[Part], limit: int, **more: Any) -> Any:
        """Start one batch; returns its pending results."""
        return self.translator.translate_batch(
            [[*(self.source_tokens[index] for index in part.ids), self.source_tokens[EOS]] for part in batch],
            beam_size=request.beam,
            # all hypotheses of the beam, even if fewer are wanted: they show whether the search reached a limit
            num_hypotheses=request.beam if request.length_penalty else request.num,
            length_penalty=request.length_penalty,
            max_decoding_length=limit,
            min_decoding_length=0,
            max_input_length=0,
            use_vmap=self.shortlist,
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
            **more,
        )

    def ask_alone(self, request: SearchRequest, part: Part, limit: int) -> Any:
        """Translate one sentence alone, with its own limit and without <pad> and <s>."""
        never = [[self.target_tokens[index]] for index in (PAD, BOS)]
        (answer,) = self.ask(request, [part], limit, suppress_sequences=never)
        return answer

    def read(self, result: Any, request: SearchRequest) -> list[Hypothesis]:
        found = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            ids = [self.target_ids[token] for token in tokens]
            log_prob = score * len(ids) ** request.length_penalty
            ended = ids[-1:] == [EOS]
            found.append(Hypothesis(tuple(ids[:-1] if ended else ids), log_prob, score, ended))
        return found


def unlike_ours(settings: Any) -> list[str]:
    """The options among these that CTranslate2 defines differently."""
    return [name for name in ("coverage_penalty", "min_length", "no_repeat_ngram") if getattr(settings, name)]


def is_strange(hypothesis: Hypothesis, limit: int | None) -> bool:
    """Whether an output is longer than its own limit, or has a token that must never be written."""
    too_long = limit is not None and len(hypothesis.ids) + hypothesis.ended >= limit
    return too_long or PAD in hypothesis.ids or BOS in hypothesis.ids

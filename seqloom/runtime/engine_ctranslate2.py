"""The fast engine of Transformers: CTranslate2, which needs no torch.

It answers plain searches: beam, n-best, length penalty. The rules of `decode/search.py` are its own, so that both
engines give the same outputs; the rest (it strikes out before the softmax, we after it) is left to the torch engine.

One call has one length limit for all its sentences, ours is one a sentence. So each batch runs to the longest limit in
it, and the rare sentence that comes to its own is translated again alone. So is one that wrote <pad> or <s>, which a
trained model never does.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchOptions
from seqloom.errors import ModelError
from seqloom.runtime.parts import MOST_ROWS, Part
from seqloom.runtime.requests import Request, Search, batches_by_length
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, PAD


class CTranslate2Engine:
    """`threads` batches are translated at once, each on one core: faster than several cores a batch."""

    name = "ctranslate2"

    def __init__(
        self, folder: Path, tokenizers: Tokenizers, batch_size: int, threads: int, *, shortlist: bool, longest: int
    ) -> None:
        import ctranslate2

        self.threads, self.batch_size, self.shortlist = threads, batch_size, shortlist
        self.longest = longest  # an output that the converted model has positions for
        self.source_tokens, self.target_tokens = tokenizers.source.tokens(), tokenizers.target.tokens()
        self.target_ids = {token: index for index, token in enumerate(self.target_tokens)}
        try:
            self.translator: Any = ctranslate2.Translator(str(folder), inter_threads=threads, intra_threads=1)
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"{folder}: CTranslate2 cannot load it: {error}") from None

    def lacks(self, request: Request, parts: Sequence[Part]) -> str:
        if not isinstance(request, Search):
            return f"no {type(request).__name__.lower()} like ours"
        unlike = unlike_ours(request.options)
        if any(part.prefix for part in parts):
            unlike.append("prefix")
        if (request.options.max_length or 0) > self.longest:
            unlike.append(f"outputs of more than {self.longest} tokens")
        return f"other rules for {' and '.join(unlike)}" if unlike else ""

    def find(self, request: Request, parts: Sequence[Part]) -> list[list[Hypothesis]]:
        options = request.options
        limits = [options.limit(len(part.ids) + 1) for part in parts]
        size = max(1, min(self.batch_size, MOST_ROWS // request.rows, -(-len(parts) // self.threads)))
        asked = []
        for places in reversed(batches_by_length(parts, size)):  # the longest first: no core waits long at the end
            most = max(limits[place] for place in places)
            asked.append((places, most, self.ask(options, [parts[place] for place in places], most)))
        found: list[list[Hypothesis]] = [[] for _ in parts]
        again: dict[int, Any] = {}
        for places, most, answers in asked:
            for place, answer in zip(places, answers, strict=True):
                limit = limits[place]
                found[place] = self.read(answer.result(), options)
                if any(is_strange(hypothesis, limit if limit < most else None) for hypothesis in found[place]):
                    again[place] = self.ask_alone(options, parts[place], limit)  # while the others are waited for
        for place, answer in again.items():
            found[place] = self.read(answer.result(), options)
        return [ranked[: options.n_best] for ranked in found]

    def ask(self, options: SearchOptions, batch: list[Part], limit: int, **more: Any) -> Any:
        """The results of one batch, to be waited for."""
        return self.translator.translate_batch(
            [[*(self.source_tokens[index] for index in part.ids), self.source_tokens[EOS]] for part in batch],
            beam_size=options.beam,
            # all of the beam, though fewer may be wanted: they tell whether the search came to a limit
            num_hypotheses=options.beam if options.length_penalty else options.n_best,
            length_penalty=options.length_penalty,
            max_decoding_length=limit,
            min_decoding_length=0,
            max_input_length=0,
            use_vmap=self.shortlist,
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
            **more,
        )

    def ask_alone(self, options: SearchOptions, part: Part, limit: int) -> Any:
        """One sentence to its own limit, <pad> and <s> struck out."""
        never = [[self.target_tokens[index]] for index in (PAD, BOS)]
        (answer,) = self.ask(options, [part], limit, suppress_sequences=never)
        return answer

    def read(self, result: Any, options: SearchOptions) -> list[Hypothesis]:
        found = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            ids = [self.target_ids[token] for token in tokens]
            log_prob = score * len(ids) ** options.length_penalty
            ended = ids[-1:] == [EOS]
            found.append(Hypothesis(tuple(ids[:-1] if ended else ids), log_prob, score, ended))
        return found


def unlike_ours(settings: Any) -> list[str]:
    """Which of these settings of a search ask for rules that CTranslate2 has otherwise."""
    return [name for name in ("coverage_penalty", "min_length", "no_repeat_ngram") if getattr(settings, name)]


def is_strange(hypothesis: Hypothesis, limit: int | None) -> bool:
    """The batch let it run beyond its own limit, or it holds a token that is never written."""
    too_long = limit is not None and len(hypothesis.ids) + hypothesis.ended >= limit
    return too_long or PAD in hypothesis.ids or BOS in hypothesis.ids

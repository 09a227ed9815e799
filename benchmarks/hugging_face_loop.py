"""The rival of minutes_to_score.py: a Marian-shaped Hugging Face model in a training loop as people write it.

3 + 3 layers, width 256, 8,000 joint BPE pieces, bfloat16 autocast where the processor multiplies it, fused Adam, about
1,024 tokens per batch, dropout 0.1, label smoothing 0.1; the rate rises to 1e-3 in 400 updates and falls linearly to 0
when the time is up. The clock starts after the tokenizer is learned and the texts are encoded.
"""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import MarianConfig, MarianMTModel

PAD, END, IGNORED = 0, 1, -100
WARMUP, RATE, BATCH_TOKENS = 400, 1e-3, 1024
Ids = list[int]


@dataclass
class Trained:
    """A trained model with its tokenizer."""

    model: MarianMTModel
    tokenizer: Tokenizer
    updates: int
    passes: float
    tokens: int

    @torch.inference_mode()
    def translate(self, sources: Sequence[str], beam: int = 5) -> list[str]:
        outputs = [""] * len(sources)
        order = sorted(range(len(sources)), key=lambda number: len(sources[number]))
        for start in range(0, len(order), 32):
            chosen = order[start : start + 32]
            rows = [torch.tensor(encode(self.tokenizer, sources[number])) for number in chosen]
            source = pad_sequence(rows, batch_first=True, padding_value=PAD)
            found = self.model.generate(
                input_ids=source, attention_mask=(source != PAD).long(), num_beams=beam, do_sample=False,
                max_new_tokens=2 * source.shape[1] + 10,
            )  # fmt: skip
            for number, row in zip(chosen, found.tolist(), strict=True):
                outputs[number] = self.tokenizer.decode([token for token in row if token > END]).strip()
        return outputs

    @torch.inference_mode()
    def negative_log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> float:
        """Return the sum of -log p(target | source) in nats, the end of each target included."""
        encoded = [(encode(self.tokenizer, source), encode(self.tokenizer, target)) for source, target in pairs]
        total = 0.0
        for batch in batches(encoded, random.Random(0)):
            source, labels = padded(batch)
            total += F.cross_entropy(logits_of(self.model, source, labels), labels.flatten(), reduction="sum").item()
        return total


def train(pairs: Sequence[tuple[str, str]], seconds: float, seed: int, vocabulary: int = 8000) -> Trained:
    """Train for so many seconds of processor time."""
    torch.manual_seed(seed)
    tokenizer = learn_tokenizer([text for pair in pairs for text in pair], vocabulary)
    encoded = [(encode(tokenizer, source), encode(tokenizer, target)) for source, target in pairs]
    model = make_model(tokenizer.get_vocab_size())
    optimizer, halves = make_optimizer(model), torch.ops.mkldnn._is_mkldnn_bf16_supported()
    draw, updates, passes, tokens, began = random.Random(seed), 0, 0.0, 0, time.process_time()
    while True:
        epoch = list(batches(encoded, draw))
        for number, batch in enumerate(epoch):
            share = (time.process_time() - began) / seconds
            if share >= 1:
                model.eval()
                return Trained(model, tokenizer, updates, passes + number / len(epoch), tokens)
            optimizer.param_groups[0]["lr"] = RATE * min((updates + 1) / WARMUP, 1.0) * (1 - share)
            tokens += learn(model, optimizer, batch, halves)
            updates += 1
        passes += 1


def make_model(vocabulary: int) -> MarianMTModel:
    return MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary, d_model=256, encoder_layers=3, decoder_layers=3, dropout=0.1,
            encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024,
            max_position_embeddings=512, pad_token_id=PAD, eos_token_id=END, bos_token_id=None,
            decoder_start_token_id=PAD, forced_eos_token_id=None, scale_embedding=True, attention_dropout=0.0,
        )
    ).train()  # fmt: skip


def make_optimizer(model: MarianMTModel) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=RATE, fused=True)


def learn(model: MarianMTModel, optimizer: torch.optim.Optimizer, batch: list[tuple[Ids, Ids]], halves: bool) -> int:
    """Make one update, in bfloat16 if `halves`; the number of target tokens."""
    source, labels = padded(batch)
    with torch.autocast("cpu", torch.bfloat16, enabled=halves):
        logits = logits_of(model, source, labels)
    F.cross_entropy(logits.float(), labels.flatten(), label_smoothing=0.1).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return int((labels != IGNORED).sum())


def learn_tokenizer(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = ByteLevel(add_prefix_space=True), ByteLevelDecoder()
    alphabet = ByteLevel.alphabet()
    trainer = BpeTrainer(vocab_size=vocabulary, special_tokens=["<pad>", "</s>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, text: str) -> Ids:
    ids: Ids = tokenizer.encode(text).ids
    return [*ids, END]


def batches(encoded: Sequence[tuple[Ids, Ids]], draw: random.Random) -> Iterator[list[tuple[Ids, Ids]]]:
    """Yield batches of pairs of like lengths in random order."""
    order = sorted(encoded, key=lambda pair: (max(map(len, pair)), draw.random()))
    found: list[list[tuple[Ids, Ids]]] = [[]]
    for pair in order:
        if (len(found[-1]) + 1) * max(map(len, pair)) > BATCH_TOKENS and found[-1]:
            found.append([])
        found[-1].append(pair)
    draw.shuffle(found)
    yield from found


def padded(batch: list[tuple[Ids, Ids]]) -> tuple[Tensor, Tensor]:
    sources, targets = zip(*batch, strict=True)
    source = pad_sequence([torch.tensor(ids) for ids in sources], batch_first=True, padding_value=PAD)
    return source, pad_sequence([torch.tensor(ids) for ids in targets], batch_first=True, padding_value=IGNORED)


def logits_of(model: MarianMTModel, source: Tensor, labels: Tensor) -> Tensor:
    """Return the logits of all target positions in one row each."""
    before = torch.cat((torch.full_like(labels[:, :1], PAD), labels[:, :-1].clamp(min=PAD)), dim=1)
    output = model(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=before, use_cache=False)
    logits: Tensor = output.logits.flatten(0, 1)
    return logits

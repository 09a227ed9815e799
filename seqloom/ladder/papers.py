"""Published results by rung. Training and metric differ between papers: compare steps, not levels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

WMT_FR, WMT_DE = "WMT14 en-fr", "WMT14 en-de"
CAPTIONS = "Multi30k de-en"
CAPTIONS_DE, CAPTIONS_FR = "Multi30k en-de", "Multi30k en-fr"
TEXT_ONLY = "text-only baselines of papers on images, about"
TOKENISED, LOWERED = "BLEU, tokenised", "BLEU, lowercased, greedy"


@dataclass(frozen=True, slots=True)
class Published:
    rung: str  # the rung that it is listed with
    system: str
    bleu: float
    metric: str
    data: str
    source: str


PUBLISHED = (
    Published("lstm", "LSTM, 4 layers of 1000", 26.17, TOKENISED, WMT_FR, "Sutskever et al. 2014"),
    Published(
        "lstm-reversed", "LSTM, 4 layers of 1000, source reversed", 30.59, TOKENISED, WMT_FR, "Sutskever et al. 2014"
    ),
    Published(
        "lstm-reversed",
        "five LSTMs together, source reversed, beam 12",
        34.81,
        TOKENISED,
        WMT_FR,
        "Sutskever et al. 2014",
    ),
    Published("gru", "RNNencdec-30, context at every step", 13.93, TOKENISED, WMT_FR, "Bahdanau et al. 2015"),
    Published("gru", "RNNencdec-50, context at every step", 17.82, TOKENISED, WMT_FR, "Bahdanau et al. 2015"),
    Published("rnnsearch-additive", "RNNsearch-30", 21.50, TOKENISED, WMT_FR, "Bahdanau et al. 2015"),
    Published("rnnsearch-additive", "RNNsearch-50", 26.75, TOKENISED, WMT_FR, "Bahdanau et al. 2015"),
    Published("rnnsearch-additive", "RNNsearch-50, trained longer", 28.45, TOKENISED, WMT_FR, "Bahdanau et al. 2015"),
    Published("luong", "global attention", 16.8, TOKENISED, WMT_DE, "Luong et al. 2015"),
    Published("luong", "global attention, input feeding", 18.1, TOKENISED, WMT_DE, "Luong et al. 2015"),
    Published("transformer", "Transformer base", 27.3, TOKENISED, WMT_DE, "Vaswani et al. 2017"),
    Published("transformer", "Transformer base", 38.1, TOKENISED, WMT_FR, "Vaswani et al. 2017"),
    Published("transformer", "Transformer big", 28.4, TOKENISED, WMT_DE, "Vaswani et al. 2017"),
    Published("transformer", "Transformer big", 41.8, TOKENISED, WMT_FR, "Vaswani et al. 2017"),
    Published("rnnsearch-additive", "recurrent WMT baselines", 38.0, TOKENISED, CAPTIONS_DE, TEXT_ONLY),
    Published("transformer", "Transformer-tiny, 4 + 4 x 128", 41.0, TOKENISED, CAPTIONS_DE, TEXT_ONLY),
    Published("transformer", "Transformer-tiny, 4 + 4 x 128", 61.8, TOKENISED, CAPTIONS_FR, TEXT_ONLY),
    Published("lstm", "LSTM, fixed vector", 13.76, LOWERED, CAPTIONS, "public tutorial notebooks"),
    Published("gru", "GRU, context at every step", 20.61, LOWERED, CAPTIONS, "public tutorial notebooks"),
    Published("rnnsearch-additive", "additive attention", 28.30, LOWERED, CAPTIONS, "public tutorial notebooks"),
    Published("transformer", "Transformer", 36.52, LOWERED, CAPTIONS, "public tutorial notebooks"),
)


def published_for(languages: Sequence[str], metric: str) -> list[Published]:
    """The results for a ladder that translates between two languages; none for one on dates or sounds."""
    return list(PUBLISHED) if metric == "bleu" and all(languages) else []


def is_same_pair(row: Published, languages: Sequence[str]) -> bool:
    """Whether a result is on the languages of a ladder, in the same direction: then it is shown in the same row."""
    pair = "-".join(re.split("[-_]", code)[0].lower() for code in languages)
    return row.data.endswith(f" {pair}")

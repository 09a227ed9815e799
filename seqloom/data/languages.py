"""Language codes in the names of files and columns: a.en,a.fr or corpus.en-fr.tsv or a header en,fr."""

import re
from collections.abc import Sequence

# ISO 639-1, and the three-letter codes that corpora often use.
CODES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it
    iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt
    my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl
    sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo
    za zh zu ara ces dan deu ell eng est fas fin fra heb hin hun ind ita jpn kor lat lav lit nld nor pol por ron
    rus slk slv spa swe tur ukr vie zho
    """.split()  # noqa: SIM905
)
# Names in English and as the language calls itself, for headers such as English,French.
LANGUAGE_NAMES = {
    name: code
    for code, names in {
        "en": "english anglais englisch inglés inglese", "fr": "french français francais französisch francés",
        "de": "german deutsch allemand alemán", "es": "spanish español espanol espagnol spanisch",
        "it": "italian italiano italien", "pt": "portuguese português portugues", "nl": "dutch nederlands",
        "pl": "polish polski", "cs": "czech čeština", "ru": "russian русский", "uk": "ukrainian українська",
        "sv": "swedish svenska", "da": "danish dansk", "fi": "finnish suomi", "no": "norwegian norsk",
        "hu": "hungarian magyar", "ro": "romanian română", "tr": "turkish türkçe", "el": "greek ελληνικά",
        "ar": "arabic العربية", "he": "hebrew עברית", "fa": "persian farsi", "hi": "hindi हिन्दी",
        "zh": "chinese mandarin 中文", "ja": "japanese 日本語", "ko": "korean 한국어", "vi": "vietnamese",
        "id": "indonesian", "ca": "catalan català", "eu": "basque euskara", "ga": "irish", "cy": "welsh",
        "la": "latin", "sw": "swahili", "bg": "bulgarian", "hr": "croatian", "sr": "serbian", "sk": "slovak",
        "sl": "slovenian", "et": "estonian", "lv": "latvian", "lt": "lithuanian", "th": "thai",
    }.items()
    for name in names.split()
}  # fmt: skip
_CODE = r"([A-Za-z]{2,3}(?:[-_](?:[A-Z]{2}|[A-Z][a-z]{3}))?)"
_DIRECTION = re.compile(rf"(?:^|[._-]){_CODE}(?:-|_|2|to){_CODE}(?=[._-]|$)")


def is_code(name: str) -> bool:
    """True for en, EN, eng, pt-BR, zh_Hans."""
    return bool(re.fullmatch(_CODE, name)) and re.split("[-_]", name)[0].lower() in CODES


def code_of(name: str) -> str:
    """Return the code of a language by its code or its name: en, EN, English; empty for another word."""
    return name if is_code(name) else LANGUAGE_NAMES.get(name.strip().lower(), "")


def of_pair(first: str, second: str) -> tuple[str, str]:
    """Languages of two parallel files: the last part in which the names differ."""
    for a, b in zip(reversed(first.split(".")), reversed(second.split(".")), strict=False):
        if a != b:
            a, b = re.split("[_-](?=[a-z]+$)", a)[-1], re.split("[_-](?=[a-z]+$)", b)[-1]
            return (a, b) if is_code(a) and is_code(b) else ("", "")
    return "", ""


def of_file(name: str) -> tuple[str, str]:
    """Languages of one file of two columns: corpus.en-fr.tsv, wmt_de_en.csv, en2fr.jsonl."""
    for match in _DIRECTION.finditer(name):
        if is_code(match[1]) and is_code(match[2]) and match[1] != match[2]:
            return match[1], match[2]
    return "", ""


def of_columns(columns: Sequence[str]) -> tuple[str, str]:
    """Languages of named columns: en,fr or translation.en,translation.fr or English,French."""
    codes = [code_of(column.rpartition(".")[2]) for column in columns[:2]]
    return (codes[0], codes[1]) if len(codes) == 2 and all(codes) else ("", "")

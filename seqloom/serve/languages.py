"""Language codes: their English names, and the served language that a client means by EN-US, pt_br or ENG."""

from collections.abc import Collection

UNNAMED = ("src", "tgt")  # the languages of a model whose settings do not name them

NAMES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian",
    "bn": "Bengali", "bo": "Tibetan", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian",
    "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician",
    "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh",
    "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ku": "Kurdish", "la": "Latin", "lb": "Luxembourgish", "lo": "Lao",
    "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi",
    "ms": "Malay", "mt": "Maltese", "my": "Burmese", "nb": "Norwegian (Bokmål)", "ne": "Nepali", "nl": "Dutch",
    "nn": "Norwegian (Nynorsk)", "no": "Norwegian", "oc": "Occitan", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai",
    "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese",
    "yi": "Yiddish", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip
TWO_LETTERS = {
    "ara": "ar", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "eng": "en", "est": "et", "fas": "fa", "fin": "fi",
    "fra": "fr", "heb": "he", "hin": "hi", "hun": "hu", "ind": "id", "ita": "it", "jpn": "ja", "kor": "ko", "lat": "la",
    "lav": "lv", "lit": "lt", "nld": "nl", "nor": "no", "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slk": "sk",
    "slv": "sl", "spa": "es", "swe": "sv", "tur": "tr", "ukr": "uk", "vie": "vi", "zho": "zh",
}  # fmt: skip


def base(code: str) -> str:
    """The language without its region or script, in two letters: EN-us, eng -> en."""
    language = code.replace("_", "-").partition("-")[0].lower()
    return TWO_LETTERS.get(language, language)


def name_of(code: str) -> str:
    """English for en, Portuguese (BR) for pt-BR; an unknown code is its own name."""
    known = NAMES.get(base(code))
    region = code.replace("_", "-").partition("-")[2]
    return code if known is None else f"{known} ({region})" if region else known


def resolve(code: str, served: Collection[str]) -> str | None:
    """The served code that a client means: the same code, ignoring case, or the only one of the same language."""
    if code in served:
        return code
    asked = code.replace("_", "-").lower()
    same = [known for known in served if known.replace("_", "-").lower() == asked]
    near = [known for known in served if base(known) == base(code)]
    return same[0] if same else near[0] if len(near) == 1 else None

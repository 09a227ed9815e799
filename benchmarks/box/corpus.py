"""Write the training pairs of the bundled English-French models: Tatoeba, forms that people type, and Europarl.

    SEQLOOM_DATA=... python benchmarks/box/corpus.py runs/box/en-fr.tsv            English to French
    SEQLOOM_DATA=... python benchmarks/box/corpus.py runs/box/fr-en.tsv --swap     French to English

Tatoeba's sentences are clean: a capital, a full stop, one sentence per line, and Tom in every twelfth. People type
otherwise. So some pairs come a second time in another form, with the same change on both sides: upper case, no
capital and no full stop, other numbers, other names, short forms written out, curly apostrophes, two or three
sentences in a line. The rule that the model learns from it: **the translation keeps the form of the source**.
"""

import argparse
import gzip
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Pair = tuple[str, str]  # English, French

FORMS_SEED = 1
EUROPARL_PAIRS = 15_000
EUROPARL_WORDS = range(4, 36)  # shorter ones are often not translations of each other; longer ones cost most time
NAMES = """
    Adam Adèle Agnès Ahmed Aisha Akira Alain Alice Amélie Amina Ana André Anna Antoine Arthur Astrid Aurélie Ben
    Benoît Björn Boris Camille Carlos Carmen Céline Chen Chloé Clara Claude Daniel David Diana Diego Dmitri Édith
    Elena Élise Emma Éric Erik Eva Fatima Félix Fiona Fleur Frank François Gabriel Gaëlle Georges Giulia Grace Greta
    Hamid Hana Hans Hassan Helen Hélène Hugo Ibrahim Igor Ines Ingrid Irene Isabelle Ivan Jack Jacques James Jana
    Jean Jérôme Joan John Jonas Jorge Juan Judith Julien Karim Karin Kate Kenji Khalid Lars Laura Léa Leila Léon
    Li Lina Linda Louis Louise Luc Lucas Lucia Luis Maja Malik Manon Marc Marco Margot Maria Marie Mario Marta Martin
    Mathilde Max Mehmet Mei Michel Miguel Mohamed Monique Nadia Nathan Nicolas Nina Noah Noémie Nora Olga Oliver
    Olivier Omar Oscar Pablo Patricia Paul Pedro Peter Philippe Pierre Priya Quentin Rachel Rafael Raj Rania Raphaël
    Rebecca René Robert Roland Rosa Ruth Salim Samira Sandra Sara Sébastien Simon Sofia Sophie Stefan Stella Sven
    Sylvie Tarek Théo Thomas Tim Ulla Vera Victor Viktor Vincent Wei Xavier Yann Yasmin Yuki Yusuf Yvonne Zoé
    Anderson Becker Bernard Bianchi Cohen Diallo Dubois Fischer Garcia Haddad Hansen Johnson Kowalski Lambert Lefèvre
    Martinez Moreau Müller Nakamura Nguyen Novak Okafor Petit Rossi Schmidt Silva Smith Suzuki Tremblay Weber Wilson
""".split()  # noqa: SIM905 (a list of 200 strings is no easier to read)
PLACES = """
    Algiers Amsterdam Athens Bamako Barcelona Beirut Bergen Berlin Bilbao Bogota Bordeaux Boston Brest Bristol Budapest
    Cairo Calgary Cardiff Casablanca Chicago Cologne Dakar Dallas Delhi Denver Dublin Grenoble Hamburg Hanoi Helsinki
    Istanbul Kiel Kigali Kyoto Lagos Leeds Lille Lima Lisbon Liverpool Lyon Madrid Malmö Manchester Melbourne Miami
    Milan Montreal Montréal Munich Nairobi Nantes Nice Oslo Ottawa Oxford Palermo Paris Porto Prague Québec Quito
    Reims Rennes Riga Rotterdam Rouen Salzburg Seattle Sofia Stuttgart Sydney Tokyo Toronto Toulouse Tunis Turin
    Utrecht Valencia Vancouver Zagreb
""".split()  # noqa: SIM905 (a list of 200 strings is no easier to read)
KNOWN_PLACES = {"Boston", "Tokyo", "Kyoto", "Osaka", "Paris", "Chicago", "Berlin", "Toronto", "Hawaii", "Madrid"}
WRITTEN_OUT = {
    "n't": " not", "I'm": "I am", "'re": " are", "'ve": " have", "'ll": " will", "Let's": "Let us", "let's": "let us",
    "It's": "It is", "it's": "it is", "That's": "That is", "that's": "that is", "There's": "There is",
}  # fmt: skip
IRREGULAR = {"can't": "cannot", "Can't": "Cannot", "won't": "will not", "Won't": "Will not", "shan't": "shall not"}
MARKS = ".!? \u00a0\u202f"  # French puts one of these spaces before a mark
ONE_SENTENCE = re.compile(r"[^.!?…]*[.!?…]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--swap", action="store_true", help="French first")
    parser.add_argument("--europarl", type=int, default=EUROPARL_PAIRS, help="pairs of Europarl; 0 for none")
    arguments = parser.parse_args()
    data = os.environ.get("SEQLOOM_DATA")
    if not data:
        sys.exit("SEQLOOM_DATA must name a folder with tatoeba-en-fr/ and europarl-en-fr/")
    tatoeba = [pair_of(line) for line in lines_of(Path(data) / "tatoeba-en-fr" / "train.tsv.gz")]
    random_numbers = random.Random(FORMS_SEED)
    pairs = [*tatoeba, *other_forms(tatoeba, random_numbers)]
    pairs += random_numbers.sample(list(europarl(Path(data) / "europarl-en-fr")), arguments.europarl)
    random_numbers.shuffle(pairs)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", encoding="utf-8") as file:
        for english, french in pairs:
            file.write(f"{french}\t{english}\n" if arguments.swap else f"{english}\t{french}\n")
    print(f"{arguments.out}: {len(tatoeba):,} pairs of Tatoeba, {len(pairs) - len(tatoeba):,} more")


def lines_of(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def pair_of(line: str) -> Pair:
    english, french = line.split("\t")
    return english, french


def europarl(folder: Path) -> Iterator[Pair]:
    """Pairs of usual length whose sides are about equally long."""
    for english, french in zip(lines_of(folder / "train.en.gz"), lines_of(folder / "train.fr.gz"), strict=True):
        lengths = len(english.split()), len(french.split())
        if all(n in EUROPARL_WORDS for n in lengths) and 0.6 < lengths[0] / lengths[1] < 1.5 and "\t" not in english:
            yield english, french


def other_forms(pairs: list[Pair], random_numbers: random.Random) -> Iterator[Pair]:
    """A pair again in another form, where that form exists for it."""
    for pair in pairs:
        for share, form in FORMS:
            if random_numbers.random() < share:
                changed = form(pair, pairs, random_numbers)
                if changed is not None and changed != pair:
                    yield changed


Form = Callable[[Pair, list[Pair], random.Random], Pair | None]


def upper_case(pair: Pair, _: list[Pair], __: random.Random) -> Pair:
    return pair[0].upper(), pair[1].upper()


def no_full_stop(pair: Pair, _: list[Pair], __: random.Random) -> Pair | None:
    """Without the last mark; only where both sides end in one."""
    if not all(side[-1] in ".!?" for side in pair):
        return None
    return pair[0].rstrip(MARKS), pair[1].rstrip(MARKS)


def no_capital(pair: Pair, pairs: list[Pair], random_numbers: random.Random) -> Pair | None:
    """As typed in a hurry: no capital at the start, no mark at the end."""
    bare = no_full_stop(pair, pairs, random_numbers)
    if bare is None:
        return None
    english, french = (side[:1].lower() + side[1:] for side in bare)
    return (english if not english.startswith(("i ", "i'")) else "I" + english[1:]), french


def other_number(pair: Pair, _: list[Pair], random_numbers: random.Random) -> Pair | None:
    """Another number of as many digits, where both sides have the same ones."""
    numbers = re.findall(r"\d+", pair[0])
    if not numbers or sorted(numbers) != sorted(re.findall(r"\d+", pair[1])) or len(set(numbers)) != len(numbers):
        return None
    new = {n: str(random_numbers.randint(10 ** (len(n) - 1), 10 ** len(n) - 1)) for n in numbers}
    english, french = (re.sub(r"\d+", lambda found: new[found.group()], side) for side in pair)
    return english, french


def other_name(pair: Pair, _: list[Pair], random_numbers: random.Random) -> Pair | None:
    """Other names of people and places, where both sides spell them alike."""
    english, french = pair
    shared = set(re.findall(r"\b[A-Z][a-zé]{2,}\b", english)) & set(re.findall(r"\b[A-Z][a-zé]{2,}\b", french))
    if not shared:
        return None
    for name in sorted(shared):
        new = random_numbers.choice(PLACES if name in KNOWN_PLACES else NAMES)
        if new[0] in "AEIOUYHÉÈÂ" and re.search(rf"\b[dDlLqQsSnNjJmM][e'a] ?{name}", french):
            return None  # 'de Tom' would have to become "d'Anna"
        english, french = (re.sub(rf"\b{name}\b", new, side) for side in (english, french))
    return english, french


def written_out(pair: Pair, _: list[Pair], __: random.Random) -> Pair | None:
    """English short forms in full: don't -> do not."""
    english = pair[0]
    for short, full in (*IRREGULAR.items(), *WRITTEN_OUT.items()):
        english = english.replace(short, full)
    return english, pair[1]


def curly_apostrophes(pair: Pair, _: list[Pair], __: random.Random) -> Pair:
    """The source's apostrophe must not matter, whichever side is the source."""
    return pair[0].replace("'", "’"), pair[1].replace("'", "’")


def several_sentences(pair: Pair, pairs: list[Pair], random_numbers: random.Random) -> Pair | None:
    """Two or three sentences in a line."""
    chosen = [pair, *random_numbers.sample(pairs, random_numbers.choice((1, 1, 2)))]
    if not all(ONE_SENTENCE.fullmatch(side) for one in chosen for side in one):
        return None
    english, french = (" ".join(sides) for sides in zip(*chosen, strict=True))
    return english, french


FORMS: tuple[tuple[float, Form], ...] = (  # the share of pairs that get this form as well
    (0.04, upper_case),
    (0.05, no_full_stop),
    (0.05, no_capital),
    (1.0, other_number),
    (0.20, other_name),
    (0.10, written_out),
    (0.04, curly_apostrophes),
    (0.10, several_sentences),
)

if __name__ == "__main__":
    main()

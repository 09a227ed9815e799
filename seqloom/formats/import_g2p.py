"""Import of the recurrent model inside the PyPI package g2p_en: a GRU with a fixed vector, words -> phonemes.

    rz = sigmoid(x W_rz + b_ih + h W_rz' + b_hh),   n = tanh(x W_n + b_ih + r (h W_n' + b_hh)),   h = (1 - z) n + z h

This is our cell `gru_fused`. Both biases of r and z are added, so their sum is one bias; the second bias of n stays
alone, because r scales it. The package is published under Apache 2.0; numpy reads its arrays without pickle.
"""

import importlib.util
import zipfile
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from seqloom.config import Config, load_config
from seqloom.errors import ModelError
from seqloom.files.durable import write_new
from seqloom.files.reading import check_regular
from seqloom.formats.public_folder import WEIGHTS, write_settings
from seqloom.runtime.run_facts import RunFacts
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import EOS, PAD

PACKAGE, FILE = "g2p_en", "checkpoint20.npz"
MOST_BYTES = 2**26  # of all arrays together; they have 3.3 MB
LETTERS = ("<pad>", "<unk>", "</s>", *ascii_lowercase)  # the rows of their tables
PHONEMES = """
    <pad> <unk> <s> </s> AA0 AA1 AA2 AE0 AE1 AE2 AH0 AH1 AH2 AO0 AO1 AO2 AW0 AW1 AW2 AY0 AY1 AY2 B CH D DH EH0
    EH1 EH2 ER0 ER1 ER2 EY0 EY1 EY2 F G HH IH0 IH1 IH2 IY0 IY1 IY2 JH K L M N NG OW0 OW1 OW2 OY0 OY1 OY2 P R S
    SH T TH UH0 UH1 UH2 UW UW0 UW1 UW2 V W Y Z ZH
""".split()  # noqa: SIM905 (74 strings in quotes are harder to read)
NETWORKS = {"enc": "encoder.layers.0.cells.0", "dec": "decoder.stack.cells.0"}  # theirs: ours
Arrays = dict[str, NDArray[np.float32]]


def find_package(folder: Path) -> Path:
    """The folder of the installed package, if its name was given and there is no such folder."""
    if str(folder) != PACKAGE or folder.exists():
        return folder
    spec = importlib.util.find_spec(PACKAGE)  # does not run the package
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"{PACKAGE}: not installed: pip install {PACKAGE} --no-deps")
    return Path(spec.submodule_search_locations[0])


def is_g2p(folder: Path) -> bool:
    return (folder / FILE).is_file()


def import_g2p(folder: Path, out: Path) -> RunFacts:
    """Write the model into an empty folder."""
    found = read_arrays(folder / FILE)
    width = check_shapes(found, folder / FILE)
    tokenizers = Tokenizers(
        learn_tokenizer("char", [ascii_lowercase], 500), learn_tokenizer("word", [" ".join(PHONEMES[4:])], 200)
    )
    config = settings(width, tokenizers)
    weights: Arrays = {}
    for theirs, ours in NETWORKS.items():
        rz = 2 * found[f"{theirs}_w_hh"].shape[1]
        bias, second = found[f"{theirs}_b_ih"].copy(), found[f"{theirs}_b_hh"]
        bias[:rz] += second[:rz]
        weights |= {f"{ours}.W_x": found[f"{theirs}_w_ih"], f"{ours}.W_h": found[f"{theirs}_w_hh"]}
        weights |= {f"{ours}.b": bias, f"{ours}.b_hh": second[rz:]}
    written = phoneme_rows(tokenizers.target)
    weights |= {"source_table.weight": found["enc_emb"][letter_rows(tokenizers.source)]}
    weights |= {"target_table.weight": found["dec_emb"][written]}
    weights |= {"output.weight": found["fc_w"][written], "output.bias": found["fc_b"][written]}
    facts = RunFacts(
        params=sum(tensor.size for tensor in weights.values()), step=0, weights="imported", finished=True,
        licence="Apache 2.0, as the package g2p_en by Kyubyong Park and Jongseok Kim", origin=PACKAGE,
    )  # fmt: skip
    write_settings(out, config, tokenizers, facts)
    kept = {name: np.ascontiguousarray(tensor) for name, tensor in weights.items()}
    write_new(out / WEIGHTS, save(kept, metadata={"format": "pt"}))
    return facts


def settings(width: int, tokenizers: Tokenizers) -> Config:
    """The settings of their network; it takes the best phoneme of each step."""
    return load_config(
        overrides=[
            "task.name=pronounce", "text.tokenizer=char", "text.joint=false", "text.target_tokenizer=word",
            f"text.vocab_size={len(tokenizers.source)}", f"text.target_vocab_size={len(tokenizers.target)}",
            "model.kind=rnn", "model.cell=gru_fused", "model.attention=none", "model.bidirectional=false",
            "model.layers=1", f"model.width={width}", f"model.embed_size={width}", "model.embed_scale=false",
            "model.tied=false", "model.dropout=0", "data.max_tokens=100", "decode.beam=1",
        ]
    )  # fmt: skip


def read_arrays(file: Path) -> Arrays:
    """The arrays of the file; numpy refuses pickled ones, as it does unless it is asked otherwise."""
    try:
        check_regular(file, links=True)
        with zipfile.ZipFile(file) as parts:
            if sum(part.file_size for part in parts.infolist()) > MOST_BYTES:
                raise ValueError(f"its arrays are larger than {MOST_BYTES:,} bytes")
        with np.load(file) as stored:
            return {name: stored[name].astype(np.float32) for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelError(f"{file}: cannot be read ({error}). Install {PACKAGE} again.") from None


def check_shapes(found: Arrays, file: Path) -> int:
    """The width of the network; ModelError for arrays of other shapes."""
    width = found["enc_emb"].shape[-1] if "enc_emb" in found and found["enc_emb"].ndim else 0
    wanted: dict[str, tuple[int, ...]] = {"enc_emb": (len(LETTERS), width), "dec_emb": (len(PHONEMES), width)}
    wanted |= {"fc_w": (len(PHONEMES), width), "fc_b": (len(PHONEMES),)}
    for network in NETWORKS:
        wanted |= {f"{network}_{name}": (3 * width, width) for name in ("w_ih", "w_hh")}
        wanted |= {f"{network}_{name}": (3 * width,) for name in ("b_ih", "b_hh")}
    for name, shape in wanted.items():
        if name not in found or found[name].shape != shape or not width:
            got = list(found[name].shape) if name in found else "nothing"
            raise ModelError(f"{file}: {name}: want shape {list(shape)}, got {got}. This reads {PACKAGE} 2.1.0.")
    return width


def letter_rows(tokenizer: Tokenizer) -> list[int]:
    """Their row for each of our tokens. Capitals are read as small letters; what they do not know is <unk>."""
    rows = {PAD: LETTERS.index("<pad>"), EOS: LETTERS.index("</s>")}
    for row, letter in enumerate(LETTERS):
        if len(letter) == 1:
            rows |= {index: row for form in (letter, letter.upper()) for index in tokenizer.encode(form)}
    return [rows.get(index, LETTERS.index("<unk>")) for index in range(len(tokenizer))]


def phoneme_rows(tokenizer: Tokenizer) -> list[int]:
    """Their row for each of our tokens."""
    names = [token.lstrip("▁") for token in tokenizer.tokens()]
    return [PHONEMES.index(name) if name in PHONEMES else PHONEMES.index("<unk>") for name in names]

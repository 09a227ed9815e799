// The tokenizers that Seqloom learns (bpe, unigram, char, word): text -> ids -> text, exactly as in Python.

const WORDS = // seqloom/text/learn.py; \s of that library is the Unicode property, which \s of JavaScript is not
  / ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{M}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
const BLANKS = /^[\p{White_Space}\x1c-\x1f]+$/u; // what Python calls a space
const HALF_A_PAIR = /[\ud800-\udfff]/u;
const BLANK = "▁";

// The letter that byte-level tokenizers write for each byte (GPT-2): printable Latin-1 for itself, then U+0100 on.
function byteLetters() {
  const plain = (byte) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let hidden = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(plain(byte) ? byte : 0x100 + hidden++));
}

const LETTERS = byteLetters();
const BYTES = new Map(LETTERS.map((letter, byte) => [letter, byte]));
const utf8 = new TextEncoder();
const spelled = (text) => Array.from(utf8.encode(text), (byte) => LETTERS[byte]);

// Joins the pair of neighbours that was learned first, again and again.
function joinPairs(letters, ranks) {
  const parts = [...letters];
  for (;;) {
    let best = Infinity;
    let place = -1;
    for (let i = 0; i + 1 < parts.length; i++) {
      const rank = ranks.get(`${parts[i]} ${parts[i + 1]}`);
      if (rank < best) [best, place] = [rank, i];
    }
    if (place < 0) return parts;
    parts.splice(place, 2, parts[place] + parts[place + 1]);
  }
}

// The spelling with the largest sum of scores (Viterbi).
function bestSpelling(letters, scores, longest) {
  const word = letters.join("");
  const best = Array.from({ length: word.length + 1 }, () => ({ score: 0, from: -1 }));
  for (let start = 0; start < word.length; start++)
    for (let end = start + 1; end <= Math.min(word.length, start + longest); end++) {
      const score = scores.get(word.slice(start, end));
      if (score === undefined) continue;
      const total = score + best[start].score;
      if (best[end].from < 0 || total > best[end].score) best[end] = { score: total, from: start };
    }
  const parts = [];
  for (let end = word.length; end > 0; end = best[end].from) parts.unshift(word.slice(best[end].from, end));
  return parts;
}

const SPLITTERS = {
  bpe({ merges }) {
    const ranks = new Map(merges.map((pair, rank) => [pair.join(" "), rank]));
    return (text) => (text.match(WORDS) ?? []).flatMap((word) => joinPairs(spelled(word), ranks));
  },
  unigram({ tokens, scores }) {
    const known = new Map(tokens.map((token, id) => [token, scores[id]]));
    const longest = tokens.reduce((most, token) => Math.max(most, token.length), 1);
    return (text) => (text.match(WORDS) ?? []).flatMap((word) => bestSpelling(spelled(word), known, longest));
  },
  char({ tokens }) {
    const known = new Set(tokens);
    const inBytes = (char) => Array.from(utf8.encode(char), (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    return (text) => Array.from(text).flatMap((char) => (known.has(char) ? [char] : inBytes(char)));
  },
  word() {
    const marked = (word) => (word.startsWith(BLANK) ? word : BLANK + word);
    return (text) => text.split(/\p{White_Space}+/u).filter(Boolean).map(marked);
  },
};

const joined = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));

function joinLetters(tokens) {
  return joined(Array.from(tokens.join(""), (letter) => BYTES.get(letter)));
}

// Bytes that follow each other are one text; bytes that are no UTF-8 become one U+FFFD each.
function joinChars(tokens) {
  let text = "";
  let bytes = [];
  const flush = () => {
    try {
      text += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
    } catch {
      text += "\ufffd".repeat(bytes.length);
    }
    bytes = [];
  };
  for (const token of tokens) {
    const byte = /^<0x([0-9A-F]{2})>$/.exec(token);
    if (byte) bytes.push(parseInt(byte[1], 16));
    else {
      flush();
      text += token;
    }
  }
  flush();
  return text;
}

const JOINERS = {
  bpe: joinLetters,
  unigram: joinLetters,
  char: joinChars,
  word: (tokens) => tokens.map((token) => token.replace(/^▁/, " ")).join("").replace(/^ /, ""),
};

export class Tokenizer {
  // `described`: a tokenizer of the live document; `ids`: the special ids.
  constructor(described, normalise, ids) {
    this.kind = described.kind;
    this.pieces = described.pieces;
    this.tokens = described.tokens;
    this.normalise = normalise;
    this.unknown = ids.unknown;
    this.split = SPLITTERS[this.kind]?.(described);
    this.ids = new Map((this.tokens ?? []).map((token, id) => [token, id]));
  }

  // Whether texts can be encoded here: a tokenizer that came with imported weights cannot be applied in a page.
  get reads() {
    return this.split !== undefined;
  }

  encode(text) {
    if (HALF_A_PAIR.test(text)) throw new Error("half of a surrogate pair is not a character: type the text again");
    if (this.normalise === "nfc") text = text.normalize("NFC");
    if (BLANKS.test(text)) return [];
    return this.split(text).map((token) => this.ids.get(token) ?? this.unknown);
  }

  decode(ids) {
    const written = ids.filter((id) => id > this.unknown);
    if (!this.reads) return written.map((id) => this.pieces[id]).join("").replaceAll(BLANK, " ").trim();
    return JOINERS[this.kind](written.map((id) => this.tokens[id]));
  }
}

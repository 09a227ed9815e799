// The what-ifs of a page as plain data: {text or ids, models: [{prefix, off, attention, gates}, ...]}, one per lane.
// gates: {"decoder.0.gate.update": 0.5} holds a gate at every token, {"decoder.0.gate.update@3": 0.5} at token 3 only.
// A state is never changed: each what-if makes a new one. `History` remembers them for undo.

const NOTHING = { prefix: [], off: [], attention: [], gates: {} };

export const original = (text, models) => ({ text, models: Array.from({ length: models }, () => NOTHING) });

// The state with a change to one model.
export function withModel(state, lane, change) {
  return { ...state, models: state.models.map((model, at) => (at === lane ? { ...model, ...change } : model)) };
}

// Another source text. Words that were forced, attention that was set and gates at one token belong to the old one.
export function withText(state, text) {
  return { ...state, ids: undefined, text, models: state.models.map(({ off, gates }) => ({ ...NOTHING, off, gates: atEveryToken(gates) })) };
}

export function withIds(state, ids) {
  return { ...withText(state, undefined), ids };
}

// The words of a text, each with the blanks before it; joined they are the text.
export const wordsOf = (text) => text.match(/\s*\S+/gu) ?? [];

export function withoutWord(text, place) {
  return wordsOf(text).filter((_, at) => at !== place).join("").trimStart();
}

export function replaceWord(text, place, word) {
  return wordsOf(text).map((one, at) => (at === place ? /^\s*/u.exec(one)[0] + word : one)).join("").trim();
}

// The output up to a step, then this token.
export function force(state, lane, written, step, token) {
  const { attention } = state.models[lane];
  return withModel(state, lane, { prefix: [...written.slice(0, step), token], attention: attention.filter((one) => one.step <= step) });
}

export function switchHead(state, lane, map, head, on) {
  const off = state.models[lane].off.filter((one) => one[0] !== map || one[1] !== head);
  return withModel(state, lane, { off: on ? off : [...off, [map, head]] });
}

export function holdGate(state, lane, name, value) {
  const { [name]: _, ...rest } = state.models[lane].gates;
  return withModel(state, lane, { gates: value === null ? rest : { ...rest, [name]: value } });
}

// A gate at one token, between 0 (closed) and 1 (open).
export function setGate(state, lane, name, position, value) {
  return holdGate(state, lane, `${name}@${position}`, Number(Math.min(1, Math.max(0, value)).toFixed(2)));
}

// The gates of a state as a list: {key, map, position, value}; a position of null is every token. Those at one token
// come last: they are the more special wish.
export function gatesOf(gates) {
  const found = Object.entries(gates).map(([key, value]) => {
    const [map, position] = key.split("@");
    return { key, map, position: position === undefined ? null : Number(position), value };
  });
  return [...found.filter((one) => one.position === null), ...found.filter((one) => one.position !== null)];
}

const atEveryToken = (gates) => Object.fromEntries(Object.entries(gates).filter(([key]) => !key.includes("@")));

// One weight of a row is set; the others keep their proportions, and the row still sums to 1.
export function setWeight(state, lane, { map, head, step, column, wanted, row }) {
  const weight = Math.min(1, Math.max(0, wanted));
  const rest = row.reduce((sum, value, at) => sum + (at === column ? 0 : value), 0);
  const share = (value) => (rest > 0 ? (value / rest) * (1 - weight) : (1 - weight) / Math.max(1, row.length - 1));
  const weights = Array.from(row, (value, at) => Number((at === column ? weight : share(value)).toFixed(4)));
  const others = state.models[lane].attention.filter((one) => one.map !== map || one.head !== head || one.step !== step);
  return withModel(state, lane, { attention: [...others, { map, head, step, weights }] });
}

const MARK = "#what=";

export const toHash = (state) => MARK + encodeURIComponent(JSON.stringify(state));

// The state in a link; null if there is none, or if it does not fit this page. A link may come from a stranger.
export function fromHash(hash, models) {
  if (!hash.startsWith(MARK)) return null;
  try {
    const found = JSON.parse(decodeURIComponent(hash.slice(MARK.length)));
    return fits(found, models) ? found : null;
  } catch {
    return null;
  }
}

const isId = (id) => Number.isInteger(id) && id >= 0;
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isHead = (one) => Array.isArray(one) && typeof one[0] === "string" && isId(one[1]);
const isRow = (one) =>
  typeof one.map === "string" && (one.head === null || isId(one.head)) && isId(one.step) && one.weights.every(isNumber);

function fits({ text, ids, models }, number) {
  const source = typeof text === "string" ? ids === undefined : text === undefined && ids.every(isId);
  return source && models.length === number && models.every(({ prefix, off, attention, gates }) =>
    prefix.every(isId) && off.every(isHead) && attention.every(isRow) && Object.values(gates).every(isNumber) && gatesOf(gates).every((one) => one.position === null || isId(one.position)));
}

export class History {
  constructor(state) {
    this.states = [state];
  }

  get now() { return this.states.at(-1); }
  get changed() { return this.states.length > 1; }

  add(state) {
    if (JSON.stringify(state) !== JSON.stringify(this.now)) this.states.push(state);
  }

  undo() {
    if (this.changed) this.states.pop();
  }
}

// What the reader points at, shared by all views. A view asks `lit` which of its tokens light up, and listens for
// "change". Wishes (a head, a branch, an alternative, a dragged cell) go out as events of their own by `ask`: other views
// follow them, and Studio computes again.

import { writtenOf } from "./reading.js";

export class Selection extends EventTarget {
  constructor(lanes) {
    super();
    this.lanes = lanes;
    this.pointed = null;  // {lane, side, index}
    this.pinned = null;   // stays lit while the pointer is elsewhere
  }

  get now() { return this.pointed ?? this.pinned; }

  point(lane, side, index) {
    const next = side && index >= 0 ? { lane, side, index } : null;
    if (same(next, this.pointed)) return;
    this.pointed = next;
    this.dispatchEvent(new Event("change"));
  }

  pin(lane, side, index) {
    const next = side && index >= 0 ? { lane, side, index } : null;
    this.pinned = same(next, this.pinned) ? null : next;
    this.dispatchEvent(new Event("change"));
    if (next) this.ask("token", next);
  }

  clear() {
    this.pointed = this.pinned = null;
    this.dispatchEvent(new Event("change"));
  }

  // kind: token, head, branch, alternative, drag.
  ask(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  // The tokens of this side of this lane that light up. Other models may cut the same text into other tokens: those that
  // share characters of the source light up, and in the target the same words.
  lit(lane, side) {
    const now = this.now;
    if (now && now.lane === lane && !lane.target && now.side !== side) return answersAt(lane, now, side);
    if (!now || now.side !== side) return new Set();
    if (now.lane === lane) return new Set([now.index]);
    const from = sideOf(now.lane, side), to = sideOf(lane, side), one = from[now.index], found = new Set();
    if (!one) return found;
    const shared = side === "source" && now.lane.source.text === lane.source.text && one.span;
    to.forEach((token, index) => {
      const meets = shared ? token.span && token.span[0] < one.span[1] && one.span[0] < token.span[1] : token.piece === one.piece;
      if (meets) found.add(index);
    });
    return found;
  }
}

// Tags and filled gaps belong to a source token: both light up.
function answersAt(lane, now, side) {
  if (side === "source") return new Set([lane.steps[now.index]?.at].filter((at) => typeof at === "number"));
  return new Set(lane.steps.map((step, index) => (step.at === now.index ? index : -1)).filter((index) => index >= 0));
}

function sideOf(lane, side) {
  return side === "source" ? lane.source.tokens : lane.target?.tokens ?? writtenOf(lane).map((piece) => ({ piece }));
}

function same(one, other) {
  return one === other || (one && other && one.lane === other.lane && one.side === other.side && one.index === other.index);
}

// Colours: one scale for sizes, one for numbers with a sign, a row of colours for lines. They follow light and dark.

const STEPS = 64;

// Stops of a scale as the style sheet has them (--heat-0 ... --heat-3, --cold-0 ...).
function stops(name) {
  const style = getComputedStyle(document.documentElement);
  return [0, 1, 2, 3].map((at) => {
    const text = style.getPropertyValue(`--${name}-${at}`).trim();
    return [1, 3, 5].map((place) => parseInt(text.slice(place, place + 2), 16));
  });
}

function ramp(name) {
  const colours = stops(name);
  return Array.from({ length: STEPS + 1 }, (_, i) => {
    const place = i / STEPS * (colours.length - 1), below = Math.min(Math.floor(place), colours.length - 2);
    return colours[below].map((value, channel) => Math.round(value + (colours[below + 1][channel] - value) * (place - below)));
  });
}

// A function from a share (-1 to 1; below 0 is the cold side) to [red, green, blue].
export function scale() {
  const hot = ramp("heat"), cold = ramp("cold");
  return (share) => {
    if (Number.isNaN(share)) return hot[0];
    return (share < 0 ? cold : hot)[Math.round(Math.min(1, Math.abs(share)) * STEPS)];
  };
}

// Shares of a range. log: 0 at low and 1 at high on a logarithmic scale; signed: -1 to 1 around 0.
export function linear(low, high) {
  return (value) => high > low ? (value - low) / (high - low) : 0;
}

export function logarithmic(low, high) {
  const from = Math.log10(low), to = Math.log10(high);
  return (value) => value > 0 && to > from ? Math.max(0, (Math.log10(value) - from) / (to - from)) : 0;
}

export function signed(size) {
  return (value) => size > 0 ? value / size : 0;
}

export const line = (number) => `var(--line-${number % 6})`;

const painted = new Set();  // weak: a picture that left the page is forgotten
let listening = false;

// Calls `owner.paint()` when the reader changes between light and dark.
export function onTheme(owner) {
  if (!listening) {
    listening = true;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAll);
    new MutationObserver(paintAll).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }
  painted.add(new WeakRef(owner));
}

function paintAll() {
  for (const one of painted) {
    const owner = one.deref();
    if (owner) owner.paint();
    else painted.delete(one);
  }
}

// Words on the page, and which of them belong together. Text enters the page by textContent only.

// Each word in its own <bdi>, so that Arabic beside English keeps its order; what stands between them stays as it is.
export function showWords(place, text, words, attribute) {
  const found = [];
  const nodes = [];
  let end = 0;
  for (const word of words) {
    const start = text.indexOf(word, end);
    if (start < 0) break;
    nodes.push(document.createTextNode(text.slice(end, start)));
    const node = document.createElement("bdi");
    node.textContent = word;
    node.dataset[attribute] = found.length;
    nodes.push(node);
    found.push({ node, start, end: start + word.length });
    end = start + word.length;
  }
  nodes.push(document.createTextNode(text.slice(end)));
  place.replaceChildren(...nodes);
  place.dir = direction(text);
  return found;
}

// What dir="auto" would find; it does not look into <bdi>.
function direction(text) {
  const first = text.match(/\p{L}/u)?.[0];
  if (!first) return "auto";
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first) ? "rtl" : "ltr";
}

// links: pairs of (source word, target word). mark(target word) or markSource(source word) shows both sides.
export class Links {
  constructor(source, target, links) {
    this.source = source;
    this.target = target;
    this.links = links;
  }

  mark(word) {
    this.show([word], this.links.filter((link) => link[1] === word).map((link) => link[0]));
    return this.links.filter((link) => link[1] === word).map((link) => this.source[link[0]]?.node.textContent);
  }

  markSource(word) {
    this.show(this.links.filter((link) => link[0] === word).map((link) => link[1]), [word]);
  }

  show(targets, sources) {
    this.target.forEach((each, place) => each.node.classList.toggle("marked", targets.includes(place)));
    this.source.forEach((each, place) => each.node.classList.toggle("marked", sources.includes(place)));
  }

  clear() { this.show([], []); }
}

export const NO_LINKS = new Links([], [], []);

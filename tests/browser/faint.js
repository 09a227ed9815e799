// The texts inside a place that are fainter than 4.5 to 1, as WCAG measures it: [tag, class, text, ratio].
(place) => {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const rgb = (text) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, at) => sum + weight * linear(colour[at] / 255), 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255];
  };
  const ratio = (node) => {
    const [more, less] = [rgb(getComputedStyle(node).color), behind(node)].map(light).sort((a, b) => b - a);
    return (more + 0.05) / (less + 0.05);
  };
  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
  return [...document.querySelectorAll(`${place} *`)].filter((node) => node.checkVisibility() && !node.disabled && hasText(node))
    .map((node) => [node.tagName, node.className, node.textContent.slice(0, 30), ratio(node)]).filter((found) => found[3] < 4.5);
}

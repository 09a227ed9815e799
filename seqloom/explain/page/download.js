// Downloads: the document as JSON, a view as PNG. Both are made in the page; nothing is sent anywhere.

function save(name, address) {
  const link = document.createElement("a");
  link.download = name;
  link.href = address;
  link.click();
}

export function saveJson(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  save(name, address);
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// The view as it is on the page, but whole: what scrolls on the page is unrolled in the picture.
export async function savePng(name, section) {
  const picture = await paint(section);
  save(name, picture.toDataURL("image/png"));
}

// The rules of this page, whether its style sheets are inside the file or beside it on a server.
function styles() {
  return [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText).join("\n");
}

// A copy of the view is drawn as an image by way of SVG, which takes HTML, the style sheet and pictures of the canvases.
async function paint(section) {
  const stage = document.createElement("div");
  stage.className = "stage";
  stage.append(copyOf(section));
  document.body.append(stage);
  const width = Math.ceil(Math.max(stage.scrollWidth, 480)), height = Math.ceil(stage.scrollHeight);
  const root = document.createElement("html"), body = document.createElement("body"), style = document.createElement("style");
  root.dataset.theme = themeNow();
  style.textContent = styles();
  stage.className = "stage drawn";  // measured outside the window, drawn in its place
  body.append(style, stage);
  root.append(body);
  const html = new XMLSerializer().serializeToString(root);
  stage.remove();
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><foreignObject width="100%" height="100%">${html}</foreignObject></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const sharp = width * height < 4e6 ? 2 : 1;
  const canvas = Object.assign(document.createElement("canvas"), { width: width * sharp, height: height * sharp });
  const pen = canvas.getContext("2d");
  pen.scale(sharp, sharp);
  pen.drawImage(image, 0, 0);
  return canvas;
}

function copyOf(section) {
  const copy = section.cloneNode(true);
  const canvases = section.querySelectorAll("canvas");
  copy.querySelectorAll("canvas").forEach((canvas, at) => {
    const image = document.createElement("img");
    image.src = canvases[at].toDataURL("image/png");
    image.className = canvas.className;
    image.style.cssText = canvases[at].style.cssText;
    canvas.replaceWith(image);
  });
  const values = section.querySelectorAll("select");
  copy.querySelectorAll("select").forEach((list, at) => [...list.options].forEach((option, number) => option.toggleAttribute("selected", number === values[at].selectedIndex)));
  for (const part of copy.querySelectorAll("details.numbers, .readout, .save")) part.remove();
  return copy;
}

export function themeNow() {
  return document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

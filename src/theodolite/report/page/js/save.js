// Saves a figure as it stands on the page, in light colours: text, backgrounds, rules and drawings become one SVG, or a PNG of it.
const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-size", "font-weight", "font-family", "text-anchor", "vector-effect", "image-rendering", "paint-order"];
const ROOM = 20;
const PIXELS = 3; // of a PNG, for each pixel of the page
const pen = document.createElement("canvas").getContext("2d");

function drawingOf(original) {
  const copy = original.cloneNode(true);
  const sources = [original, ...original.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(sources[i]);
    for (const name of KEPT) { const value = style.getPropertyValue(name); if (value) element.setAttribute(name, value.replaceAll('"', "'")); }
    for (const name of ["class", "role", "aria-label", "aria-hidden"]) element.removeAttribute(name);
  });
  return copy;
}

// The lines of a text node as they are broken on the page.
function linesOf(node) {
  const range = document.createRange();
  const lines = [];
  for (const word of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].trimEnd().length);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    const last = lines[lines.length - 1];
    if (last && Math.abs(last.box.top - box.top) < 2) { last.words.push(word[0].trim()); last.right = box.right; }
    else lines.push({ box, words: [word[0].trim()], right: box.right });
  }
  return lines;
}

function parts(element, home, found) {
  const style = getComputedStyle(element);
  if (element.matches(".no-save, .visually-hidden") || style.display === "none" || style.visibility === "hidden") return;
  const box = element.getBoundingClientRect();
  const at = { x: box.left - home.left, y: box.top - home.top };
  if (element.tagName.toLowerCase() === "svg") {
    const drawing = drawingOf(element);
    for (const [name, value] of Object.entries({ ...at, width: box.width, height: box.height })) drawing.setAttribute(name, value);
    drawing.setAttribute("overflow", style.overflow);
    found.push(drawing);
    return;
  }
  if (!/^rgba\(.*, 0\)$|^transparent$/.test(style.backgroundColor)) {
    found.push(svg("rect", { ...at, width: box.width, height: box.height, rx: Math.min(parseFloat(style.borderRadius) || 0, box.height / 2), fill: style.backgroundColor }));
  }
  if (parseFloat(style.borderBottomWidth) && !parseFloat(style.borderTopWidth)) {
    const y = at.y + box.height;
    found.push(svg("line", { x1: at.x, x2: at.x + box.width, y1: y, y2: y, stroke: style.borderBottomColor, "stroke-width": style.borderBottomWidth }));
  }
  for (const node of element.childNodes) {
    if (node.nodeType === Node.ELEMENT_NODE) parts(node, home, found);
    if (node.nodeType !== Node.TEXT_NODE) continue;
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const size = pen.measureText("x");
    for (const line of linesOf(node)) {
      const y = line.box.top - home.top + (line.box.height + size.fontBoundingBoxAscent - size.fontBoundingBoxDescent) / 2;
      found.push(svg("text", {
        x: line.box.left - home.left, y, fill: style.color, "font-size": style.fontSize, "font-weight": style.fontWeight,
        "font-family": style.fontFamily.replaceAll('"', "'"), textLength: line.right - line.box.left,
      }, line.words.join(" ")));
    }
  }
}

function figureText(figure) {
  const root = document.documentElement;
  const theme = root.dataset.theme;
  const buttons = figure.querySelector(".save");
  root.dataset.theme = "light";
  buttons.hidden = true;
  const box = figure.getBoundingClientRect();
  const home = { left: box.left - ROOM, top: box.top - ROOM };
  const found = [];
  parts(figure, home, found);
  buttons.hidden = false;
  if (theme === undefined) delete root.dataset.theme; else root.dataset.theme = theme;
  const [width, height] = [box.width + 2 * ROOM, box.height + 2 * ROOM].map(Math.ceil);
  const whole = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, svg("rect", { width, height, fill: "#fff" }), found);
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function save(figure, kind) {
  const name = `${figure.dataset.name.replace(/[^0-9A-Za-z.-]+/g, "-").replace(/^-|-$/g, "")}.${kind}`;
  const { text, width, height } = figureText(figure);
  if (kind === "svg") { download(new Blob([text], { type: "image/svg+xml" }), name); return; }
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = make("canvas", { width: PIXELS * width, height: PIXELS * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => download(blob, name), "image/png");
}

for (const figure of document.querySelectorAll(".savable")) {
  figure.prepend(make("p", { class: "save no-print no-save" }, ["svg", "png"].map((kind) => {
    const button = make("button", { class: "button", type: "button", "aria-label": `Save this figure as ${kind.toUpperCase()}: ${figure.dataset.name}` }, kind.toUpperCase());
    button.addEventListener("click", () => save(figure, kind));
    return button;
  })));
}

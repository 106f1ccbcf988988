// All elements are created here. Text is inserted as text only, never as mark-up.
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "onclick" || name === "onchange") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// Data of the page: JSON, or JSON that was compressed with gzip and written in base64 (which starts with H4sI).
async function read(id) {
  const text = document.getElementById(id)?.textContent;
  if (!text?.startsWith("H4sI")) return text ? JSON.parse(text) : null;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

// Pictures come only from the folder of the report, from the page itself, or from its server.
const SAFE_NAME = /^[0-9A-Za-z_-]{1,96}(\.(png|jpg|jpeg|gif|webp))?$/;
const SAFE_DATA = /^data:image\/(png|jpeg|gif|webp);base64,[0-9A-Za-z+/=]+$/;
function pictureSource(name, source) {
  const inside = source.inside && Object.hasOwn(source.inside, name) ? source.inside[name] : null;
  if (inside !== null) return SAFE_DATA.test(inside) ? inside : "";
  return SAFE_NAME.test(name) ? source.pictures + name : "";
}

const digits = (value) => {
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(1) : size >= 1 ? value.toFixed(2) : value.toFixed(3);
};

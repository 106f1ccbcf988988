// Pictures with overlays: boxes, compass, heat maps, cells.
const kept = { method: "", layers: { boxes: true, compass: true, heat: false } }; // the selection is kept from item to item

// Directions in degrees, counter-clockwise from the right.
const WORDS_DEG = {
  right: 0, "upper right": 45, "above right": 45, "above-right": 45, "right above": 45, above: 90, up: 90, "upper left": 135,
  "above left": 135, "above-left": 135, left: 180, "lower left": 225, "below left": 225, "below-left": 225, below: 270,
  down: 270, "lower right": 315, "below right": 315, "below-right": 315,
};

function sectorAngles(sectors) {
  const names = Object.keys(sectors);
  const known = names.map((name) => {
    const number = Number.parseFloat(name);
    return name in WORDS_DEG ? WORDS_DEG[name] : Number.isFinite(number) ? number : null;
  });
  return known.every((angle) => angle !== null) ? known : names.map((_, i) => (360 * i) / names.length);
}

const centre = ([x0, y0, x1, y1]) => [(x0 + x1) / 2, (y0 + y1) / 2];
const polar = ([x, y], radius, degrees) => [x + radius * Math.cos((degrees * Math.PI) / 180), y - radius * Math.sin((degrees * Math.PI) / 180)];
const at = (points) => points.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L");

function stage(width, height, words, ...children) {
  const inside = svg("svg", { width, height }, ...children); // clips at the edge of the picture
  const edge = svg("rect", { width, height, class: "o-edge" });
  return make("div", { class: "stage" }, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, inside, edge));
}

function picture(source, width, height) {
  return source
    ? svg("image", { href: source, x: 0, y: 0, width, height, preserveAspectRatio: "none", class: Math.max(width, height) < 240 ? "is-tiny" : null })
    : svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "a-text", "font-size": height / 16 }, "no picture");
}

function boxShape([x0, y0, x1, y1], kind, extra = {}) {
  const place = { x: x0, y: y0, width: Math.max(x1 - x0, 0), height: Math.max(y1 - y0, 0) };
  return [svg("rect", { ...place, class: "o-rim" }), svg("rect", { ...place, class: `o-box o-${kind}`, ...extra })];
}

function heat(map) {
  const [x0, y0, x1, y1] = map.place_px;
  const rows = map.values.length;
  const columns = rows ? map.values[0].length : 0;
  const [w, h] = [(x1 - x0) / columns, (y1 - y0) / rows];
  const cells = [];
  map.values.forEach((line, r) => line.forEach((value, c) => {
    if (Math.abs(value) < 0.02) return;
    cells.push(svg("rect", {
      x: x0 + c * w, y: y0 + r * h, width: w, height: h, class: value > 0 ? "o-heat" : "o-heat-minus",
      "fill-opacity": (0.78 * Math.min(Math.abs(value), 1)).toFixed(3),
    }));
  }));
  return svg("g", { "shape-rendering": "crispEdges" }, cells);
}

function wedges(view, sectors) {
  const [width, height] = view.size_px;
  const middle = centre(view.reference_px);
  const angles = sectorAngles(sectors);
  const shares = Object.values(sectors);
  const largest = Math.max(...shares, 1e-9);
  const reach = 0.42 * Math.min(width, height);
  const half = 180 / shares.length;
  const parts = [svg("circle", { cx: middle[0], cy: middle[1], r: (reach / shares.length) / largest, class: "o-ring" })];
  shares.forEach((share, i) => {
    const r = (reach * share) / largest;
    if (r < 0.5) return;
    const [a, b] = [polar(middle, r, angles[i] - half), polar(middle, r, angles[i] + half)];
    parts.push(svg("path", {
      class: "o-wedge", "fill-opacity": (0.35 + 0.55 * (share / largest)).toFixed(3),
      d: `M${at([middle, a])}A${r.toFixed(2)} ${r.toFixed(2)} 0 0 0 ${at([b])}Z`,
    }));
  });
  const peak = angles[shares.indexOf(Math.max(...shares))];
  const [tx, ty] = centre(view.target_px);
  const truth = (Math.atan2(middle[1] - ty, tx - middle[0]) * 180) / Math.PI;
  return [svg("g", {}, parts), arrow(middle, reach * 1.04, truth, "true"), arrow(middle, reach * 1.04, peak, "peak")];
}

function arrow(from, length, degrees, kind) {
  const tip = polar(from, length, degrees);
  const head = [polar(tip, length * 0.13, degrees + 152), tip, polar(tip, length * 0.13, degrees - 152)];
  const d = `M${at([from, tip])}M${at(head)}`;
  return svg("g", {}, svg("path", { class: "o-arrow-rim", d }), svg("path", { class: `o-arrow o-${kind}`, d }));
}

function label([x0, y0], text, kind, size) {
  const height = size / 36;
  const y = y0 - height * 0.35 < height ? y0 + height : y0 - height * 0.35;
  const words = `${text}`;
  const width = words.length * height * 0.67 + height * 0.6;
  return svg("g", {},
    svg("rect", { x: x0, y: y - height * 0.95, width, height: height * 1.25, class: `o-name-${kind}` }),
    svg("text", { x: x0 + height * 0.3, y, "font-size": height, class: "o-name" }, words));
}

const legend = (...entries) =>
  make("ul", { class: "legend" }, entries.map(([kind, words]) => make("li", {}, make("i", { class: `l-${kind}` }), words)));

const heatLegend = (map) => [["heat", "relevance"], ...(map.values.flat().some((value) => value < -0.02) ? [["minus", "negative relevance"]] : [])];

function compassDetail(item, source) {
  const view = item.overlay;
  const [width, height] = view.size_px;
  const methods = [...new Set([...Object.keys(view.sectors || {}), ...(view.maps || []).map((map) => map.name)])];
  const host = make("div");
  const draw = () => {
    if (!methods.includes(kept.method)) kept.method = methods[0] || "";
    const sectors = (view.sectors || {})[kept.method];
    const map = (view.maps || []).find((one) => one.name === kept.method);
    const { layers } = kept;
    const parts = [picture(pictureOf(item, source, 0), width, height)];
    if (layers.heat && map) parts.push(heat(map));
    if (layers.compass && sectors) parts.push(svg("rect", { width, height, class: "o-veil" }), ...wedges(view, sectors));
    if (layers.boxes) {
      const size = Math.max(width, height);
      parts.push(...boxShape(view.reference_px, "reference"), ...boxShape(view.target_px, "target"),
        label(view.reference_px, `A ${view.reference}`, "reference", size), label(view.target_px, `B ${view.target}`, "target", size));
    }
    const words = sectors ? `Picture with the compass of ${kept.method}: ${Object.entries(sectors).map(([name, share]) => `${name} ${digits(share)}`).join(", ")}` : "Picture";
    const button = (name, text, usable = true) => usable && make("button", {
      class: "button", type: "button", "aria-pressed": layers[name] ? "true" : "false",
      onclick: () => { layers[name] = !layers[name]; draw(); host.querySelector(`[data-layer=${name}]`).focus(); }, "data-layer": name,
    }, text);
    const select = methods.length ? make("select", {
      "aria-label": "Method", onchange: (event) => { kept.method = event.target.value; draw(); host.querySelector("select").focus(); },
    }, methods.map((name) => make("option", { value: name, selected: name === kept.method }, name))) : null;
    host.replaceChildren(
      stage(width, height, words, parts),
      make("div", { class: "tools" }, select, button("boxes", "Boxes"), button("compass", "Compass", Boolean(sectors)) || "", button("heat", "Heat map", Boolean(map)) || ""),
      legend(["reference", "A, the reference"], ["target", "B, the target"], ...(sectors && layers.compass ? [["true", "true direction"], ["peak", "where relevance points"]] : []),
        ...(layers.heat && map ? heatLegend(map) : [])),
    );
  };
  draw();
  return host;
}

function gridDetail(item, source) {
  const view = item.cells;
  const [width, height] = pictureSize(item, 0, [320, 320]);
  const maps = view.maps || [];
  const names = [...new Set([...maps.map((map) => map.name), ...Object.keys(view.word_masses || {})])];
  const host = make("div");
  const [w, h] = [width / view.columns, height / view.rows];
  const draw = () => {
    if (!names.includes(kept.method)) kept.method = names[0] || "";
    const map = maps.find((one) => one.name === kept.method);
    const parts = [picture(pictureOf(item, source, 0), width, height)];
    if (map) parts.push(heat(map));
    for (const cell of view.cells) {
      const kind = /^target/.test(cell.role) ? "target" : /^anchor/.test(cell.role) ? "anchor" : /distractor|adversarial/.test(cell.role) ? "distractor" : "other";
      const inset = Math.min(w, h) * 0.06;
      const box = [cell.column * w + inset, cell.row * h + inset, (cell.column + 1) * w - inset, (cell.row + 1) * h - inset];
      const shapes = boxShape(box, kind);
      shapes[1].append(svg("title", {}, `${cell.name}: ${cell.role}`));
      parts.push(...shapes);
    }
    const masses = (view.word_masses || {})[kept.method];
    const most = masses ? Math.max(...masses, 1e-9) : 1;
    const words = (view.words || []).map((word, i) => make("span", { class: "word", title: masses ? digits(masses[i]) : null }, word,
      masses ? svg("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: "o-heat", width: (100 * masses[i]) / most, height: 1 })) : null));
    const select = names.length ? make("div", { class: "tools" }, make("select", {
      "aria-label": "Explainer", onchange: (event) => { kept.method = event.target.value; draw(); host.querySelector("select").focus(); },
    }, names.map((name) => make("option", { value: name, selected: name === kept.method }, name)))) : null;
    host.replaceChildren(
      stage(width, height, `Grid of ${view.rows} by ${view.columns}: ${view.cells.map((cell) => `${cell.name} (${cell.role})`).join(", ")}`, parts),
      ...[select, words.length ? make("div", { class: "words" }, words) : null].filter(Boolean),
      legend(["target", "target"], ["reference", "anchor"], ["distractor", "distractor"], ...(map ? heatLegend(map) : [])),
    );
  };
  draw();
  return host;
}

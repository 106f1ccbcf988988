// A scene from above, with the camera at the bottom: true positions, and those given by the model.
function sceneDetail(item, source) {
  const view = item.plan;
  const said = view.said || [];
  const host = make("div");
  const pair = make("div", { class: "pair" });
  if (item.pictures && item.pictures.length) {
    const [width, height] = pictureSize(item, 0, [640, 480]);
    pair.append(make("div", {}, make("h4", {}, "As shown"), stage(width, height, "Picture as shown to the model", picture(pictureOf(item, source, 0), width, height))));
  }
  if (view.true.length || said.length) pair.append(make("div", {}, make("h4", {}, "From above"), mapFromAbove(view.true, said)));
  host.append(pair);
  if (view.said_problem) host.append(make("p", { class: "small quiet" }, `No map of the model's graph: ${view.said_problem}.`));
  if (view.said_text) {
    host.append(make("details", {}, make("summary", {}, "Graph as given by the model"),
      make("pre", { tabindex: 0, "aria-label": "Graph as given by the model" }, view.said_text)));
  }
  return host;
}

function mapFromAbove(truth, said) {
  const far = (thing) => Math.hypot(thing.x_m, thing.z_m);
  const reach = truth.length ? Math.max(...truth.map(far)) : Math.max(...said.map(far));
  const near = said.filter((thing) => far(thing) < 2 * reach); // so that one absurd distance does not shrink everything else
  const lost = said.length - near.length;
  const all = [...truth, ...near];
  const size = Math.max(...all.map((thing) => Math.max(thing.width_m, thing.depth_m)), 0.2);
  const depth = 1.08 * Math.max(...all.map((thing) => thing.z_m), 0.5) + size / 2;
  const side = Math.max(1.08 * Math.max(...all.map((thing) => Math.abs(thing.x_m)), 0.5) + size / 2, 0.5 * depth);
  const below = 0.07 * depth;
  const text = depth / 19;
  const parts = [];
  const step = [0.5, 1, 2, 5, 10, 20, 50, 100, 1e9].find((one) => depth / one <= 6);
  for (let ring = step; ring < depth; ring += step) {
    parts.push(svg("path", { class: "a-ring", d: `M${-ring} 0A${ring} ${ring} 0 0 1 ${ring} 0` }),
      svg("text", { class: "a-text", x: text * 0.3, y: -ring - text * 0.25, "font-size": text * 0.8 }, `${digits(ring)} m`));
  }
  parts.push(svg("path", { class: "a-camera", d: `M0 ${-text * 0.9}L${text * 0.7} ${text * 0.4}L${-text * 0.7} ${text * 0.4}Z` }));
  const places = new Map(truth.map((thing) => [thing.mark, thing]));
  for (const thing of near) {
    const true_one = places.get(thing.mark);
    if (true_one) parts.push(svg("line", { class: "a-link", x1: true_one.x_m, y1: -true_one.z_m, x2: thing.x_m, y2: -thing.z_m }));
  }
  const draw = (thing, kind) => {
    const name = `${thing.mark}${thing.category ? ` ${thing.category}` : ""}: ${digits(thing.x_m)} m to the right, ${digits(thing.z_m)} m ahead`;
    parts.push(svg("rect", {
      class: `a-${kind}`, x: -thing.width_m / 2, y: -thing.depth_m / 2, width: thing.width_m, height: thing.depth_m, rx: Math.min(thing.width_m, thing.depth_m) / 8,
      transform: `translate(${thing.x_m} ${-thing.z_m}) rotate(${-(thing.turn_deg || 0)})`,
    }, svg("title", {}, `${kind === "said" ? "said" : "true"} ${name}`)));
    parts.push(svg("text", {
      class: "a-mark", x: thing.x_m, y: -thing.z_m + text * 0.36, "text-anchor": "middle", "font-size": text, "stroke-width": text * 0.22,
    }, String(thing.mark)));
  };
  truth.forEach((thing) => draw(thing, "true"));
  near.forEach((thing) => draw(thing, "said"));
  const box = `${-side} ${-depth} ${2 * side} ${depth + below}`;
  return make("div", {},
    make("div", { class: "stage" }, svg("svg", { viewBox: box, role: "img", "aria-label": `Map from above: ${truth.length} objects, ${said.length} placed by the model` }, parts)),
    legend(["a-true", "true position"], ...(said.length ? [["a-said", "position given by the model"]] : [])),
    lost ? make("p", { class: "small quiet" }, `${lost} more lie beyond twice the largest true distance and are not drawn.`) : null);
}

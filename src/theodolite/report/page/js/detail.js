// The details of one item.
const pictureOf = (item, source, i) => (item.pictures && item.pictures[i] ? pictureSource(item.pictures[i][0], source) : "");
const pictureSize = (item, i, otherwise) => (item.pictures && item.pictures[i] && item.pictures[i][1] ? [item.pictures[i][1], item.pictures[i][2]] : otherwise);
const VIEWS = { overlay: compassDetail, cells: gridDetail, plan: sceneDetail, steps: traceDetail };

function showItem(row, item, source, turn) {
  const words = [row[INSTRUMENT], source.short[row[MODEL]], row[SPLIT], row[CONDITION] !== "plain" ? row[CONDITION] : "", row[KIND]];
  const close = make("button", { class: "button only-narrow", type: "button", onclick: turn.close }, "Back");
  const kind = Object.keys(VIEWS).find((name) => item[name]);
  const body = kind ? VIEWS[kind](item, source) : plainPictures(item, source);
  const said = item.answer || row[ANSWER] || "–";
  const isLong = kind === "steps" && said.length > 80; // its steps are shown below
  const answer = [["Answer", isLong
    ? make("details", {}, make("summary", {}, row[READ_AS] || "as given"), make("span", { class: "said" }, said))
    : make("span", { class: "said" }, said)]];
  if (!isLong && row[READ_AS] && row[READ_AS] !== row[ANSWER].trim()) answer.push(["Read as", row[READ_AS]]);
  if (row[GOLD]) answer.push(["Gold", row[GOLD]]);
  answer.push(["Outcome", row[CORRECT] === 1 ? "right" : row[CORRECT] === 0 ? "wrong" : row[STATUS] === "answered" ? "not scored" : row[STATUS]]);
  if (item.reason) answer.push(["Reason", item.reason]);
  return [
    make("div", { class: "item-head" },
      make("span", { class: "small quiet" }, words.filter(Boolean).join(" · ")),
      make("span", { class: "item-turn" }, close,
        make("button", { class: "button", type: "button", "aria-label": "Previous item", onclick: turn.previous }, "↑"),
        make("button", { class: "button", type: "button", "aria-label": "Next item", onclick: turn.next }, "↓"))),
    make("h3", { class: `item-q${row[QUESTION].length > 220 ? " is-long" : ""}`, tabindex: row[QUESTION].length > 220 ? 0 : null }, row[QUESTION]),
    make("dl", { class: "item-a" }, answer.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)])),
    body,
    item.prompt ? make("details", {}, make("summary", {}, "Full prompt"), make("pre", { class: "said", tabindex: 0, "aria-label": "Full prompt" }, item.prompt)) : null,
    readingTable(row, source),
    make("p", { class: "small quiet mono" }, row[ID], item.cluster ? ` · cluster ${item.cluster}` : ""),
  ];
}

function plainPictures(item, source) {
  const pictures = item.pictures || [];
  if (!pictures.length) return make("p", { class: "small quiet" }, item.picture_note || "This item has no picture.");
  return make("div", {}, pictures.map((_, i) => {
    const [width, height] = pictureSize(item, i, [640, 480]);
    return stage(width, height, `Picture ${i + 1}`, picture(pictureOf(item, source, i), width, height));
  }));
}

const FIRST_READINGS = 10;

function readingTable(row, source) {
  const values = row[VALUES];
  if (!values.length) return null;
  const lines = [];
  for (let i = 0; i < values.length; i += 2) {
    const metric = source.metrics[values[i]];
    lines.push(make("tr", {}, make("th", { scope: "row" }, make("a", { href: `#${metric.anchor}` }, metric.name)), make("td", { class: "right" }, digits(values[i + 1]))));
  }
  const table = (some) => make("table", { class: "readings" }, make("tbody", {}, some));
  const cut = lines.length > FIRST_READINGS + 3 ? FIRST_READINGS : lines.length;
  return make("div", {}, make("h4", {}, "Scores of this item"), table(lines.slice(0, cut)),
    cut < lines.length ? make("details", {}, make("summary", {}, `${lines.length - cut} more`), table(lines.slice(cut))) : null);
}

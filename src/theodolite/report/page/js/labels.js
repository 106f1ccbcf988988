
// The page for labelling: the pictures, the sentence and the claims of one step after the other.
read("labels").then((task) => {
  if (!task) return;
  const place = `theodolite labels ${task.key}`;
  let given = {};
  try { given = JSON.parse(localStorage.getItem(place)) || {}; } catch { /* without storage, labels last as long as the page */ }
  const status = document.getElementById("labelled");
  const tell = () => { status.textContent = `${Object.keys(given).length} of ${task.rows.length} claims are labelled.`; };
  const choose = (id, label) => {
    given[id] = label;
    try { localStorage.setItem(place, JSON.stringify(given)); } catch { /* as above */ }
    tell();
  };
  const choice = (row, label) =>
    make("label", {}, make("input", { type: "radio", name: row.id, value: label, checked: given[row.id] === label, onchange: () => choose(row.id, label) }), ` ${label}`);
  const claim = (row) =>
    make("fieldset", {}, make("legend", {}, row.claim), ["supported", "unsupported", "unverifiable"].map((label) => choice(row, label)));
  document.getElementById("steps").append(...task.steps.map((step) => make("section", { class: "label-step" },
    make("p", {}, step.pictures.map((name, i) => make("img", { src: pictureSource(name, task), alt: `frame ${step.frames[i]}` }))),
    make("p", { class: "quiet" }, `${step.frames.length > 1 ? "frames" : "frame"} ${step.frames.join(", ")}`), make("blockquote", {}, step.sentence),
    task.rows.slice(step.first, step.last).map(claim))));
  document.getElementById("save-labels").addEventListener("click", () => {
    const lines = task.rows.map((row) => `${JSON.stringify({ ...row, label: given[row.id] || "" })}\n`);
    download(new Blob(lines, { type: "application/jsonl" }), task.name);
  });
  tell();
});

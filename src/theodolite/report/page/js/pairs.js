// The pairs: two pictures, both answers, what became of them. Filters, and a few cards at a time.
const CARDS = 12;
const [PAIR_MODEL, PAIR_PICTURES, PAIR_EDIT, PAIR_RELATION, PAIR_OUTCOME, PAIR_BEFORE, PAIR_AFTER] = Array.from({ length: 7 }, (_, i) => i);
const PAIR_FILTERS = { model: PAIR_MODEL, pictures: PAIR_PICTURES, edit: PAIR_EDIT, relation: PAIR_RELATION, outcome: PAIR_OUTCOME };

class PairList {
  constructor(pairs, source) {
    Object.assign(this, { pairs: pairs.rows, words: pairs.outcomes, source, count: CARDS });
    this.form = document.getElementById("pair-filters");
    this.cards = document.getElementById("pair-cards");
    this.more = document.getElementById("pair-more");
    this.form.addEventListener("input", () => this.filter());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("reset", () => setTimeout(() => this.filter()));
    this.more.addEventListener("click", () => { this.count += CARDS; this.draw(); });
    for (const [name, column] of Object.entries(PAIR_FILTERS)) {
      const select = this.form.elements[`pair-${name}`];
      const values = [...new Set(this.pairs.map((pair) => pair[column]))].filter((value) => value !== "");
      if (name !== "model" && name !== "outcome") values.sort();
      select.replaceChildren(make("option", { value: "" }, "all"), ...values.map((value) => make("option", { value }, this.told(name, value))));
      select.parentElement.hidden = values.length < 2;
    }
    this.follow();
    addEventListener("hashchange", () => this.follow());
  }

  told(name, value) {
    return name === "model" ? this.source.short[value] : name === "outcome" ? this.words[value] ?? value : value;
  }

  // A link #pairs?outcome=followed&model=… sets the filters.
  follow() {
    if (!location.hash.startsWith("#pairs?")) { if (!this.shown) this.filter(); return; }
    const wanted = new URLSearchParams(location.hash.slice("#pairs?".length));
    for (const name of Object.keys(PAIR_FILTERS)) {
      const value = wanted.get(name) ?? "";
      const given = name === "model" && value ? String(this.source.models.indexOf(value)) : value;
      const select = this.form.elements[`pair-${name}`];
      if (given && ![...select.options].some((option) => option.value === given)) select.append(make("option", { value: given }, this.told(name, given)));
      select.value = given;
    }
    this.filter();
    document.getElementById("through").scrollIntoView();
  }

  filter() {
    const wanted = Object.entries(PAIR_FILTERS)
      .map(([name, column]) => [column, this.form.elements[`pair-${name}`].value])
      .filter(([, value]) => value !== "");
    this.shown = this.pairs.filter((pair) => wanted.every(([column, value]) => String(pair[column]) === value));
    this.count = CARDS;
    this.draw();
  }

  draw() {
    const { shown, pairs, count } = this;
    document.getElementById("pairs-found").textContent =
      shown.length === pairs.length ? `${pairs.length} pairs` : `${shown.length} of ${pairs.length} pairs`;
    this.cards.replaceChildren(...shown.slice(0, count).map((pair) => this.card(pair)));
    this.more.hidden = shown.length <= count;
  }

  card(pair) {
    const { rows, short } = this.source;
    const [before, after] = [rows[pair[PAIR_BEFORE]], rows[pair[PAIR_AFTER]]];
    const isEdit = pair[PAIR_EDIT] !== "another picture";
    const names = isEdit ? ["before", `after: ${pair[PAIR_EDIT]}`] : ["one picture", "another picture"];
    return make("li", { class: `exhibit is-${pair[PAIR_OUTCOME]}` },
      make("p", { class: "exhibit-head" }, make("span", { class: "outcome" }, this.told("outcome", pair[PAIR_OUTCOME])),
        make("span", { class: "quiet" }, ` ${[short[pair[PAIR_MODEL]], pair[PAIR_PICTURES], pair[PAIR_RELATION]].filter(Boolean).join(" · ")}`)),
      make("p", { class: "exhibit-question" }, before[QUESTION]),
      make("div", { class: "sides" }, this.side(before, names[0]), this.side(after, names[1])));
  }

  side(row, name) {
    const source = row[PICTURE] ? pictureSource(row[PICTURE], this.source) : "";
    const answer = row[READ_AS] || row[ANSWER] || row[STATUS];
    const verdict = row[CORRECT] === 1 ? ["is-right", "✓"] : row[CORRECT] === 0 && row[READ_AS] ? ["is-wrong", `✗ it is ${row[GOLD]}`] : ["quiet", "not read"];
    return make("div", { class: "side" },
      make("p", { class: "side-name" }, name),
      make("div", { class: "side-pictures" }, source
        ? make("img", { src: source, alt: name, loading: "lazy", decoding: "async" })
        : make("p", { class: "small quiet" }, "no picture")),
      make("p", { class: "side-answer" }, make("b", {}, answer), " ", make("span", { class: verdict[0] }, verdict[1]), " ",
        make("a", { class: "small no-print", href: `#item=${encodeURIComponent(nameOf(this.source, row))}` }, "item")));
  }
}

async function startPairs(source) {
  const section = document.getElementById("through");
  const pairs = section ? await read("pairs-rows") : null;
  if (!pairs) return;
  section.hidden = false;
  new PairList(pairs, source);
}

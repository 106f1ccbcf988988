// The list of items: filters, sorting, and drawing of the visible rows only.
const ROW_HEIGHT = 64;
const MOST_ROOM = 8_000_000; // browsers cannot lay out much taller elements
const [ID, INSTRUMENT, MODEL, SPLIT, CONDITION, KIND, QUESTION, ANSWER, GOLD, CORRECT, STATUS, VALUES, PICTURE, READ_AS] =
  Array.from({ length: 14 }, (_, i) => i);
const OUTCOMES = {
  right: (row) => row[CORRECT] === 1,
  wrong: (row) => row[CORRECT] === 0,
  "not scored": (row) => row[CORRECT] === null && row[STATUS] === "answered",
  ...Object.fromEntries(
    ["none of these", "refused", "cut off", "ambiguous", "unreadable", "failed", "pending"].map((name) => [name, (row) => row[STATUS] === name]),
  ),
};

class ItemList {
  constructor(source, open) {
    Object.assign(this, { source, open, chosen: -1, shown: [], haystacks: [] });
    this.list = document.getElementById("list");
    this.room = document.getElementById("room");
    this.form = document.getElementById("filters");
    this.list.addEventListener("scroll", () => this.draw(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.form.addEventListener("input", (event) => {
      if (event.target.name === "instrument") this.narrow();
      this.filter();
    });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("reset", () => setTimeout(() => {
      this.narrow();
      this.filter();
    }));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      event.preventDefault();
      this.form.elements.text.focus();
    });
    new ResizeObserver(() => this.draw()).observe(this.list);
    this.refill();
  }

  get rows() { return this.source.rows; }

  // Called again when an active run has new rows.
  refill() {
    const { rows, models } = this.source;
    this.haystacks = rows.map((row) => [row[ID], row[QUESTION], row[ANSWER], row[GOLD], row[KIND]].join("\n").toLowerCase());
    this.choices("instrument", valuesOf(rows, INSTRUMENT));
    this.choices("model", models.map((_, i) => i).filter((i) => rows.some((row) => row[MODEL] === i)), (i) => this.source.short[i]);
    this.narrow();
    this.filter(true);
  }

  // Offer only values that occur for the selected instrument.
  narrow() {
    const instrument = this.form.elements.instrument.value;
    const rows = instrument ? this.rows.filter((row) => row[INSTRUMENT] === instrument) : this.rows;
    this.choices("split", valuesOf(rows, SPLIT));
    this.choices("condition", valuesOf(rows, CONDITION));
    this.choices("outcome", Object.keys(OUTCOMES).filter((name) => rows.some(OUTCOMES[name])));
    this.sortings(rows);
  }

  choices(name, values, words = (value) => value) {
    const select = this.form.elements[name];
    const before = select.value;
    select.replaceChildren(make("option", { value: "" }, "all"), ...values.map((v) => make("option", { value: v }, words(v))));
    select.value = [...select.options].some((option) => option.value === before) ? before : "";
    select.parentElement.hidden = values.length < 2;
  }

  sortings(rows) {
    const select = this.form.elements.sort;
    const before = select.value;
    const held = new Set(rows.flatMap((row) => row[VALUES].filter((_, i) => i % 2 === 0)));
    const groups = new Map();
    this.source.metrics.forEach(({ key, name }, i) => {
      if (!held.has(i)) return;
      const of = key.split(".")[0];
      if (!groups.has(of)) groups.set(of, []);
      groups.get(of).push(make("option", { value: `-${i}` }, `${name} ↓`), make("option", { value: `+${i}` }, `${name} ↑`));
    });
    const plain = [["", "order of the plan"], ["wrong", "wrong first"], ["question", "question"]];
    select.replaceChildren(
      ...plain.map(([value, words]) => make("option", { value }, words)),
      ...[...groups].map(([of, options]) => make("optgroup", { label: of }, options)),
    );
    select.value = [...select.options].some((option) => option.value === before) ? before : "";
  }

  filter(stay = false) {
    const wanted = Object.fromEntries(new FormData(this.form));
    const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    const model = wanted.model ? Number(wanted.model) : null;
    const outcome = OUTCOMES[wanted.outcome];
    const chosen = this.shown[this.chosen];
    this.shown = [];
    this.rows.forEach((row, i) => {
      if (
        (!wanted.instrument || row[INSTRUMENT] === wanted.instrument) && (model === null || row[MODEL] === model) &&
        (!wanted.split || row[SPLIT] === wanted.split) && (!wanted.condition || row[CONDITION] === wanted.condition) &&
        (!outcome || outcome(row)) && words.every((word) => this.haystacks[i].includes(word))
      ) this.shown.push(i);
    });
    this.sort(wanted.sort);
    this.chosen = this.shown.indexOf(chosen);
    const all = this.rows.length;
    document.getElementById("found").textContent =
      this.shown.length === all ? `${all} items` : `${this.shown.length} of ${all} items`;
    if (!stay) this.list.scrollTop = 0;
    this.draw(true);
  }

  sort(by) {
    const { rows } = this;
    if (by === "wrong") {
      const rank = (row) => (row[CORRECT] === 0 ? 0 : row[CORRECT] === 1 ? 2 : 1);
      this.shown.sort((a, b) => rank(rows[a]) - rank(rows[b]) || a - b);
    } else if (by === "question") {
      const order = new Intl.Collator("en", { numeric: true });
      this.shown.sort((a, b) => order.compare(rows[a][QUESTION], rows[b][QUESTION]) || a - b);
    } else if (by) {
      const [sign, metric] = [by[0] === "-" ? -1 : 1, Number(by.slice(1))];
      const value = new Map(this.shown.map((i) => [i, valueOf(rows[i], metric)]));
      // Items without this score come last in both directions.
      this.shown.sort((a, b) => {
        const [x, y] = [value.get(a), value.get(b)];
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        return sign * (x - y) || a - b;
      });
    }
  }

  draw(anew = false) {
    const n = this.shown.length;
    const full = n * ROW_HEIGHT;
    const room = Math.min(full, MOST_ROOM);
    this.room.style.height = `${room}px`;
    const view = this.list.clientHeight;
    // If the list is taller than browsers allow, the scroll bar is scaled.
    const top = full > room && room > view ? (this.list.scrollTop / (room - view)) * (full - view) : this.list.scrollTop;
    const shift = this.list.scrollTop - top;
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - 4);
    const last = Math.min(n, Math.ceil((top + view) / ROW_HEIGHT) + 4);
    if (!anew && this.drawn && this.drawn.first === first && this.drawn.last === last && this.drawn.shift === shift) return;
    this.drawn = { first, last, shift };
    const rows = [];
    for (let place = first; place < last; place += 1) rows.push(this.row(place, place * ROW_HEIGHT + shift));
    if (!n) rows.push(make("p", { class: "empty", role: "option", "aria-selected": "false", "aria-disabled": "true" }, "No items match."));
    this.room.replaceChildren(...rows);
    this.list.setAttribute("aria-activedescendant", this.chosen >= first && this.chosen < last ? `row-${this.chosen}` : "");
  }

  row(place, y) {
    const row = this.rows[this.shown[place]];
    const source = row[PICTURE] ? pictureSource(row[PICTURE], this.source) : "";
    const picture = source
      ? make("img", { src: source, alt: "", loading: "lazy", decoding: "async", width: 48, height: 48 })
      : make("span", { class: "no-picture", "aria-hidden": "true" }, "–");
    const by = this.form.elements.sort.value;
    const value = /^[-+]\d/.test(by) ? valueOf(row, Number(by.slice(1))) : null;
    const element = make("div", {
      class: "row", role: "option", id: `row-${place}`, "aria-selected": place === this.chosen ? "true" : "false",
      "aria-setsize": this.shown.length, "aria-posinset": place + 1, onclick: () => this.choose(place),
    },
    picture,
    make("span", { class: "row-text" },
      make("span", { class: "row-q" }, row[QUESTION]),
      make("span", { class: "row-a" }, outcomeMark(row), ` ${row[READ_AS] || row[ANSWER] || row[STATUS]}`, row[GOLD] ? ` · gold ${row[GOLD]}` : "")),
    make("span", { class: "row-side" },
      make("span", {}, row[INSTRUMENT] + (row[CONDITION] && row[CONDITION] !== "plain" ? ` · ${row[CONDITION]}` : "")),
      value !== null ? make("b", {}, digits(value)) : make("span", {}, this.source.short[row[MODEL]])));
    element.style.top = `${y}px`;
    return element;
  }

  choose(place, focus = true) {
    if (place < 0 || place >= this.shown.length) return;
    this.chosen = place;
    this.reveal(place);
    this.draw(true);
    this.open(this.shown[place], focus);
  }

  reveal(place) {
    const full = this.shown.length * ROW_HEIGHT;
    const view = this.list.clientHeight;
    if (full > MOST_ROOM) {
      this.list.scrollTop = ((place * ROW_HEIGHT) / (full - view)) * (MOST_ROOM - view);
      return;
    }
    const y = place * ROW_HEIGHT;
    if (y < this.list.scrollTop) this.list.scrollTop = y;
    else if (y + ROW_HEIGHT > this.list.scrollTop + view) this.list.scrollTop = y + ROW_HEIGHT - view;
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW_HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    let to = null;
    if (event.key in steps) to = this.chosen < 0 ? 0 : this.chosen + steps[event.key];
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = this.shown.length - 1;
    if (to === null) return;
    event.preventDefault();
    this.choose(Math.min(Math.max(to, 0), this.shown.length - 1), false);
  }
}

function valuesOf(rows, column) {
  return [...new Set(rows.map((row) => row[column]))].filter((value) => value !== "").sort();
}

function valueOf(row, metric) {
  const values = row[VALUES];
  for (let i = 0; i < values.length; i += 2) if (values[i] === metric) return values[i + 1];
  return null;
}

function outcomeMark(row) {
  if (row[CORRECT] === 1) return make("span", { class: "right-mark" }, "✓", make("span", { class: "visually-hidden" }, " right:"));
  if (row[CORRECT] === 0) return make("span", { class: "wrong-mark" }, "✗", make("span", { class: "visually-hidden" }, " wrong:"));
  return make("span", { class: "none-mark" }, row[STATUS] === "answered" ? "·" : `${row[STATUS]}:`);
}

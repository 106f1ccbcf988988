// Tables within .sortable: a click on a heading sorts by its column, a word above filters rows. Without it they are plain tables.
(() => {
  const number = (text) => {
    const found = text.replace(/−/g, "-").match(/^\D{0,2}?(-?\d+(?:\.\d+)?)/);
    return found ? Number(found[1]) : NaN;
  };
  const compare = (one, other) => {
    const [a, b] = [number(one), number(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other) : a - b;
  };
  const prepare = (home) => {
    const body = home.querySelector("tbody");
    const headings = [...home.querySelectorAll("thead th")];
    const cell = (row, column) => row.cells[column].textContent.trim();
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const down = heading.ariaSort === "descending" || Number.isNaN(number(cell(body.rows[0], column))) && !heading.ariaSort;
        headings.forEach((each) => { each.ariaSort = null; });
        heading.ariaSort = down ? "ascending" : "descending";
        const rows = [...body.rows].sort((a, b) => (down ? 1 : -1) * compare(cell(a, column), cell(b, column)));
        body.append(...rows);
      });
    });
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "Filter rows";
    filter.ariaLabel = "Filter the rows of the table";
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/);
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    home.prepend(filter);
  };
  const start = () => document.querySelectorAll(".sortable").forEach((home) => home.querySelector("tbody") && prepare(home));
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();

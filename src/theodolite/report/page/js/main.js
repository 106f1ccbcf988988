// Connects the list and the details; for a live run, polls the server.
const browser = document.getElementById("browser");
const panel = document.getElementById("item");
const chunks = new Map();

async function detailOf(source, i) {
  if (source.live) {
    const answer = await fetch(`${source.live}item/${i}.json`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return answer.json();
  }
  const number = Math.floor(i / source.chunk);
  if (!chunks.has(number)) chunks.set(number, read(`items-${number}`));
  return (await chunks.get(number))[i % source.chunk];
}

function start(source) {
  let asked = 0;
  const list = new ItemList(source, async (i, focus) => {
    asked += 1;
    const mine = asked;
    const row = source.rows[i];
    const turn = {
      close: () => { delete browser.dataset.open; list.list.focus(); },
      previous: () => list.choose(list.chosen - 1),
      next: () => list.choose(list.chosen + 1),
    };
    let parts;
    try {
      parts = showItem(row, await detailOf(source, i), source, turn);
    } catch (error) {
      parts = [make("p", { class: "empty" }, `This item cannot be shown: ${error.message}`)];
    }
    if (mine !== asked) return;
    panel.replaceChildren(...parts.filter(Boolean));
    panel.scrollTop = 0;
    browser.dataset.open = "";
    if (focus && matchMedia("(max-width: 56rem)").matches) panel.focus();
    try { history.replaceState(null, "", `#item=${encodeURIComponent(nameOf(source, row))}`); } catch { /* not allowed everywhere */ }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && "open" in browser.dataset) { delete browser.dataset.open; list.list.focus(); }
  });
  const wanted = () => {
    if (!location.hash.startsWith("#item=")) return;
    const name = decodeURIComponent(location.hash.slice(6));
    const place = list.shown.findIndex((i) => nameOf(source, source.rows[i]) === name);
    if (place >= 0 && place !== list.chosen) { list.choose(place, false); document.getElementById("items").scrollIntoView(); }
  };
  wanted();
  addEventListener("hashchange", wanted);
  return list;
}

const nameOf = (source, row) => [row[INSTRUMENT], source.models[row[MODEL]], row[ID]].join("/");

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

function showState(now) {
  const put = (id, change) => { const element = document.getElementById(id); if (element) change(element); };
  put("live", (element) => {
    element.dataset.state = now.state;
    if (element.textContent !== now.word) element.textContent = now.word;
  });
  if (now.counts === undefined) return;
  put("counts", (element) => { element.textContent = now.counts; });
  put("bar-done", (bar) => bar.setAttribute("width", now.done));
  put("bar-failed", (bar) => { bar.setAttribute("x", now.done); bar.setAttribute("width", now.failed); });
}

// Fetches this page again, and replaces the parts that can change.
async function renew() {
  const page = new DOMParser().parseFromString(await (await fetch(location.pathname)).text(), "text/html");
  for (const part of document.querySelectorAll("[data-refresh]")) {
    const next = page.getElementById(part.id);
    if (next && next.outerHTML !== part.outerHTML) part.replaceWith(document.adoptNode(next));
  }
}

// A live page: adds new rows during the run, and refreshes the numbers when something has changed.
async function follow(source, list) {
  let { version } = source;
  for (;;) {
    await pause(1500);
    if (document.hidden) continue;
    try {
      const now = await (await fetch(`${source.live}state.json`)).json();
      if (now.version !== version) {
        Object.assign(source, await (await fetch(`${source.live}items.json`)).json());
        version = source.version;
        list.refill();
        await renew();
      }
      showState(now);
    } catch {
      showState({ state: "lost", word: "the server has stopped; this page shows its last state" });
    }
  }
}

async function followList() {
  for (;;) {
    await pause(4000);
    if (!document.hidden) await renew().catch(() => {});
  }
}

(async () => {
  if ("list" in document.body.dataset) followList();
  if (!browser) return;
  const live = document.body.dataset.live;
  let source;
  try {
    source = live ? { ...(await (await fetch(`${live}items.json`)).json()), live } : await read("items-index");
    source.inside = await read("items-pictures");
  } catch (error) {
    document.getElementById("items-note").textContent = `The items cannot be shown (${error.message}). The same rows are in items.jsonl.`;
    return;
  }
  browser.hidden = false;
  const list = start(source);
  startPairs(source);
  if (live) follow(source, list);
})();

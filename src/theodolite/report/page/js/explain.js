
// The page of an explanation: a map over each picture; a word shows its own map when it is pointed at or tapped.
read("explanation").then((given) => {
  if (!given) return;
  const stops = [[40, 11, 84], [101, 21, 110], [159, 42, 99], [212, 72, 66], [245, 125, 21], [250, 193, 39], [252, 255, 164]];
  const colour = (level) => {
    const at = Math.min(level, 0.999) * (stops.length - 1), i = Math.floor(at);
    return stops[i].map((value, k) => Math.round(value + (stops[i + 1][k] - value) * (at - i)));
  };
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const home = document.getElementById("pictures");
  const canvases = given.pictures.map((picture, i) => {
    const scale = Math.min(1, 1400 / Math.max(picture.width, picture.height));
    const canvas = make("canvas", { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) });
    home.append(make("div", { class: "explained-picture" },
      make("img", { src: pictureSource(picture.name, given), alt: given.pictures.length > 1 ? `picture ${i + 1}` : "the picture", width: picture.width, height: picture.height }), canvas));
    return { canvas, scale };
  });
  const find = (span, method) => given.maps.find((each) => each.span === span && each.method === method);
  const draw = (map) => map.parts.forEach((part, i) => {
    const { canvas, scale } = canvases[i];
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const { xs, ys } = given.grids[part.grid], cells = bytes(part.cells), columns = xs.length - 1;
    const edge = (value) => Math.round(value * scale);
    cells.forEach((value, k) => {
      if (!value) return;
      const row = Math.floor(k / columns), column = k % columns, level = value / 255;
      pen.fillStyle = `rgba(${colour(level).join(",")},${0.8 * level ** 0.6})`;
      const x = edge(xs[column]), y = edge(ys[row]);
      pen.fillRect(x, y, edge(xs[column + 1]) - x, edge(ys[row + 1]) - y);
    });
    const lines = given.marked[map.method]?.[i];
    if (map.span !== given.whole || !lines) return;
    pen.strokeStyle = "#ffffff";
    pen.lineWidth = Math.max(1.5, canvas.width / 500);
    pen.beginPath();
    for (const [x0, y0, x1, y1] of lines) { pen.moveTo(x0 * scale, y0 * scale); pen.lineTo(x1 * scale, y1 * scale); }
    pen.stroke();
  });
  const words = [...document.querySelectorAll(".explained-word")], facts = document.getElementById("word-facts");
  const whole = document.getElementById("whole-answer"), off = document.getElementById("map-off");
  const methods = [...document.querySelectorAll("[data-method]")], first = facts?.textContent;
  let pinned = given.whole, method = given.method;
  const show = (span) => {
    const map = find(span, method) || find(given.whole, method);
    draw(map);
    words.forEach((word) => word.classList.toggle("is-shown", word.dataset.span === map.span));
    whole.setAttribute("aria-pressed", String(map.span === given.whole));
    if (facts) facts.textContent = given.facts[map.span] || first;
  };
  const pin = (span) => { pinned = span; show(span); };
  words.forEach((word) => {
    word.addEventListener("mouseenter", () => show(word.dataset.span));
    word.addEventListener("focus", () => show(word.dataset.span));
    word.addEventListener("mouseleave", () => show(pinned));
    word.addEventListener("blur", () => show(pinned));
    word.addEventListener("click", () => pin(pinned === word.dataset.span ? given.whole : word.dataset.span));
  });
  whole.addEventListener("click", () => pin(given.whole));
  off.addEventListener("click", () => off.setAttribute("aria-pressed", String(home.classList.toggle("is-plain"))));
  methods.forEach((button) => button.addEventListener("click", () => {
    method = button.dataset.method;
    methods.forEach((each) => each.setAttribute("aria-pressed", String(each === button)));
    pin(find(pinned, method) ? pinned : given.whole);
  }));
  show(given.whole);
});

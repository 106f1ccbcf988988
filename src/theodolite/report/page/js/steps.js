// A trace, step by step: frames, sentences, and claims with their verdicts.
const VERDICTS = { supported: "✓", unsupported: "✗", unverifiable: "?" };

function traceDetail(item, source) {
  const frames = (item.pictures || []).map((_, i) => make("figure", { class: "frame" },
    make("img", { src: pictureOf(item, source, i), alt: `Frame ${i + 1}`, loading: "lazy" }), make("figcaption", {}, `frame ${i + 1}`)));
  const show = (wanted) => frames.forEach((frame, i) => { frame.toggleAttribute("data-on", wanted.includes(i)); });
  const steps = item.steps.steps.map((step, i) => {
    const claims = step.claims || [];
    const worst = ["unsupported", "unverifiable", "supported"].find((verdict) => claims.some((claim) => claim.verdict === verdict));
    const spoken = step.frames || [];
    const about = [`Step ${i + 1}`, spoken.length ? `frame ${spoken.map((f) => f + 1).join(", ")}` : "", typeof step.grounding === "number" ? `grounded ${Math.round(100 * step.grounding)} %` : "no claims to judge"];
    const element = make("li", { class: `step${worst ? ` t-${worst}` : ""}` },
      make("div", { class: "small" }, about.filter(Boolean).join(" · ")),
      make("p", { class: "step-text" }, step.text.replace(/^\s*\(frames? [\d\s,–-]+\):\s*/i, "")),
      claims.length ? make("ul", { class: "claims" }, claims.map((claim) => make("li", { class: `claim t-${claim.verdict}` },
        make("span", {}, VERDICTS[claim.verdict] || "·", make("span", { class: "visually-hidden" }, ` ${claim.verdict}: `)),
        make("span", {}, claim.text, claim.verdict === "unsupported" && claim.evidence ? make("span", { class: "quiet" }, ` – actually: ${claim.evidence}`) : null,
          claim.reason ? make("span", { class: "quiet" }, ` (${claim.reason})`) : null)))) : null);
    element.addEventListener("pointerenter", () => show(spoken));
    element.addEventListener("pointerleave", () => show([]));
    return element;
  });
  return make("div", {},
    frames.length ? make("div", { class: "frames", tabindex: 0, role: "group", "aria-label": "Frames" }, frames) : null,
    steps.length ? make("ol", { class: "steps" }, steps) : make("p", { class: "quiet" }, "No step could be read."));
}

"use strict";
// Light, dark or as the system has it. Runs before the page is drawn, so that nothing flashes.
(() => {
  const words = { auto: "as the system has them", light: "light", dark: "dark" };
  const order = ["auto", "light", "dark"];
  let now = "auto";
  try { now = localStorage.getItem("theodolite-theme") || "auto"; } catch { /* a page without storage follows the system */ }
  const put = (theme) => {
    now = order.includes(theme) ? theme : "auto";
    if (now === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = now[0].toUpperCase() + now.slice(1);
      button.setAttribute("aria-label", `Colours: ${words[now]}`);
    }
  };
  put(now);
  document.addEventListener("DOMContentLoaded", () => {
    put(now);
    document.getElementById("theme").addEventListener("click", () => {
      put(order[(order.indexOf(now) + 1) % order.length]);
      try { localStorage.setItem("theodolite-theme", now); } catch { /* not kept, then */ }
    });
  });
  // Paper shows what folds hide.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((fold) => { fold.open = true; }));
  addEventListener("hashchange", () => {
    const goal = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = goal; fold; fold = fold.parentElement) if (fold.tagName === "DETAILS") fold.open = true;
  });
})();

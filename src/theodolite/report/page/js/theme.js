"use strict";
// Light, dark or system theme. Runs before the page is drawn, to avoid a flash.
(() => {
  const words = { auto: "system", light: "light", dark: "dark" };
  const order = ["auto", "light", "dark"];
  let now = "auto";
  try { now = localStorage.getItem("theodolite-theme") || "auto"; } catch { /* without storage: system theme */ }
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
      try { localStorage.setItem("theodolite-theme", now); } catch { /* the choice is not stored */ }
    });
  });
  // Open all folds for printing.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((fold) => { fold.open = true; }));
  addEventListener("hashchange", () => {
    const goal = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = goal; fold; fold = fold.parentElement) if (fold.tagName === "DETAILS") fold.open = true;
  });
})();

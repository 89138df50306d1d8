"use strict";
(() => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const go = (step) => {
    const sections = all("main section");
    const tops = sections.map((each) => each.getBoundingClientRect().top);
    const now = tops.filter((top) => top < 60).length - 1;
    const next = sections[Math.max(0, Math.min(sections.length - 1, now + step))];
    if (next) { next.scrollIntoView(); next.focus({ preventScroll: true }); }
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "INPUT") return;
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "o") {
      const folds = all("details"), open = !folds.every((each) => each.open);
      folds.forEach((each) => { each.open = open; });
    } else if (event.key === "/" && all("input")[0]) { event.preventDefault(); all("input")[0].focus(); }
  });
  document.addEventListener("click", ({ target: button }) => {
    if (!button.matches("button.copy")) return;
    const code = button.parentElement.querySelector("code");
    const told = (said) => { button.textContent = said; setTimeout(() => { button.textContent = "Copy"; }, 2000); };
    const select = () => {
      getSelection().selectAllChildren(code);
      told(document.execCommand("copy") ? "Copied" : "Press Ctrl-C");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(() => told("Copied"), select);
    else select();
  });
  let column = -1, down = false, words = "";
  const wire = () => all("table.sortable").forEach((table) => {
    const body = table.tBodies[0], rows = Array.from(body.rows), buttons = all("table.sortable th button");
    const filter = document.getElementById("filter"), count = document.getElementById("count");
    const sort = () => {
      buttons.forEach((each) => each.closest("th").removeAttribute("aria-sort"));
      buttons[column].closest("th").setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.key ?? row.cells[column].textContent;
      rows.sort((a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * (down ? -1 : 1));
      body.append(...rows);
    };
    const narrow = () => {
      const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = !wanted.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      });
      count.textContent = `${shown} of ${rows.length}`;
    };
    buttons.forEach((button, number) => button.addEventListener("click", () => {
      down = number === column && !down;
      column = number;
      sort();
    }));
    filter.addEventListener("input", () => { words = filter.value; narrow(); });
    if (column >= 0 && column < buttons.length) sort();
    if (words) { filter.value = words; narrow(); }
  });
  wire();
  document.addEventListener("renewed", wire);
})();

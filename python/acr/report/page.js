"use strict";
(() => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const sections = all("main section");
  const go = (step) => {
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
  all("table.sortable").forEach((table) => {
    const body = table.tBodies[0], rows = Array.from(body.rows);
    all("table.sortable th button").forEach((button, column) => button.addEventListener("click", () => {
      const head = button.closest("th"), down = head.getAttribute("aria-sort") === "ascending";
      all("table.sortable th").forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.key ?? row.cells[column].textContent;
      rows.sort((a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * (down ? -1 : 1));
      body.append(...rows);
    }));
    const filter = document.getElementById("filter"), count = document.getElementById("count");
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      });
      count.textContent = `${shown} of ${rows.length}`;
    });
  });
})();

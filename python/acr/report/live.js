"use strict";
(() => {
  const state = document.getElementById("state"), body = document.getElementById("running").tBodies[0];
  const time = (ms) => `${Math.floor(ms / 60000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}`;
  const usd = (micro) => micro ? `${(micro / 1e6).toFixed(4)} USD` : "0 USD";
  const counts = (of) => Object.entries(of).sort((a, b) => b[1] - a[1]).map(([word, n]) => `${n} ${word === "none" ? "no patch" : word.replaceAll("_", " ")}`).join(", ");
  const states = { waiting: "has not started", running: "is running", elsewhere: "is on another machine", over: "is finished",
    gone: "has ended and is not finished" };
  const heads = [...document.querySelectorAll("#running th")].map((head) => head.textContent);
  const row = (texts) => {
    const made = document.createElement("tr");
    texts.forEach((text) => made.append(Object.assign(document.createElement("td"), { textContent: text })));
    [...made.cells].slice(1).forEach((cell, at) => { cell.dataset.head = heads[at + 1]; });
    return made;
  };
  const show = (now) => {
    const charged = Math.max(now.spent.cost_microusd, now.spent.charged_microusd), most = now.ceiling.cost_microusd;
    const isOver = now.state === "over" && now.ended === now.total;
    const what = { run: "", batch: isOver ? "" : `${now.ended} of ${now.total} tasks`, grading: `${now.ended} of ${now.total} graded` };
    const graded = now.graded.total && now.kind === "batch" ? `${now.graded.ended} of ${now.graded.total} graded, ${now.graded.resolved} resolved` : "";
    const parts = [what[now.kind], counts(now.by_outcome), graded, counts(now.by_error_class), usd(charged) + (most ? ` of ${usd(most)}` : "")];
    if (now.parts.length > 1) parts.push(...now.parts.map((part) => `${part.name} ${states[part.state]}`));
    if (now.left.ms !== null) parts.push(`about ${time(now.left.ms)} and ${usd(now.left.cost_microusd)} to go`);
    state.textContent = `${now.state}: ${parts.filter(Boolean).join("; ")}`;
    body.parentElement.hidden = !now.running.length;
    body.replaceChildren(...now.running.map((task) => row([task.task, task.doing, time(task.ms), task.calls,
      usd(task.cost_microusd)])));
  };
  const renew = async () => {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html"), main = document.querySelector("main");
    document.querySelector("header").replaceWith(fresh.querySelector("header"));
    fresh.getElementById("now").replaceWith(document.getElementById("now"));
    main.replaceWith(fresh.querySelector("main"));
    document.dispatchEvent(new Event("renewed"));
  };
  const source = new EventSource(`events${location.search}`);
  let known = "";
  source.addEventListener("message", async (event) => {
    const now = JSON.parse(event.data), key = `${now.state} ${now.ended} ${now.kind === "run" ? now.spent.calls : 0}`;
    show(now);
    if (key !== known) { known = key; await renew().catch(() => {}); }
    if (now.state !== "running") source.close();
  });
  source.addEventListener("error", () => { if (source.readyState !== EventSource.OPEN) state.textContent += " (no connection)"; });
})();

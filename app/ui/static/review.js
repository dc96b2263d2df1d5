// Suspicious rows by keyboard. Decisions are kept in this browser, and leave it as a file that the user asks for.

/** @type {HTMLTableElement} */
let table;
/** @type {Record<string, {given: string, label: string, decision: string}>} */
let decisions = {};

export function start() {
  const filter = document.getElementById("filter");
  filter?.addEventListener("change", () => {
    const chosen = [...new FormData(/** @type {HTMLFormElement} */ (filter))].filter(([, value]) => value);
    location.assign("?" + new URLSearchParams(chosen.map(([name, value]) => [name, String(value)])));
  });
  const found = document.getElementById("review");
  if (!(found instanceof HTMLTableElement)) return;
  table = found;
  try { decisions = JSON.parse(localStorage.getItem(place()) ?? "{}"); } catch { decisions = {}; }
  table.addEventListener("keydown", press);
  table.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button[data-decide]") : null;
    const row = button?.closest("tr");
    if (button && row) decide(row, button.getAttribute("data-decide") ?? "");
  });
  document.getElementById("take")?.addEventListener("click", take);
  paint();
}

const place = () => `c2s review ${table.dataset.job}`;

/** @param {KeyboardEvent} event */
function press(event) {
  const row = event.target instanceof Element ? event.target.closest("tr") : null;
  const what = { a: "accept", k: "keep", u: "undo", ArrowDown: "down", ArrowUp: "up" }[event.key];
  if (!row || !what || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (what !== "up" && what !== "down") decide(row, what);
  const next = what === "up" ? row.previousElementSibling : what === "undo" ? row : row.nextElementSibling;
  if (next instanceof HTMLElement) next.focus();
}

/** @param {HTMLTableRowElement} row @param {string} what */
function decide(row, what) {
  const { id = "", given = "", suggested = "" } = row.dataset;
  if (what === "undo") delete decisions[id];
  else decisions[id] = { given, label: what === "accept" ? suggested : given, decision: what };
  localStorage.setItem(place(), JSON.stringify(decisions));
  paint();
}

function paint() {
  for (const row of table.tBodies[0].rows) {
    const made = decisions[row.dataset.id ?? ""];
    const said = row.querySelector("[data-decision] span");
    if (said) said.textContent = made ? (made.decision === "accept" ? `→ ${made.label}` : "kept") : "";
  }
  const count = Object.keys(decisions).length;
  const told = document.getElementById("decided");
  if (told) told.textContent = count ? `${count} decided.` : "";
}

/** A value as CSV has it; what a spreadsheet would run as a formula is quoted. @param {string} text */
const field = (text) => `"${(/^[=+@\t\r-]/.test(text) ? "'" + text : text).replaceAll('"', '""')}"`;

function take() {
  const lines = Object.entries(decisions).map(([id, one]) => [id, one.given, one.label, one.decision].map(field).join(","));
  const file = new Blob([["id,given,label,decision", ...lines].join("\n") + "\n"], { type: "text/csv" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${table.dataset.job}-decisions.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Suspicious rows one after the other, by keyboard or pointer; each decision is shown at once and saved as it is made.
import { Outbox } from "./decisions.js";
import * as correct from "./correct.js";
import { apart, own } from "./service.js";

const KEYS = { a: "accept", k: "keep", r: "relabel", u: "undo", ArrowRight: "next", ArrowDown: "next", n: "next", ArrowLeft: "previous", ArrowUp: "previous", p: "previous" };
const find = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/** @type {HTMLElement} */
let list;
/** @type {HTMLElement[]} */
let cards = [];
/** @type {Outbox} */
let outbox;
/** @type {HTMLElement[]} decided on this page, the latest last */
const made = [];
/** @type {Map<HTMLElement, [string, string]>} what the service had when the page came */
const before = new Map();
let decided = 0;

export function start() {
  const filter = find("filter");
  filter?.addEventListener("change", () => {
    const chosen = [...new FormData(filter)].filter(([, value]) => value);
    location.assign("?" + new URLSearchParams(chosen.map(([name, value]) => [name, String(value)])));
  });
  list = find("review");
  if (!list) { correct.start(async () => true); return; }
  cards = [...list.querySelectorAll(".card")].filter((card) => card instanceof HTMLElement);
  decided = Number(list.dataset.decided);
  outbox = new Outbox(list.dataset.job ?? "", list.dataset.who ?? "", told, refused);
  correct.start(async () => { await outbox.send(); return outbox.waiting.size === 0; });
  for (const card of cards) {
    before.set(card, [card.dataset.decision ?? "", card.dataset.label ?? ""]);
    const kept = outbox.waiting.get(card.dataset.id ?? "");
    if (kept) put(card, kept.decision, kept.label);
    paint(card);
  }
  list.addEventListener("keydown", press);
  list.addEventListener("click", click);
  list.addEventListener("focusin", (event) => mark(event.target));
  relabelling();
  if (list.hasAttribute("data-may")) {
    (cards.find((card) => !card.dataset.decision) ?? cards[0]).focus({ preventScroll: true });
    resume();
  }
}

/** Send what an earlier visit could not; of rows on other pages the count is known when the page comes anew. */
async function resume() {
  const here = new Set(cards.map((card) => card.dataset.id));
  const elsewhere = [...outbox.waiting.keys()].some((id) => !here.has(id));
  if (outbox.waiting.size) await outbox.send();
  if (elsewhere && !outbox.waiting.size) location.reload();
}

/** @param {KeyboardEvent} event */
function press(event) {
  const card = event.target instanceof HTMLElement ? event.target.closest(".card") : null;
  const what = /** @type {Record<string, string>} */ (KEYS)[event.key];
  if (!(card instanceof HTMLElement) || !what || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act(card, what);
}

/** @param {MouseEvent} event */
function click(event) {
  const target = event.target instanceof Element ? event.target : null;
  const card = target?.closest(".card");
  if (!(card instanceof HTMLElement)) return;
  const button = target?.closest("button[data-decide]");
  if (button) act(card, button.getAttribute("data-decide") ?? "", false);
  else card.focus();
}

/** @param {HTMLElement} card @param {string} what @param {boolean} [onwards] */
function act(card, what, onwards = true) {
  if (what === "next" || what === "previous") return move(card, what === "next" ? 1 : -1);
  if (!list.hasAttribute("data-may")) return;
  if (what === "relabel") return ask(card);
  if (what === "undo") return undo(card);
  decide(card, what, (what === "accept" ? card.dataset.suggested : card.dataset.given) ?? "");
  if (onwards) move(card, 1);
}

/** @param {HTMLElement} card @param {string} decision @param {string} label */
function decide(card, decision, label) {
  put(card, decision, label);
  if (decision) made.push(card);
  outbox.add(card.dataset.id ?? "", { decision, label });
  paint(card);
  say(card, "Row ", own(card.dataset.id ?? ""), ": ", ...(decision ? [WORDS[decision], ", ", own(label)] : ["undecided again"]), ".");
}

/** Show a decision and count it. @param {HTMLElement} card @param {string} decision @param {string} label */
function put(card, decision, label) {
  decided += Number(Boolean(decision)) - Number(Boolean(card.dataset.decision));
  card.dataset.decision = decision;
  card.dataset.label = label;
}

/** Take this row's decision back, or if it has none the latest one of this page. @param {HTMLElement} card */
function undo(card) {
  let target = card.dataset.decision ? card : made.pop();
  while (target && !target.dataset.decision) target = made.pop();
  if (!target) return say(card, "There is nothing to undo.");
  decide(target, "", "");
  target.focus();
}

/** @param {HTMLElement} card @param {number} step */
function move(card, step) {
  const next = cards[cards.indexOf(card) + step] ?? (step > 0 ? find("next") : null);
  if (next) next.focus();
  else say(card, step > 0 ? "That was the last row." : "This is the first row.");
}

/** One card can be reached by Tab: the one that was used last. @param {EventTarget | null} target */
function mark(target) {
  const card = target instanceof Element ? target.closest(".card") : null;
  for (const one of cards) {
    one.tabIndex = one === card ? 0 : -1;
    one.toggleAttribute("aria-current", one === card);
    if (one === card) one.setAttribute("aria-current", "true");
  }
}

/** @type {Record<string, string>} */
const WORDS = { accept: "accepted", keep: "kept", relabel: "relabelled" };

/** @param {HTMLElement} card */
function paint(card) {
  const { id = "", given = "", suggested = "", decision = "", label = "" } = card.dataset;
  const waits = outbox.waiting.has(id);
  card.toggleAttribute("data-unsaved", waits);
  const place = card.querySelector(".verdict");
  place?.replaceChildren(...(decision ? [`✓ ${WORDS[decision]}, `, own(label)] : []), waits && outbox.pause ? " (not saved yet)" : "");
  const said = decision ? `${WORDS[decision]}, ${apart(label)}` : "undecided";
  card.setAttribute("aria-label", `Row ${apart(id)}: given ${apart(given)}, suggested ${apart(suggested)}; ${said}`);
  for (const button of card.querySelectorAll("[data-decide]")) button.setAttribute("aria-pressed", String(button.getAttribute("data-decide") === decision));
  const total = Number(list.dataset.total);
  find("reviewed").value = decided;
  find("count").textContent = `${decided.toLocaleString("en")} of ${total.toLocaleString("en")} reviewed`;
}

/** @param {HTMLElement} _card @param {(string | Node)[]} what */
function say(_card, ...what) {
  find("told").replaceChildren(...what);
}

/** @param {"saved" | "saving" | "away"} state @param {number} left */
function told(state, left) {
  const place = find("saved");
  place.className = state === "away" ? "fail" : "hint";
  place.textContent = { saved: "All saved.", saving: "Saving …", away: `The service does not answer: ${left} not saved yet. They are kept in this browser and sent again.` }[state];
  for (const card of cards) if (card.hasAttribute("data-unsaved") || outbox.waiting.has(card.dataset.id ?? "")) paint(card);
}

/** What the service would not take is as it was. @param {string[]} ids */
function refused(ids) {
  for (const card of cards) if (ids.includes(card.dataset.id ?? "")) { put(card, ...(before.get(card) ?? ["", ""])); paint(card); }
}

/** @type {HTMLElement | null} */
let asked = null;

/** @param {HTMLElement} card */
function ask(card) {
  asked = card;
  card.focus(); // where the dialog returns to
  find("relabel-find").value = "";
  narrow();
  find("relabel").showModal();
  find("relabel-find").focus();
}

/** @type {HTMLOptionElement[]} */
let every = [];

/** Only the classes that hold what was typed. */
function narrow() {
  const part = find("relabel-find").value.trim().toLowerCase();
  const left = every.filter((one) => one.value.toLowerCase().includes(part));
  find("relabel-to").replaceChildren(...left);
  find("relabel-to").selectedIndex = -1; // nothing is set that nobody chose
  if (part && left[0]) find("relabel-to").value = (left.find((one) => one.value.toLowerCase() === part) ?? left[0]).value;
}

function relabelling() {
  const dialog = find("relabel");
  if (!dialog) return;
  every = [...find("relabel-to").options];
  const set = () => {
    const label = find("relabel-to").value;
    if (!asked || find("relabel-to").selectedIndex < 0) return;
    const card = asked;
    dialog.close();
    decide(card, "relabel", label);
    move(card, 1);
  };
  find("relabel-find").addEventListener("input", narrow);
  dialog.querySelector("form").addEventListener("submit", (/** @type {Event} */ event) => { event.preventDefault(); set(); });
  find("relabel-to").addEventListener("dblclick", set);
  find("relabel-not").addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && event.target === find("relabel-to")) { event.preventDefault(); set(); }
    if (step && event.target === find("relabel-find")) {
      event.preventDefault();
      const to = find("relabel-to");
      to.selectedIndex = Math.max(0, Math.min(to.length - 1, to.selectedIndex + step));
    }
  });
}

// Keeps a page true while its job runs: the stream tells that something happened, the server draws the page anew.
// Only parts marked data-live are exchanged, and only if they changed, so that focus and reading stay where they are.

const PAUSE = 700; // milliseconds between two looks
let busy = false;
let again = false;

export function start() {
  const stream = document.getElementById("stream");
  if (stream?.dataset.events) follow(stream, stream.dataset.events);
  if (document.querySelector("[data-again]")) poll();
}

/** Fetch this page and take over what changed. */
export async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok) take(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch { /* the stream says that the service is away */ } finally {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    busy = false;
    if (again) { again = false; refresh(); }
  }
}

/** @param {Document} fresh */
function take(fresh) {
  for (const old of document.querySelectorAll("[data-live]")) {
    const name = old.getAttribute("data-live");
    const found = fresh.querySelector(`[data-live="${name}"]`);
    if (!found || found.outerHTML === old.outerHTML) continue;
    const focused = document.activeElement && old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceWith(document.importNode(found, true));
    if (focused) document.getElementById(focused)?.focus();
    document.dispatchEvent(new CustomEvent("c2s:taken", { detail: name }));
  }
  const stream = fresh.getElementById("stream");
  if (stream && !stream.dataset.events) over();
}

let ended = false;
/** @type {EventSource | null} */
let source = null;

function over() {
  ended = true;
  source?.close();
  const place = document.getElementById("stream");
  if (place) { place.textContent = "The job has ended."; place.removeAttribute("data-events"); }
}

/** @param {HTMLElement} place @param {string} address */
function follow(place, address) {
  source = new EventSource(address);
  source.onopen = () => { place.textContent = "Live."; refresh(); };
  for (const kind of ["state", "phase", "progress", "epoch", "note", "end"]) source.addEventListener(kind, () => refresh());
  source.onerror = () => {
    if (ended) return;
    const closed = source?.readyState === EventSource.CLOSED; // else the browser comes back by itself
    place.textContent = "The connection is lost; trying again …";
    refresh();
    if (closed) setTimeout(() => ended || follow(place, address), 3000);
  };
}

async function poll() {
  while (document.querySelector("[data-again]")) {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const before = document.querySelector("[data-again]");
    await refresh();
    if (before && !document.querySelector("[data-again]")) location.reload();
  }
}

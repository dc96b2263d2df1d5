// Keeps a page true while its job runs: the stream tells that something happened, the server draws the page anew.
// Of the parts marked data-live only what changed is exchanged, so that focus and reading stay where they are.

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
    if (answer.status === 401) location.reload(); // the session has ended
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
    const found = fresh.querySelector(`[data-live="${old.getAttribute("data-live")}"]`);
    if (found) morph(old, found);
  }
  const stream = fresh.getElementById("stream");
  if (stream && !stream.dataset.events) over();
}

/** Make one element say what another says and leave alone what they share: focus, what is open, what is scrolled. @param {Element} old @param {Element} fresh */
function morph(old, fresh) {
  if (old.isEqualNode(fresh) || old.hasAttribute("data-own")) return; // a script of this page writes there
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  const [before, after] = [[...old.childNodes], [...fresh.childNodes]];
  for (const gone of before.slice(after.length)) gone.remove();
  after.forEach((node, place) => {
    const here = before[place];
    if (!here) old.append(document.importNode(node, true));
    else if (here instanceof Element && node instanceof Element && same(here, node)) morph(here, node);
    else if (!here.isEqualNode(node)) here.replaceWith(document.importNode(node, true));
  });
}

/** Whether two elements stand for one thing: a button that now asks for something else is another button. @param {Element} one @param {Element} other */
const same = (one, other) => one.nodeName === other.nodeName && one.id === other.id && one.getAttribute("data-call") === other.getAttribute("data-call");

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

/** Look again every so many seconds while a part of the page asks for it. */
async function poll() {
  for (let asks = asking(); asks; asks = asking()) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(asks?.dataset.again)));
    if (document.hidden) continue; // nobody looks
    const waited = asks.hasAttribute("data-whole");
    await refresh();
    if (waited && !asking()) location.reload(); // what was waited for brings parts that were not there before
  }
}

const asking = () => /** @type {HTMLElement | null} */ (document.querySelector("[data-again]"));

// A key becomes a session, and the page that was asked for is opened: its address is this one, so none is ever taken from a link.

const WENT = "c2s went";

export function start() {
  const form = document.getElementById("login");
  if (!(form instanceof HTMLFormElement)) { sessionStorage.removeItem(WENT); return; }
  form.addEventListener("submit", (event) => { event.preventDefault(); open(form); });
  if (form.hasAttribute("data-foreign")) look();
}

/** Open the page itself; a token that stood in the address was of no use. */
function go() {
  const query = new URLSearchParams(location.search);
  query.delete("token");
  location.replace(location.pathname + (query.size ? `?${query}` : ""));
}

/** A link on another site led here: there may be a session that the browser did not show. */
async function look() {
  if (sessionStorage.getItem(WENT) === location.href) return; // once is enough
  try {
    if (!(await fetch("/session")).ok) return;
  } catch { return; }
  sessionStorage.setItem(WENT, location.href);
  go();
}

/** @param {HTMLFormElement} form */
async function open(form) {
  const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("key"));
  const button = form.querySelector("button");
  const key = field.value.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) return say(field, "A key has neither spaces nor letters beyond ASCII: was all of it copied?");
  if (button) button.disabled = true;
  say(null, "");
  try {
    const answer = await fetch("/session", { method: "POST", headers: { Authorization: `Bearer ${key}`, Accept: "application/json" } });
    if (answer.ok) return go();
    say(field, answer.status === 401 ? "This key is wrong, expired or revoked." : (await answer.json()).detail);
  } catch {
    say(field, "The service does not answer. Is it running?");
  } finally {
    if (button) button.disabled = false;
  }
}

/** @param {HTMLInputElement | null} field @param {string} text */
function say(field, text) {
  const place = document.getElementById("login-said");
  if (place) { place.textContent = text; place.className = text ? "fail" : ""; }
  field?.setAttribute("aria-invalid", String(Boolean(text)));
  field?.focus();
  field?.select();
}

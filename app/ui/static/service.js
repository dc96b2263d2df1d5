// Requests to the service that this page came from. A change shows the token that only our pages know.

/** What the service refused, in its own words. */
export class Problem extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    const faults = (body?.errors ?? []).map((/** @type {any} */ one) => one.detail).filter(Boolean);
    const said = body?.detail ?? `the service answered ${status}`;
    super([said, ...faults.filter((/** @type {string} */ one) => one !== said)].slice(0, 4).join("; "));
    this.status = status;
    this.code = body?.code ?? "";
  }
}

export const csrf = () => document.querySelector("meta[name=csrf]")?.getAttribute("content") ?? "";

/**
 * @param {string} verb @param {string} path
 * @param {{json?: unknown, body?: BodyInit, headers?: Record<string, string>, signal?: AbortSignal}} [more]
 * @returns {Promise<any>}
 */
export async function call(verb, path, more = {}) {
  const headers = { Accept: "application/json", "X-CSRF-Token": csrf(), ...more.headers };
  if (more.json !== undefined) headers["Content-Type"] = "application/json";
  const body = more.json === undefined ? more.body : JSON.stringify(more.json);
  const answer = await fetch(path, { method: verb, headers, body, signal: more.signal });
  const text = await answer.text();
  const said = text ? JSON.parse(text) : null;
  if (answer.status === 401) location.reload(); // the session has ended: the page to log in on is at every address
  if (!answer.ok) throw new Problem(answer.status, said);
  return said;
}

/** Tell the user something that went wrong. @param {unknown} error */
export function tell(error) {
  const place = document.getElementById("said");
  if (!place) return;
  place.textContent = error instanceof Error ? error.message : String(error);
  place.hidden = false;
}

/** A user's string inside ours: from right to left or not, it moves nothing around it. @param {string} text */
export const own = (text) => element("bdi", {}, text);

/** The same where no element can stand. @param {string} text */
export const apart = (text) => `\u2068${text}\u2069`;

/** An element with text and children; text is never HTML. @param {string} name @param {Record<string, string>} [attributes] @param {(Node | string)[]} children */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

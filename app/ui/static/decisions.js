// Decisions on their way to the service: kept in the browser until it has them, sent in order, tried again while it is away.
import { call, Problem, tell } from "./service.js";

const MOST = 200; // in one request
const LONGEST = 15000; // milliseconds between two attempts

/** @typedef {{decision: string, label: string}} Decision */

export class Outbox {
  /** @param {string} job @param {string} who @param {(state: "saved" | "saving" | "away", left: number) => void} told @param {(ids: string[]) => void} refused */
  constructor(job, who, told, refused) {
    this.path = `/jobs/${job}/decisions`;
    this.place = `c2s review ${job} ${who}`;
    this.told = told;
    this.refused = refused;
    this.pause = 0;
    this.timer = 0;
    /** @type {Promise<void> | null} */
    this.sending = null;
    /** @type {Map<string, Decision>} */
    this.waiting = new Map();
    try { this.waiting = new Map(JSON.parse(localStorage.getItem(this.place) ?? "[]")); } catch { /* as if there were none */ }
    addEventListener("online", () => this.send());
  }

  /** @param {string} id @param {Decision} decision */
  add(id, decision) {
    this.waiting.delete(id); // a later decision goes to the end
    this.waiting.set(id, decision);
    this.keep();
    this.send();
  }

  keep() {
    try {
      if (this.waiting.size) localStorage.setItem(this.place, JSON.stringify([...this.waiting]));
      else localStorage.removeItem(this.place);
    } catch { /* no room or not allowed: they are still sent */ }
  }

  /** Send all there is; resolves when it is saved, or when one attempt has failed. @returns {Promise<void>} */
  send() {
    clearTimeout(this.timer);
    this.sending ??= this.attempt().finally(() => { this.sending = null; });
    return this.sending;
  }

  async attempt() {
    while (this.waiting.size) {
      const some = [...this.waiting].slice(0, MOST);
      this.told(this.pause ? "away" : "saving", this.waiting.size);
      try {
        await call("POST", this.path, { json: { decisions: some.map(wire) } });
      } catch (error) {
        if (error instanceof Problem && error.status < 500 && ![401, 408, 429].includes(error.status)) this.drop(some, error);
        else return this.later();
        continue;
      }
      this.pause = 0;
      this.done(some);
    }
    this.told("saved", 0);
  }

  /** What was decided anew meanwhile still waits. @param {[string, Decision][]} some */
  done(some) {
    for (const [id, decision] of some) if (this.waiting.get(id) === decision) this.waiting.delete(id);
    this.keep();
  }

  /** The service will never take these. @param {[string, Decision][]} some @param {Problem} error */
  drop(some, error) {
    this.done(some);
    tell(error);
    this.refused(some.map(([id]) => id));
  }

  later() {
    this.pause = Math.min(LONGEST, 2 * this.pause || 1000);
    this.told("away", this.waiting.size);
    this.timer = window.setTimeout(() => this.send(), this.pause);
  }
}

/** As the service takes it. @param {[string, Decision]} entry */
function wire([id, { decision, label }]) {
  return decision === "relabel" ? { id, decision, label } : { id, decision: decision || "undecided" };
}

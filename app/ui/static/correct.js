// What was decided becomes a new dataset and, by the same click, a job on it like the one that was reviewed.
import { call, element, Problem, tell } from "./service.js";

const PAUSE = 1000; // milliseconds between two looks at a dataset that a worker makes
const fresh = () => ({ "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()).slice(2) });

/** @param {() => Promise<boolean>} saved whether every decision has reached the service */
export function start(saved) {
  const form = document.getElementById("correct");
  if (!(form instanceof HTMLFormElement)) return;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
    run(form, button?.value === "train", saved);
  });
}

/** @param {HTMLFormElement} form @param {boolean} train @param {() => Promise<boolean>} saved */
async function run(form, train, saved) {
  const buttons = [...form.querySelectorAll("button")];
  const say = (/** @type {(string | Node)[]} */ ...what) => document.getElementById("making")?.replaceChildren(...what);
  for (const button of buttons) button.disabled = true;
  let dataset = "";
  try {
    if (!(await saved())) throw new Error("Not all decisions are saved yet: the service does not answer. Try again when they are.");
    say("Making the dataset …");
    const made = await call("POST", `/jobs/${form.dataset.job}/corrected-dataset`, { json: wanted(form), headers: fresh() });
    dataset = made.id;
    if (!train) return location.assign(`/ui/datasets/${encodeURIComponent(dataset)}`);
    await ready(made);
    say("Starting the job …");
    const before = await call("GET", `/jobs/${form.dataset.job}`);
    // classes that the job merged are one in the dataset already
    const spec = { ...before.config, merge: [], dataset_id: dataset, ...(before.name ? { name: before.name } : {}) };
    const job = await call("POST", "/jobs", { json: spec, headers: fresh() });
    location.assign(`/ui/jobs/${encodeURIComponent(job.id)}`);
  } catch (error) {
    tell(error instanceof TypeError ? "The service does not answer; nothing was started." : error);
    say(...(dataset ? ["The dataset was made: ", element("a", { href: `/ui/datasets/${encodeURIComponent(dataset)}` }, "look at it"), "."] : []));
    for (const button of buttons) button.disabled = false;
  }
}

/** @param {HTMLFormElement} form */
function wanted(form) {
  const given = new FormData(form);
  const sure = given.has("sure") ? { correct_at: Number(given.get("correct_at")) / 100 } : {};
  return { ...sure, gold: given.has("gold") };
}

/** Wait for a dataset that a worker makes. @param {any} made */
async function ready(made) {
  let found = made;
  while (found.state === "validating") {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    found = await call("GET", `/datasets/${encodeURIComponent(made.id)}`);
  }
  if (found.state !== "ready") throw new Problem(409, { detail: "The dataset could not be made." });
}

// The form of a new job: what it says as JSON, as curl and as Python, and what the service forecasts of it.
import { call, element, tell } from "./service.js";

/** @type {HTMLFormElement} */
let form;
/** @type {AbortController | undefined} */
let asking;
let timer = 0;

export function start() {
  const found = document.getElementById("order");
  if (!(found instanceof HTMLFormElement)) return;
  form = found;
  form.addEventListener("input", changed);
  form.addEventListener("submit", submit);
  changed();
}

/** The job as the form says it; what is as the service would have it anyway is left out. @returns {any} */
function spec() {
  /** @type {any} */
  const made = {};
  for (const field of form.elements) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement) || !field.name || !field.value) continue;
    if (field instanceof HTMLSelectElement && field.selectedOptions[0]?.hasAttribute("data-default")) continue;
    const value = field.type === "number" ? Number(field.value) : field.value;
    const [part, inner] = field.name.split(".");
    if (inner) (made[part] ??= {})[inner] = value;
    else made[part] = value;
  }
  return made;
}

function changed() {
  suit();
  const method = /** @type {HTMLSelectElement} */ (form.elements.namedItem("method"));
  write("about", method.selectedOptions[0]?.dataset.about ?? "");
  const job = spec();
  write("curl", curl(job));
  write("python", python(job));
  clearTimeout(timer);
  timer = window.setTimeout(() => forecast(job), 250);
}

/** Leave nets out that cannot read the rows. */
function suit() {
  const dataset = /** @type {HTMLSelectElement} */ (form.elements.namedItem("dataset_id"));
  const nets = /** @type {HTMLSelectElement} */ (form.elements.namedItem("net"));
  const kind = dataset.selectedOptions[0]?.dataset.kind ?? "";
  for (const option of nets.options) {
    const reads = (option.dataset.reads ?? "").split(" ");
    option.disabled = !(reads.includes("any") || reads.includes(kind));
    option.hidden = option.disabled;
  }
  if (nets.selectedOptions[0]?.disabled) nets.value = "auto";
}

/** @param {string} id @param {string} text */
function write(id, text) {
  const place = document.getElementById(id);
  if (place) place.textContent = text;
}

/** @param {any} job */
function curl(job) {
  const body = JSON.stringify(job).replaceAll("'", "'\\''");
  return `curl -H "Authorization: Bearer $TOKEN" \\\n  --json '${body}' \\\n  ${form.dataset.address}/jobs`;
}

/** @param {any} job */
function python(job) {
  const { dataset_id: dataset, ...rest } = job;
  const given = Object.entries(rest).map(([name, value]) => `, ${name}=${JSON.stringify(value)}`).join("");
  return [
    "import os", "from c2s import Client", "", `client = Client("${form.dataset.address}", os.environ["TOKEN"])`,
    `job = client.jobs.create("${dataset}"${given})`, "job.wait(progress=True)",
  ].join("\n");
}

/** @param {any} job */
async function forecast(job) {
  asking?.abort();
  asking = new AbortController();
  const place = document.getElementById("forecast");
  try {
    const said = await call("POST", "/jobs?dry_run=true", { json: job, signal: asking.signal });
    place?.replaceChildren(...lines(said));
    hint(said.config);
  } catch (error) {
    if (error instanceof DOMException) return;
    place?.replaceChildren(element("p", { class: "fail" }, error instanceof Error ? error.message : String(error)));
  }
}

/** What the service would take where nothing is said. @param {any} config */
function hint(config) {
  for (const field of form.querySelectorAll("input[type=number]")) {
    const [part, inner] = (field.getAttribute("name") ?? "").split(".");
    const value = inner ? config[part]?.[inner] : config[part];
    if (value !== undefined && value !== null) field.setAttribute("placeholder", String(value));
  }
}

/** @param {string} method */
function follow(method) {
  const button = element("button", { type: "button" }, `Choose ${method}`);
  button.addEventListener("click", () => {
    /** @type {HTMLSelectElement} */ (form.elements.namedItem("method")).value = method;
    changed();
  });
  return button;
}

/** What the run costs, as far as it is known before stage 1. @param {any} found */
function steps({ trainings, steps, most_steps }) {
  const many = (/** @type {number} */ value) => value.toLocaleString("en");
  const most = most_steps > steps ? `, or ${many(most_steps)} if stage 1 cannot tell the classes apart` : "";
  return `${many(steps)} steps in ${many(trainings.length)} trainings${most}`;
}

/** @param {any} said */
function lines({ config, forecast: found }) {
  const many = (/** @type {number} */ value) => value.toLocaleString("en");
  const facts = [
    `${many(found.training_rows)} of ${many(found.rows)} rows to train on, ${many(found.classes)} classes`,
    `Method ${config.method.name}, net ${config.net.name}: ${config.stage1.epochs} and ${config.stage2.epochs} epochs, ${steps(found)}`,
    `About ${many(Math.round(found.similar_pairs_per_batch))} similar pairs in a batch of stage 2`,
  ];
  return [
    element("ul", {}, ...facts.map((text) => element("li", {}, text))),
    ...found.warnings.map((/** @type {string} */ text) => element("p", { class: "warn" }, text)),
    element("p", { class: "advice" }, element("strong", {}, `Advice: ${found.advice.method}. `), found.advice.reason, " ",
      ...(found.advice.method === config.method.name ? [] : [follow(found.advice.method)])),
  ];
}

/** @param {SubmitEvent} event */
async function submit(event) {
  event.preventDefault();
  const button = form.querySelector("button[type=submit]");
  if (button instanceof HTMLButtonElement) button.disabled = true;
  try {
    const key = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
    const job = await call("POST", "/jobs", { json: spec(), headers: { "Idempotency-Key": key } });
    location.assign(`/ui/jobs/${encodeURIComponent(job.id)}`);
  } catch (error) {
    tell(error);
    if (button instanceof HTMLButtonElement) button.disabled = false;
  }
}

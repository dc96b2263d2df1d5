// A row by hand, and what the model says of it: clean and noisy posterior as bars; aliases and keys by form.
import { refresh } from "./live.js";
import { call, element, own, tell } from "./service.js";

const SVG = "http://www.w3.org/2000/svg";
const OUTPUTS = ["class", "probabilities", "noisy_probabilities"];
const SHOWN = 20; // classes, likeliest first
const find = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

export function start() {
  const form = find("play");
  if (form) {
    form.addEventListener("submit", (/** @type {Event} */ event) => { event.preventDefault(); ask(typed(form)); });
    if (form.dataset.kind === "image") drawing(form);
  }
  find("alias")?.addEventListener("submit", alias);
  find("key")?.addEventListener("submit", key);
}

/** The row that a form holds. @param {HTMLFormElement} form @returns {unknown} */
function typed(form) {
  const given = new FormData(form);
  if (given.has("text")) return given.get("text");
  if (given.has("numbers")) return String(given.get("numbers")).split(/[\s,;]+/).filter(Boolean).map(Number);
  return Object.fromEntries([...given].map(([name, value]) => [name, cell(String(value))]));
}

/** @param {string} text */
function cell(text) {
  if (text.trim() === "") return null;
  return Number.isFinite(Number(text)) ? Number(text) : text;
}

/** @param {unknown} row */
async function ask(row) {
  const model = find("play").dataset.model;
  await show(() => call("POST", "/predict", { json: { model, inputs: [row], outputs: OUTPUTS } }));
}

/** @param {File} file */
async function send(file) {
  const query = new URLSearchParams({ model: find("play").dataset.model, outputs: OUTPUTS.join(",") });
  await show(() => call("POST", `/predict?${query}`, { body: file, headers: { "Content-Type": file.type } }));
}

/** @param {() => Promise<any>} asked */
async function show(asked) {
  try {
    const said = await asked();
    const [found] = said.predictions;
    find("answer").replaceChildren(element("strong", {}, own(found.class)), ` with probability ${found.probability.toFixed(3)}`);
    const order = found.probabilities.map((/** @type {number} */ p, /** @type {number} */ k) => [p, k]).sort((a, b) => b[0] - a[0]);
    find("posterior").replaceChildren(...order.slice(0, SHOWN).map(([p, k]) => bar(said.classes[k], p, found.noisy_probabilities[k])));
    find("answers").hidden = false;
    find("said").hidden = true;
  } catch (error) {
    tell(error);
  }
}

/** @param {string} name @param {number} clean @param {number} noisy */
function bar(name, clean, noisy) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 100 10");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  for (const [kind, value, y] of [["bar", clean, 0], ["noisy", noisy, 5]]) {
    const piece = document.createElementNS(SVG, "rect");
    for (const [key, text] of Object.entries({ class: kind, y, height: 4.5, width: 100 * Number(value) })) piece.setAttribute(key, String(text));
    picture.append(piece);
  }
  const number = (/** @type {number} */ value) => element("td", { class: "num" }, value.toFixed(3));
  return element("tr", {}, element("th", { scope: "row" }, own(name)), element("td", {}, picture), number(clean), number(noisy));
}

/** @param {HTMLFormElement} form */
function drawing(form) {
  const canvas = find("draw");
  const pen = canvas.getContext("2d");
  const clear = () => { pen.fillStyle = "black"; pen.fillRect(0, 0, canvas.width, canvas.height); };
  clear();
  Object.assign(pen, { lineWidth: 24, lineCap: "round", lineJoin: "round", strokeStyle: "white" });
  const spot = (/** @type {PointerEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * canvas.width) / box.width, ((event.clientY - box.top) * canvas.height) / box.height];
  };
  let down = false;
  canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    down = true;
    canvas.setPointerCapture(event.pointerId);
    pen.beginPath();
    pen.moveTo(...spot(event));
    pen.lineTo(...spot(event));
    pen.stroke();
  });
  canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => { if (down) { pen.lineTo(...spot(event)); pen.stroke(); } });
  canvas.addEventListener("pointerup", () => { down = false; ask(pixels(canvas, form)); });
  find("clear").addEventListener("click", () => { clear(); find("posterior").replaceChildren(); find("answer").replaceChildren(); });
  find("picture").addEventListener("change", () => { if (find("picture").files[0]) picture(find("picture").files[0], pen, canvas); });
  canvas.addEventListener("dragover", (/** @type {Event} */ event) => event.preventDefault());
  canvas.addEventListener("drop", (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    if (event.dataTransfer?.files[0]) picture(event.dataTransfer.files[0], pen, canvas);
  });
}

/** Show a picture and ask for it as it is. @param {File} file @param {CanvasRenderingContext2D} pen @param {HTMLCanvasElement} canvas */
async function picture(file, pen, canvas) {
  send(file);
  try {
    pen.drawImage(await createImageBitmap(file), 0, 0, canvas.width, canvas.height);
  } catch { /* the service says what is wrong with it */ }
}

/** The drawing as the model's pictures are: centred, and as large. @param {HTMLCanvasElement} canvas @param {HTMLFormElement} form */
function pixels(canvas, form) {
  const [height, width, channels] = (form.dataset.image ?? "").split(" ").map(Number);
  const small = element("canvas", { width: String(width), height: String(height) });
  const brush = /** @type {CanvasRenderingContext2D} */ (/** @type {HTMLCanvasElement} */ (small).getContext("2d"));
  brush.imageSmoothingQuality = "high";
  brush.drawImage(canvas, 0, 0, width, height);
  const { data } = brush.getImageData(0, 0, width, height);
  const pixel = (/** @type {number} */ at) => (channels === 1 ? [data[at]] : [data[at], data[at + 1], data[at + 2]].slice(0, channels));
  return Array.from({ length: height }, (_, y) => Array.from({ length: width }, (_, x) => pixel(4 * (y * width + x))));
}

/** @param {SubmitEvent} event */
async function alias(event) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const name = encodeURIComponent(String(new FormData(form).get("alias")));
  try {
    const model = form.dataset.model;
    await call("PUT", `/models/${model}/aliases/${name}`, { json: { model_id: model }, headers: { "If-None-Match": "*" } });
    location.reload();
  } catch (error) { tell(error); }
}

/** @param {SubmitEvent} event */
async function key(event) {
  event.preventDefault();
  const given = new FormData(/** @type {HTMLFormElement} */ (event.target));
  try {
    const made = await call("POST", "/keys", { json: { name: given.get("name"), scopes: given.getAll("scopes") } });
    refresh();
    find("secret").replaceChildren("Keep it now, it is shown once: ", element("code", { class: "secret" }, made.secret));
  } catch (error) { tell(error); }
}

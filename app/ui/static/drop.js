// Brings a file to the service as the raw body, with a bar.
import { csrf, own, Problem } from "./service.js";

const find = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/** @type {(() => void) | null} */
let again = null; // a file that was refused may only lack the name of its label column

export function start() {
  const form = find("drop");
  if (!form) return;
  find("file").addEventListener("change", () => find("file").files[0] && send(find("file").files[0]));
  find("sample").addEventListener("click", sample);
  find("drop-again").addEventListener("click", () => again?.());
  form.addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  for (const kind of ["dragover", "dragleave", "drop"])
    form.addEventListener(kind, (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      form.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer?.files[0]) send(event.dataTransfer.files[0]);
    });
}

async function sample() {
  find("sample").disabled = true;
  find("drop-said").textContent = "Fetching the sample …";
  const file = await (await fetch("/ui/static/digits.npz")).blob();
  send(new File([file], "digits.npz"), "digits");
}

/** @param {File} file @param {string} [name] */
function send(file, name) {
  again = () => send(file, name);
  find("drop-again").hidden = true;
  find("drop-said").className = "";
  const query = new URLSearchParams({ name: find("drop-name").value || name || file.name });
  if (find("drop-label").value) query.set("label", find("drop-label").value);
  const request = new XMLHttpRequest(); // fetch cannot tell how much of a body has been sent
  request.open("POST", `/datasets?${query}`);
  request.setRequestHeader("X-CSRF-Token", csrf());
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.setRequestHeader("Idempotency-Key", crypto.randomUUID?.() ?? String(Math.random()).slice(2));
  request.upload.onprogress = (event) => { find("drop-bar").value = event.loaded / event.total; };
  request.onload = () => answered(request);
  request.onerror = () => failed("The upload was cut off; nothing was kept.");
  find("drop-bar").hidden = false;
  find("drop-said").replaceChildren("Sending ", own(file.name), " …");
  request.send(file);
}

/** @param {XMLHttpRequest} request */
function answered(request) {
  let said = null;
  try { said = JSON.parse(request.responseText); } catch { /* no JSON: the status has to do */ }
  if (request.status === 201) location.assign(`/ui/new?dataset=${encodeURIComponent(said.id)}`);
  else if (request.status === 202) location.assign(`/ui/datasets/${encodeURIComponent(said.id)}`);
  else if (request.status === 401) location.reload(); // the session has ended
  else failed(new Problem(request.status, said).message);
}

/** @param {string} why */
function failed(why) {
  find("drop-said").textContent = why;
  find("drop-said").className = "fail";
  find("drop-bar").hidden = true;
  find("sample").disabled = false;
  find("file").value = "";
  find("drop-again").hidden = !again;
}

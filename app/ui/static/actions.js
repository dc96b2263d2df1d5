// Buttons that ask the service for something: data-call="VERB /path", data-then says where to go afterwards.
import { call, tell } from "./service.js";
import { refresh } from "./live.js";

export function start() {
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button[data-call]") : null;
    if (button instanceof HTMLButtonElement) act(button);
  });
  document.getElementById("compare")?.addEventListener("click", compare);
}

/** @param {HTMLButtonElement} button */
async function act(button) {
  const { call: what = "", then = "reload", sure, match, json } = button.dataset;
  if (sure && !confirm(sure)) return;
  const [verb, path] = what.split(" ");
  button.disabled = true;
  try {
    const headers = match ? { "If-Match": match } : {};
    const said = await call(verb, path, { headers, json: json ? JSON.parse(json) : undefined });
    if (then === "refresh") await refresh();
    else if (then === "reload") location.reload();
    else location.assign(then.replace("{id}", encodeURIComponent(said?.id ?? "")));
  } catch (error) {
    tell(error);
    button.disabled = false;
  }
}

function compare() {
  const chosen = [...document.querySelectorAll("input[data-pick]:checked")].map((box) => box.getAttribute("data-pick"));
  if (chosen.length < 2) tell("Choose two jobs or more.");
  else location.assign("/ui/compare?" + chosen.map((id) => `job=${id}`).join("&"));
}

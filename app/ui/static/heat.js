// A matrix by keyboard: arrow keys move over its cells, and what a cell says is told below it.

let at = [0, 0];

export function start() {
  document.addEventListener("keydown", (event) => {
    const map = event.target instanceof Element ? event.target.closest("svg.heat") : null;
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!map || !move) return;
    event.preventDefault();
    step(map, move);
  });
  document.addEventListener("mouseover", (event) => {
    const cell = event.target instanceof Element ? event.target.closest("svg.heat g[data-row]") : null;
    if (cell) tell(cell);
  });
}

/** Small entries of a large matrix are not drawn: look on in the same direction. @param {Element} map @param {number[]} move */
function step(map, move) {
  const rows = map.querySelectorAll("g[data-row]").length;
  let [row, column] = at;
  for (let tries = 0; tries <= rows; tries += 1) {
    row += move[0];
    column += move[1];
    if (row < 0 || column < 0) return;
    const cell = map.querySelector(`g[data-row="${row}"][data-column="${column}"]`);
    if (!cell) continue;
    at = [row, column];
    for (const old of map.querySelectorAll("g.here")) old.classList.remove("here");
    cell.classList.add("here");
    tell(cell);
    return;
  }
}

/** @param {Element} cell */
function tell(cell) {
  const place = cell.closest("figure")?.querySelector("[role=status]");
  if (place) place.textContent = cell.querySelector("title")?.textContent ?? "";
}

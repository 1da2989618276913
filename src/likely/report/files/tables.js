// Tables that sort when a column heading is clicked, and a button that shows all rows.

function sortKey(cell) {
  const text = cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value;
  if (text === "None" || text === "") return Infinity;
  return Number.isNaN(Number(text)) ? text.toLowerCase() : Number(text);
}

function compareKeys(first, second) {
  if (typeof first === typeof second) return first < second ? -1 : first > second ? 1 : 0;
  return typeof first === "number" ? -1 : 1;
}

function sortBy(table, head) {
  const falling = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row) => [sortKey(row.cells[head.cellIndex]), row]);
  rows.sort((one, other) => (falling ? -1 : 1) * compareKeys(one[0], other[0]));
  table.tBodies[0].append(...rows.map(([, row]) => row));
  rows.forEach(([, row], place) => row.classList.toggle("more", place >= 15 && table.classList.contains("folded")));
}

function startTables() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const rows = table.tBodies[0].querySelectorAll("tr.more").length;
    table.classList.toggle("folded", rows > 0);
    for (const head of table.tHead.rows[0].cells) {
      head.firstElementChild.addEventListener("click", () => sortBy(table, head));
    }
  }
  const all = document.getElementById("all-rows");
  if (!all) return;
  all.hidden = false;
  all.addEventListener("click", () => {
    const table = document.querySelector("#leaderboard table");
    table.classList.remove("folded");
    const rest = [...table.querySelectorAll("tr.more")];
    for (const row of rest) row.classList.remove("more");
    all.hidden = true;
    rest[0].tabIndex = -1;
    rest[0].focus();
  });
}

// Connects the page: controls, marks on the curves, the address of the page, copying.

const facts = JSON.parse(document.getElementById("facts").textContent);

const elements = new Map();
function element(id) {
  if (!elements.has(id)) elements.set(id, document.getElementById(id));
  return elements.get(id);
}

function findNearest(values, value) {
  return values.reduce((best, each) => (each !== null && Math.abs(each - value) < Math.abs(best - value) ? each : best), values[0]);
}

// Read an index of a list from the address; 0 if it is not valid.
function readIndex(text, length) {
  const at = Number(text);
  return Number.isInteger(at) && at >= 0 && at < length ? at : 0;
}

function shorten(text, width) {
  const letters = Array.from(text.slice(0, 2 * width));
  return letters.length <= width ? text : letters.slice(0, width - 1).join("") + "…";
}

// Quote a text as one word of a shell command.
function quoteShell(text) {
  return /^[\w.,=+:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// The command that decides, with placeholders for file names.
function decideCommand() {
  return facts.kind === "scores" ? "likely decide SCORES.csv" : "likely decide NEW.csv --model MODEL";
}

// Plots by kind, with their axes.
const plots = new Map();
for (const svg of document.querySelectorAll("svg[data-plot]")) {
  const axis = (name) => (svg.dataset[name] || "").split(" ").map(Number);
  const one = { svg, x: axis("x"), y: axis("y") };
  plots.set(svg.dataset.plot, [...(plots.get(svg.dataset.plot) || []), one]);
}

function toPixel([low, high, first, last], value) {
  const share = (Math.min(Math.max(value, low), high) - low) / (high - low);
  return first + share * (last - first);
}

function placePoint(plot, which, point) {
  for (const { svg, x, y } of plots.get(plot) || []) {
    const mark = svg.querySelector(`circle.mark.${which}`);
    const seen = point && (plot !== "bayes-error" || (point[0] >= x[0] && point[0] <= x[1]));
    mark.setAttribute("display", seen ? "inline" : "none");
    if (!seen) continue;
    mark.setAttribute("cx", toPixel(x, point[0]).toFixed(1));
    mark.setAttribute("cy", toPixel(y, point[1]).toFixed(1));
  }
}

// Draw a line at each value: at the threshold, or at both ends of the interval in which rows are rejected.
function placeLine(plot, values) {
  for (const { svg, x } of plots.get(plot) || []) {
    const lines = [...svg.querySelectorAll("line.mark.threshold")];
    if (lines.length < values.length) lines.push(lines[0].parentNode.insertBefore(lines[0].cloneNode(), lines[0]));
    lines.forEach((line, k) => {
      const inside = k < values.length && values[k] >= x[0] && values[k] <= x[1];
      line.setAttribute("display", inside ? "inline" : "none");
      if (!inside) return;
      for (const end of ["x1", "x2"]) line.setAttribute(end, toPixel(x, values[k]).toFixed(1));
    });
  }
}

let chosen = null;
function chooseSeries(series, variant) {
  document.documentElement.dataset.scores = variant;
  if (chosen === series) return;
  chosen = series;
  for (const one of document.querySelectorAll("[data-series]")) {
    const own = Number(one.dataset.series) === series;
    if (one.tagName === "FIGURE") one.hidden = !own;
    else one.classList.toggle("chosen", own);
  }
}

// Update the address once the controls are at rest: browsers limit how often a page may change it.
let waiting = 0;
function storeAddress(address) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    try {
      history.replaceState(null, "", "#" + new URLSearchParams(address));
    } catch {
      // If a page may not change its address, the controls still work.
    }
  }, 250);
}

function startCopying() {
  for (const button of document.querySelectorAll("button[data-copies]")) {
    button.addEventListener("click", async () => {
      const text = element(button.dataset.copies).textContent;
      element("copied").textContent = (await copyText(text)) ? "Copied." : "The browser does not allow copying. Select the text instead.";
    });
  }
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea"), before = document.activeElement;
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before.focus({ preventScroll: true });
    return done;
  }
}

// Update the text for screen readers once the controls are at rest.
let announcing = 0;
function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => (element("spoken").textContent = text), 400);
}

const view = facts.explorer.kind === "binary" ? new BinaryView(facts) : new ClassesView(facts);
function restoreState() {
  clearTimeout(waiting);
  const address = new URLSearchParams(location.hash.slice(1));
  view.state = view.readAddress(address);
  view.show();
}
// Links within the page scroll without changing the address, which stores the state of the controls.
for (const link of document.querySelectorAll('a[href^="#"]')) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const section = element(link.hash.slice(1)), target = section.querySelector("h2") || section;
    event.preventDefault();
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    section.scrollIntoView();
  });
}
startTables();
startCopying();
restoreState();
window.addEventListener("hashchange", () => {
  if (location.hash.includes("=")) restoreState();
});

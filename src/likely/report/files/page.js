// The page comes to life: controls, marks on the curves, the address, copying.

const facts = JSON.parse(document.getElementById("facts").textContent);

const elements = new Map();
function element(id) {
  if (!elements.has(id)) elements.set(id, document.getElementById(id));
  return elements.get(id);
}

function nearest(values, value) {
  return values.reduce((best, each) => (each !== null && Math.abs(each - value) < Math.abs(best - value) ? each : best), values[0]);
}

// A place in a list, from an address; the first if it names none.
function place(text, length) {
  const at = Number(text);
  return Number.isInteger(at) && at >= 0 && at < length ? at : 0;
}

function cut(text, most) {
  const letters = Array.from(text.slice(0, 2 * most));
  return letters.length <= most ? text : letters.slice(0, most - 1).join("") + "…";
}

// A text as one word of a shell.
function quoted(text) {
  return /^[\w.,=+:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// The command that decides, with names to be filled in.
function deciding() {
  return facts.kind === "scores" ? "likely decide SCORES.csv" : "likely decide NEW.csv --model MODEL";
}

// Plots with their axes, looked up once.
const drawn = new Map();
for (const svg of document.querySelectorAll("svg[data-plot]")) {
  const axis = (name) => (svg.dataset[name] || "").split(" ").map(Number);
  const one = { svg, x: axis("x"), y: axis("y") };
  drawn.set(svg.dataset.plot, [...(drawn.get(svg.dataset.plot) || []), one]);
}

function pixel([low, high, first, last], value) {
  const share = (Math.min(Math.max(value, low), high) - low) / (high - low);
  return first + share * (last - first);
}

function placePoint(plot, which, point) {
  for (const { svg, x, y } of drawn.get(plot) || []) {
    const mark = svg.querySelector(`circle.mark.${which}`);
    const seen = point && (plot !== "bayes-error" || (point[0] >= x[0] && point[0] <= x[1]));
    mark.setAttribute("display", seen ? "inline" : "none");
    if (!seen) continue;
    mark.setAttribute("cx", pixel(x, point[0]).toFixed(1));
    mark.setAttribute("cy", pixel(y, point[1]).toFixed(1));
  }
}

// One line at each value: at a threshold, or at both ends of what is rejected.
function placeLine(plot, values) {
  for (const { svg, x } of drawn.get(plot) || []) {
    const lines = [...svg.querySelectorAll("line.mark.threshold")];
    if (lines.length < values.length) lines.push(lines[0].parentNode.insertBefore(lines[0].cloneNode(), lines[0]));
    lines.forEach((line, k) => {
      const inside = k < values.length && values[k] >= x[0] && values[k] <= x[1];
      line.setAttribute("display", inside ? "inline" : "none");
      if (!inside) return;
      for (const end of ["x1", "x2"]) line.setAttribute(end, pixel(x, values[k]).toFixed(1));
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

// The address follows when the controls rest: browsers allow few changes of it in a short time.
let waiting = 0;
function remember(address) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    try {
      history.replaceState(null, "", "#" + new URLSearchParams(address));
    } catch {
      // Where a page may not change its address, the controls work all the same.
    }
  }, 250);
}

function startCopying() {
  for (const button of document.querySelectorAll("button[data-copies]")) {
    button.addEventListener("click", async () => {
      const text = element(button.dataset.copies).textContent;
      element("copied").textContent = (await copied(text)) ? "Copied." : "Your browser does not let a page copy: select the text.";
    });
  }
}

async function copied(text) {
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

// What is said aloud follows when the controls rest.
let speaking = 0;
function say(text) {
  clearTimeout(speaking);
  speaking = setTimeout(() => (element("spoken").textContent = text), 400);
}

const view = facts.explorer.kind === "binary" ? new BinaryView(facts) : new ClassesView(facts);
function restore() {
  clearTimeout(waiting);
  const address = new URLSearchParams(location.hash.slice(1));
  view.state = view.restored(address);
  view.show();
}
// Links within the page leave the address to the controls.
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
restore();
window.addEventListener("hashchange", () => {
  if (location.hash.includes("=")) restore();
});

// The explorer for more than two classes: it decides every row of a sample again after each change.

class Classes {
  constructor(facts) {
    const explorer = facts.explorer, n = facts.classes.length;
    this.n = n;
    this.codes = decodeNumbers(explorer.codes);
    this.weights = explorer.weights === null ? this.codes.map(() => 1) : decodeNumbers(explorer.weights);
    this.sampled = new Array(n).fill(0);
    this.codes.forEach((code, row) => (this.sampled[code] += this.weights[row]));
    this.rows = new Array(n).fill(0);
    for (const code of this.codes) this.rows[code] += 1;
    this.whole = explorer.rows === explorer.of;
    this.classRows = explorer.class_rows;
    this.likelihoods = explorer.systems.map((one) =>
      Float64Array.from(decodeNumbers(one.scores), (depth) => Math.exp(-depth * one.resolution))
    );
  }

  // Counts of decisions by true class (last column: rejected), their cost with its standard error, and rates.
  decideRows({ system, priors, costs, reject }) {
    const n = this.n, likelihoods = this.likelihoods[system];
    const table = () => Array.from({ length: n }, () => new Float64Array(n + 1));
    const counts = table(), squares = table();
    const expected = new Float64Array(n), joint = new Float64Array(n);
    for (let row = 0; row < this.codes.length; row++) {
      let total = 0;
      expected.fill(0);
      for (let k = 0; k < n; k++) total += joint[k] = priors[k] * likelihoods[row * n + k];
      if (total === 0) for (let k = 0; k < n; k++) total += joint[k] = priors[k];
      for (let k = 0; k < n; k++) {
        if (joint[k] === 0) continue;
        const of = costs[k];
        for (let d = 0; d < n; d++) expected[d] += joint[k] * of[d];
      }
      let chosen = 0;
      for (let d = 1; d < n; d++) if (expected[d] <= expected[chosen]) chosen = d;
      if (reject !== null && expected[chosen] > reject * total * (1 + 1e-12)) chosen = n;
      counts[this.codes[row]][chosen] += this.weights[row];
      squares[this.codes[row]][chosen] += this.weights[row] ** 2;
    }
    return { counts, ...this.computeCosts(counts, squares, priors, costs, reject) };
  }

  // Variance of a class's mean cost due to sampling; 0 if the sample has all its rows. Two rows are added, one with the
  // highest and one with the lowest cost, so that few rows without a mistake do not give a variance of 0.
  variance(k, counts, squares, prices) {
    const rows = this.rows[k], all = this.classRows[k];
    if (rows === all) return 0;
    const unit = this.sampled[k] / rows, ends = [Math.min(...prices), Math.max(...prices)];
    const total = this.sampled[k] + 2 * unit;
    const mean = (prices.reduce((sum, price, d) => sum + counts[d] * price, 0) + unit * (ends[0] + ends[1])) / total;
    const square = prices.reduce((sum, price, d) => sum + squares[d] * (price - mean) ** 2, 0);
    const more = unit ** 2 * ((ends[0] - mean) ** 2 + (ends[1] - mean) ** 2);
    return (((square + more) / total ** 2) * (1 - rows / all) * (rows + 2)) / (rows + 1);
  }

  // Cost of the decisions, summed over classes with their priors.
  computeCosts(counts, squares, priors, costs, reject) {
    let cost = 0, variance = 0, errors = 0, rejected = 0;
    for (let k = 0; k < this.n; k++) {
      const m = this.sampled[k];
      if (!m || !priors[k]) continue;
      const prices = reject === null ? costs[k] : [...costs[k], reject];
      const mean = prices.reduce((sum, price, d) => sum + counts[k][d] * price, 0) / m;
      cost += priors[k] * mean;
      variance += priors[k] ** 2 * this.variance(k, counts[k], squares[k], prices);
      rejected += (priors[k] * counts[k][this.n]) / m;
      errors += priors[k] * (1 - (counts[k][k] + counts[k][this.n]) / m);
    }
    const constants = costs[0].map((_, d) => priors.reduce((sum, prior, k) => sum + prior * costs[k][d], 0));
    const constant = Math.min(...constants, reject === null ? Infinity : reject);
    return { cost, error: Math.sqrt(variance), errors, rejected, constant };
  }
}

// The controls for more than two classes, their state, and the results shown.
class ClassesView {
  constructor(facts) {
    this.facts = facts;
    this.model = new Classes(facts);
    const own = facts.applications.map((one) => one.reject_cost).filter((cost) => cost > 0);
    const usual = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 5, 10, 20, 50, 100];
    this.rejects = [...new Set([...usual, ...own])].sort((a, b) => a - b).concat(null);
    element("reject").max = this.rejects.length - 1;
    element("decide").addEventListener("input", (event) => this.onInput(event));
    element("controls").addEventListener("submit", (event) => event.preventDefault());
    element("series").addEventListener("input", () => {
      this.state.series = Number(element("series").value);
      this.show();
      storeAddress(this.makeAddress());
    });
    const table = element("confusion-live"); // missing if there are very many classes
    this.cells = table ? [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1)) : [];
  }

  initialState() {
    return { system: 0, series: 0, ...this.presetState(0) };
  }

  presetState(at) {
    const { priors, costs, reject_cost: reject } = this.facts.applications[at];
    return { priors: [...priors], costs: costs.map((row) => [...row]), reject };
  }

  onInput({ target }) {
    if (target.id === "system") this.state.system = Number(target.value);
    else if (target.id === "preset") Object.assign(this.state, this.presetState(Number(target.value)));
    else if (target.id === "reject") this.state.reject = this.rejects[Number(target.value)];
    else if (target.classList.contains("prior")) this.setPrior(Number(target.dataset.class), Number(target.value) / 1000);
    else if (target.classList.contains("cost")) this.setCost(target);
    this.show(target);
    storeAddress(this.makeAddress());
  }

  // Set one prior; the others keep their proportions.
  setPrior(at, prior) {
    const { priors } = this.state, rest = 1 - priors[at];
    if (rest > 0) this.shares = priors.map((old) => old / rest);
    const share = this.shares || priors.map(() => 1 / (priors.length - 1));
    const total = share.reduce((sum, part, k) => (k === at ? sum : sum + part), 0);
    this.state.priors = priors.map((_, k) => (k === at ? prior : ((1 - prior) * share[k]) / (total || 1)));
  }

  setCost(input) {
    const { truth, decision } = input.dataset, cost = input.valueAsNumber;
    const correct = this.state.costs[truth][truth];
    const isValid = isFinite(cost) && cost >= 0 && (truth === decision ? cost === correct : cost >= correct);
    input.setAttribute("aria-invalid", String(!isValid));
    if (isValid) this.state.costs[truth][decision] = cost;
  }

  makeAddress() {
    const { system, series, priors, costs, reject } = this.state;
    return {
      system, class: series, priors: priors.join(","), costs: costs.map((row) => row.join(",")).join(";"),
      reject: reject === null ? "off" : reject,
    };
  }

  readAddress(address) {
    const state = this.initialState(), n = this.model.n;
    const numbers = (text, length) => {
      const found = (text || "").split(",").map((part) => (part.trim() ? Number(part) : NaN));
      return found.length === length && found.every((x) => isFinite(x) && x >= 0) ? found : null;
    };
    const priors = numbers(address.get("priors"), n), total = priors ? priors.reduce((a, b) => a + b) : 0;
    if (total > 0) state.priors = Math.abs(total - 1) < 1e-9 ? priors : priors.map((prior) => prior / total);
    const costs = (address.get("costs") || "").split(";").map((row) => numbers(row, n));
    if (costs.length === n && costs.every((row, k) => row && row.every((cost) => cost >= row[k]))) state.costs = costs;
    const reject = address.get("reject");
    if (reject === "off") state.reject = null;
    else if (reject !== null && Number(reject) > 0 && isFinite(reject)) state.reject = findNearest(this.rejects, Number(reject));
    state.system = readIndex(address.get("system"), this.facts.explorer.systems.length);
    state.series = readIndex(address.get("class"), this.facts.series.length);
    return state;
  }

  show(source) {
    const found = this.model.decideRows(this.state);
    this.showControls(source);
    element("series").value = this.state.series;
    chooseSeries(this.state.series, this.facts.explorer.systems[this.state.system].variant);
    this.showNumbers(found);
    this.showConfusion(found);
    this.showMarks(found);
    element("as-python").textContent = this.asPython();
    element("as-command").textContent = this.asCommand();
  }

  showControls(source) {
    const { system, priors, costs, reject } = this.state;
    element("system").value = system;
    priors.forEach((prior, k) => {
      const input = element(`prior-${k}`), text = formatPercent(prior);
      if (input !== source) input.value = Math.round(1000 * prior);
      input.setAttribute("aria-valuetext", text);
      element(`prior-${k}-value`).textContent = text;
    });
    for (const input of document.querySelectorAll("input.cost")) {
      if (input === source) continue;
      input.value = costs[input.dataset.truth][input.dataset.decision];
      input.removeAttribute("aria-invalid");
    }
    const text = reject === null ? "never" : String(reject);
    element("reject").value = this.rejects.indexOf(reject);
    element("reject").setAttribute("aria-valuetext", text);
    element("reject-value").textContent = text;
    const same = this.facts.applications.findIndex((one, at) => JSON.stringify(this.presetState(at)) === JSON.stringify({ priors, costs, reject }));
    element("preset").value = same < 0 ? "" : same;
  }

  showNumbers({ cost, error, errors, rejected, constant }) {
    const { rows, of } = this.facts.explorer, twice = 2 * error;
    const from = this.model.whole ? "on all rows" : `± ${formatSignificant(1000 * twice, 2)}, from ${formatCount(rows)} of ${formatCount(of)} rows`;
    element("per-thousand").textContent = formatSignificant(1000 * cost, 4);
    element("per-thousand-note").textContent = from;
    element("actual").textContent = constant > 0 ? formatCost(cost / constant) : "–";
    element("actual-note").textContent = constant <= 0 ? "deciding without looking costs nothing" : this.model.whole ? "on all rows" : `± ${formatCost(twice / constant)}`;
    element("errors").textContent = formatPercent(errors);
    element("errors-note").textContent = "at these priors";
    element("rejected").textContent = formatPercent(rejected);
    element("rejected-note").textContent = "counted as neither right nor wrong";
    announce(`1,000 cases cost ${formatSignificant(1000 * cost, 4)}.`);
    element("in-words").textContent = this.model.whole
      ? `All ${formatCount(rows)} rows are decided again after every change.`
      : `A sample of ${formatCount(rows)} rows, with rows of every class, is decided again after every change. ± is twice the standard error due to sampling.`;
  }

  showConfusion({ counts }) {
    this.cells.forEach((row, k) => row.forEach((cell, d) => {
      const count = counts[k][d], share = count / this.model.sampled[k];
      cell.textContent = count ? (100 * share).toFixed(1) : "";
      cell.className = `h${Math.min(9, Math.round(9 * share))}${d === k ? " right" : ""}`;
    }));
  }

  // Rates of decisions for the chosen class against the rest. They need not lie on its curves, since other classes compete.
  showMarks({ counts }) {
    const { priors, reject } = this.state, k = this.facts.series[this.state.series].class;
    const rate = (truth) => counts[truth][k] / this.model.sampled[truth];
    const rest = priors.reduce((sum, prior, j) => (j === k ? sum : sum + prior), 0);
    const alarm = priors.reduce((sum, prior, j) => (j === k || !prior ? sum : sum + (prior / rest) * rate(j)), 0);
    const shown = reject === null && rest > 0;
    placePoint("roc", "actual", shown ? [alarm, rate(k)] : null);
    placePoint("det", "actual", shown ? [probit(alarm), probit(1 - rate(k))] : null);
  }

  asPython() {
    const { priors, costs, reject } = this.state;
    const named = priors.map((prior, k) => `${this.facts.classes[k].python}: ${prior}`).join(", ");
    const table = isUnit(costs) ? "" : `, costs=${JSON.stringify(costs)}`;
    return `Application({${named}}${table}${reject === null ? "" : `, reject_cost=${reject}`})`;
  }

  asCommand() {
    const { priors, costs, reject } = this.state, labels = this.facts.classes.map((one) => one.label);
    const named = quoteShell(priors.map((prior, k) => `${labels[k]}=${prior}`).join(","));
    const rest = reject === null ? "" : ` --reject-cost ${reject}`;
    if (isUnit(costs)) return `${decideCommand()} --priors ${named}${rest}`;
    const lines = [["", ...labels], ...costs.map((row, k) => [labels[k], ...row])].map((row) => row.map(quoteCsv).join(","));
    const written = `printf '%s\\n' ${lines.map(quoteShell).join(" ")} > costs.csv`;
    return `${written}\n${decideCommand()} --priors ${named} --costs costs.csv${rest}`;
  }
}

function isUnit(costs) {
  return costs.every((row, k) => row.every((cost, d) => cost === (k === d ? 0 : 1)));
}

function quoteCsv(value) {
  return /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
}

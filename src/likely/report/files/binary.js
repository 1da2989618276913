// The explorer for two classes: exact counts at every threshold that the sliders can reach.

// Decode thresholds of one kind, ascending, in units of their resolution.
function readThresholds({ first, steps }) {
  const units = [first];
  for (const step of decodeNumbers(steps)) units.push(units[units.length - 1] + step);
  return units;
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}

// Decode the counts of targets and nontargets below each threshold. Each triple is a number of thresholds to skip and
// the increases of both counts.
function readCounts(text, length) {
  const targets = new Float64Array(length), nontargets = new Float64Array(length);
  const triples = decodeNumbers(text);
  let at = 0, next = 0, t = 0, n = 0;
  for (let i = 0; i < triples.length; i += 3) {
    next += triples[i];
    targets.fill(t, at, next);
    nontargets.fill(n, at, next);
    at = next;
    t += triples[i + 1];
    n += triples[i + 2];
  }
  targets.fill(t, at);
  nontargets.fill(n, at);
  return { targets, nontargets };
}

// The llr from which on the target is decided. If rejecting is cheapest around it, also the ends of that interval.
function findThresholds({ prior, fn, fp, reject }) {
  const middle = Math.log(Number((((1 - prior) * fp) / (prior * fn)).toPrecision(14)));
  if (reject === null || reject >= fn || reject >= fp) return { middle, rejects: false };
  const low = logit(reject / fn) - logit(prior), high = logit(1 - reject / fp) - logit(prior);
  return { low, middle, high, rejects: high - low > 1e-9 };
}

// Cost of correct decisions, and of the best constant decision (deciding without looking).
function baseCost({ prior, base }) {
  return (1 - prior) * base[0] + prior * base[1];
}

function constantCost(state) {
  const { prior, fn, fp, reject } = state;
  return Math.min(baseCost(state) + Math.min(prior * fn, (1 - prior) * fp), reject === null ? Infinity : reject);
}

class Binary {
  constructor(facts) {
    this.facts = facts;
    this.explorer = facts.explorer;
    this.units = mapValues(this.explorer.thresholds, readThresholds);
    [this.nontargets, this.targets] = this.explorer.totals;
    this.tables = facts.series.map(({ tables }) =>
      mapValues(tables, (texts) => mapValues(texts, (text, kind) => readCounts(text, this.units[kind].length)))
    );
  }

  // Counts below a threshold, which must be one of the stored thresholds of its kind.
  countBelow(table, kind, threshold) {
    const units = this.units[kind], unit = threshold / this.explorer.resolution;
    let low = 0, high = units.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (units[middle] < unit - 2) low = middle + 1;
      else high = middle;
    }
    return [table[kind].nontargets[low], table[kind].targets[low]];
  }

  // Counts of decisions by true class, their rates and their cost.
  decideRows(table, state) {
    const { low, middle, high, rejects } = findThresholds(state);
    const from = rejects ? this.countBelow(table, "low", low) : this.countBelow(table, "middle", middle);
    const to = rejects ? this.countBelow(table, "high", high) : from;
    const [refused, missed] = from;
    const alarms = this.nontargets - to[0], accepted = this.targets - to[1];
    const rejected = [to[0] - refused, to[1] - missed];
    const price = state.reject === null ? 0 : state.reject;
    const cost =
      baseCost(state) + (state.prior * (state.fn * missed + price * rejected[1])) / this.targets +
      ((1 - state.prior) * (state.fp * alarms + price * rejected[0])) / this.nontargets;
    return {
      missed, accepted, refused, alarms, rejected, cost,
      normalised: cost / constantCost(state),
      miss: missed / this.targets,
      alarm: alarms / this.nontargets,
    };
  }

  actual(state) {
    return this.decideRows(this.tables[state.series][state.variant], state);
  }

  minimum(state) {
    return this.decideRows(this.tables[state.series].minimum, state);
  }
}

// The controls for two classes, their state, and the results shown.
class BinaryView {
  constructor(facts) {
    this.facts = facts;
    this.model = new Binary(facts);
    const { priors, costs, reject_costs: rejects } = facts.explorer;
    this.positions = { prior: priors, fn: costs, fp: costs, reject: [...rejects, null] };
    for (const [id, values] of Object.entries(this.positions)) element(id).max = values.length - 1;
    element("controls").addEventListener("input", (event) => this.onInput(event));
    element("controls").addEventListener("submit", (event) => event.preventDefault());
  }

  initialState() {
    return { series: 0, variant: this.facts.explorer.variant, ...this.presetState(0) };
  }

  presetState(at) {
    const { prior, cost_fn: fn, cost_fp: fp, reject_cost: reject, base } = this.facts.applications[at];
    return { prior, fn, fp, reject, base: reject === null ? base : [0, 0] };
  }

  onInput(event) {
    const id = event.target.id;
    if (event.target.name === "variant") this.state.variant = event.target.value;
    else if (id === "series") this.state.series = Number(event.target.value);
    else if (id === "preset") Object.assign(this.state, this.presetState(Number(event.target.value)));
    else {
      this.state[id] = this.positions[id][Number(event.target.value)];
      if (id !== "prior") this.state.base = [0, 0]; // custom costs: correct decisions cost nothing
    }
    this.show();
    storeAddress(this.makeAddress());
  }

  makeAddress() {
    const { prior, fn, fp, reject, base, series, variant } = this.state;
    const found = { prior, fn, fp, reject: reject === null ? "off" : reject, system: series, scores: variant };
    return base[0] || base[1] ? { ...found, right: base.join(",") } : found;
  }

  // Read the state from the address of the page. Values move to the nearest slider position; invalid ones are ignored.
  readAddress(address) {
    const state = this.initialState();
    for (const [id, values] of Object.entries(this.positions)) {
      const text = address.get(id);
      if (text === "off" && id === "reject") state.reject = null;
      else if (text !== null && Number(text) > 0 && isFinite(text)) state[id] = findNearest(values, Number(text));
    }
    const base = (address.get("right") || "").split(",").map((part) => (part.trim() ? Number(part) : NaN));
    if ([...address.keys()].some((key) => key in this.positions)) state.base = [0, 0];
    if (state.reject === null && base.length === 2 && base.every((cost) => isFinite(cost))) state.base = base;
    state.series = readIndex(address.get("system"), this.facts.series.length);
    if (["given", "calibrated"].includes(address.get("scores"))) state.variant = address.get("scores");
    return state;
  }

  show() {
    const state = this.state, model = this.model;
    const actual = model.actual(state), least = model.minimum(state);
    this.showControls();
    chooseSeries(state.series, state.variant);
    this.showNumbers(actual, least);
    this.showConfusion(actual);
    this.showMarks(actual, least);
    element("as-python").textContent = this.asPython();
    element("as-command").textContent = this.asCommand();
  }

  showControls() {
    const { state, positions } = this;
    for (const id of Object.keys(positions)) {
      const value = state[id], text = value === null ? "never" : String(value);
      element(id).value = positions[id].indexOf(value);
      element(id).setAttribute("aria-valuetext", text);
      element(`${id}-value`).textContent = text;
    }
    element("series").value = state.series;
    for (const radio of document.getElementsByName("variant")) radio.checked = radio.value === state.variant;
    const same = this.facts.applications.findIndex((_, at) =>
      Object.entries(this.presetState(at)).every(([id, value]) => String(state[id]) === String(value))
    );
    element("preset").value = same < 0 ? "" : same;
  }

  showNumbers(actual, least) {
    const state = this.state, constant = constantCost(state), { low, middle, high, rejects } = findThresholds(state);
    element("per-thousand").textContent = formatSignificant(1000 * actual.cost, 4);
    element("per-thousand-note").textContent = `${formatSignificant(1000 * constant, 4)} when deciding without looking`;
    element("actual").textContent = formatCost(actual.normalised);
    const loss = actual.normalised - least.normalised;
    element("actual-note").textContent = `${formatCost(Math.max(0, loss))} of it due to miscalibration`;
    element("minimum").textContent = formatCost(least.normalised);
    element("minimum-note").textContent = `misses ${formatPercent(least.miss)}, false alarms ${formatPercent(least.alarm)}`;
    element("threshold").textContent = rejects ? `${formatSigned(low)} to ${formatSigned(high)}` : formatSigned(middle);
    const effective = (state.prior * state.fn) / (state.prior * state.fn + (1 - state.prior) * state.fp);
    element("threshold-note").textContent = `effective prior ${effective.toPrecision(3)}`;
    element("in-words").textContent = this.describeCases(actual);
    announce(`${this.describeCases(actual)} 1,000 cases cost ${formatSignificant(1000 * actual.cost, 4)}.`);
    element("rates").textContent = this.describeRates(actual);
  }

  // Recall, precision and accuracy of the decisions at the current prior.
  describeRates(actual) {
    const { prior } = this.state, { targets, nontargets } = this.model;
    const hits = prior * (actual.accepted / targets), alarms = (1 - prior) * actual.alarm;
    const right = hits + (1 - prior) * (actual.refused / nontargets), wrong = alarms + prior * actual.miss;
    const recall = `At this prior: recall ${formatPercent(actual.accepted / targets)}`, decided = right + wrong;
    const precision = `precision ${hits + alarms > 0 ? formatPercent(hits / (hits + alarms)) : "undefined (no row is accepted)"}`;
    if (this.state.reject === null) return `${recall}, ${precision}, accuracy ${formatPercent(right)}.`;
    const accuracy = decided > 0 ? `accuracy ${formatPercent(right / decided)} among the ${formatPercent(decided)} that are not rejected` : "all rows are rejected";
    return `${recall} (rejected targets are not found), ${precision}, ${accuracy}.`;
  }

  describeCases(actual) {
    const { prior } = this.state, label = shorten(this.facts.target, 40);
    const cases = (share) => formatSignificant(1000 * share, 3);
    const [n, t] = actual.rejected;
    const rejected = prior * (t / this.model.targets) + (1 - prior) * (n / this.model.nontargets);
    return (
      `Of 1,000 cases, ${cases(prior)} are ${label}, and ${cases(prior * actual.miss)} of them are missed; ` +
      `${cases((1 - prior) * actual.alarm)} others are false alarms` +
      (rejected > 0 ? `; ${cases(rejected)} are rejected.` : ".")
    );
  }

  showConfusion(actual) {
    const unit = this.facts.explorer.unit;
    const row = (prefix, refused, accepted, rejected, total) => {
      const cells = { refused, accepted, rejected };
      for (const [key, count] of Object.entries(cells)) {
        element(`${prefix}-${key}`).textContent = `${formatCount(count * unit)} (${formatPercent(count / total)})`;
      }
    };
    row("n", actual.refused, actual.alarms, actual.rejected[0], this.model.nontargets);
    row("t", actual.missed, actual.accepted, actual.rejected[1], this.model.targets);
  }

  // Move the marks. The Bayes error plot has no rejection, so its marks show decisions without it.
  showMarks(actual, least) {
    const state = { ...this.state, reject: null }, { low, middle, high, rejects } = findThresholds(this.state);
    const whole = [this.model.actual(state), this.model.minimum(state)];
    const places = {
      roc: [actual, least].map((one) => [one.alarm, 1 - one.miss]),
      det: [actual, least].map((one) => [probit(one.alarm), probit(one.miss)]),
      "bayes-error": whole.map((one) => [-middle, one.normalised]),
    };
    places["precision-recall"] = this.findPrecisionRecall([actual, least]);
    if (this.state.reject !== null) places.roc = places.det = places["precision-recall"] = null;
    for (const [plot, points] of Object.entries(places)) {
      ["actual", "minimum"].forEach((which, k) => placePoint(plot, which, points && points[k]));
    }
    placeLine("bayes-error", [-middle]);
    placeLine("histogram", rejects ? [low, high] : [middle]);
    placeLine("reliability", rejects ? [low, high] : [middle]);
  }

  // The curve is drawn at the prior of the first application, so it has no marks at other priors.
  findPrecisionRecall(outcomes) {
    const { prior } = this.state, share = (one) => prior * (1 - one.miss) + (1 - prior) * one.alarm;
    if (prior !== this.facts.applications[0].prior) return null;
    return outcomes.map((one) => (share(one) > 0 ? [1 - one.miss, (prior * (1 - one.miss)) / share(one)] : null));
  }

  asPython() {
    const { prior, fn, fp, reject, base } = this.state, { classes, target } = this.facts;
    const [negative, positive] = [false, true].map((is) => classes.find((one) => (one.label === target) === is).python);
    const rest = reject === null ? "" : `, reject_cost=${reject}`;
    if (base[0] || base[1]) {
      const costs = JSON.stringify([[base[0], base[0] + fp], [base[1] + fn, base[1]]]);
      return `Application({${negative}: ${1 - prior}, ${positive}: ${prior}}, ${costs})`;
    }
    return `Application.binary(${prior}, cost_fn=${fn}, cost_fp=${fp}, positive=${positive}${rest})`;
  }

  asCommand() {
    const { prior, fn, fp, reject } = this.state;
    const rest = reject === null ? "" : ` --reject-cost ${reject}`;
    const column = this.facts.kind === "scores" && this.facts.series.length > 1 ? ` --column ${quoteShell(this.facts.series[this.state.series].name)}` : "";
    return `${decideCommand()}${column} --prior ${prior} --cost-fn ${fn} --cost-fp ${fp} --positive ${quoteShell(this.facts.target)}${rest}`;
  }
}

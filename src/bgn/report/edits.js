// Edits that an expert tries: each makes another model from the one before, as bgn.edit does, so that undoing is going
// back. Amounts are added as decimals, so that short ones stay short.
(() => {
  const data = JSON.parse(document.getElementById("bgn-data").textContent);
  const editing = data.editing;
  if (!editing) return;
  const byId = (id) => document.getElementById(id);
  const minus = (text) => text.replace("-", "\u2212");

  const MOST_DECIMALS = 22;
  const FOLDED = 20;
  let all = false;

  // -- decimals: a whole number and how many of its digits stand after the point -------------------------------

  function decimal(value) {
    const [digits, power = "0"] = String(value).split("e");
    const [whole, rest = ""] = digits.split(".");
    const places = rest.length - Number(power);
    const number = BigInt(whole + rest) * (places < 0 ? 10n ** BigInt(-places) : 1n);
    return { number, places: Math.max(places, 0) };
  }
  function plus(a, b, sign = 1n) {
    const places = Math.max(a.places, b.places);
    const scaled = (each) => each.number * 10n ** BigInt(places - each.places);
    return { number: scaled(a) + sign * scaled(b), places };
  }
  const half = (a) => ({ number: a.number * 5n, places: a.places + 1 });
  const float = (a) => Number(`${a.number}e${-a.places}`);

  // As bgn.model.decimals.whole_numbers: sums of whole numbers do not depend on their order.
  function summands(base, weights) {
    const values = [base, ...weights].map(decimal);
    let places = 0;
    for (const each of values) {
      let { number, places: own } = each;
      while (own > 0 && number % 10n === 0n) { number /= 10n; own -= 1; }
      places = Math.max(places, own);
    }
    const whole = values.map((each) => plus(each, { number: 0n, places: Math.max(places, each.places) }))
      .map((each) => each.number / 10n ** BigInt(each.places - places));
    const total = whole.reduce((sum, each) => sum + (each < 0n ? -each : each), 0n);
    if (places > MOST_DECIMALS || total >= 2n ** 53n) return { base, output: weights, unit: 1 };
    return { base: Number(whole[0]), output: whole.slice(1).map(Number), unit: Number(10n ** BigInt(places)) };
  }

  // -- models: terms and the intercept as the file has them, the lines that are left, and what was done ---------

  const turn = data.turned ? -1 : 1;  // where the page tells the first of two classes, the file the second
  const first = {
    terms: editing.file.network.terms.map((term) => ({ ...term, coef: [turn * term.coef[0]] })),
    intercept: turn * editing.file.network.intercept[0],
    lines: editing.rules.map((each, k) => ({ ...each, number: k + 1 })),
    log: editing.file.edits ?? [],
    done: [],  // as a server is told
  };
  let states = [first];
  const now = () => states[states.length - 1];
  const copy = (state) => JSON.parse(JSON.stringify(state));

  // An edited model is computed from its numbers, in the order of the functions that are written for the others.
  const relations = { ">=": (a, b) => a >= b, "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b };
  function holds(condition, values) {
    if (condition.columns) {
      let total = 0;
      condition.columns.forEach((column, i) => {
        const weight = condition.coefficients[i];
        const missing = condition.missing_as ? condition.missing_as[i] : NaN;
        const value = values[column];
        const part = Array.isArray(weight) ? (value === null ? missing : weight[value]) : value === null ? missing * (weight || 1) : value * weight;
        total = i ? total + part : part;
      });
      return Number.isNaN(total) && (condition.missing ?? null) !== null ? condition.missing : total >= condition.threshold;
    }
    const value = values[condition.column];
    if (condition.relation === "missing") return value === null;
    if (value === null) return condition.missing ?? false;
    return condition.relation === "in" ? condition.categories.includes(value) : relations[condition.relation](value, condition.threshold);
  }
  const worth = (term, values) => (term.conditions.every((each) => holds(each, values)) ? 1 : term.otherwise ?? 0);
  const [lowest, highest] = data.bounds ?? [null, null];
  function linked(value) {
    if (editing.file.network.link === "logistic") {
      const odds = Math.exp(-Math.abs(value));
      return (value >= 0 ? 1 : odds) / (1 + odds);
    }
    return lowest !== null && value < lowest ? lowest : highest !== null && value > highest ? highest : value;
  }
  function predictor(state) {
    const { base, output, unit } = summands(state.intercept, state.terms.map((term) => term.coef[0]));
    return (values) => linked(output.reduce((total, weight, i) => total + worth(state.terms[i], values) * weight, base) / unit);
  }
  const predictions = (state) => {
    const predict = predictor(state);
    return editing.rows.map((row) => predict(row.values));
  };
  function error(found) {
    const losses = editing.rows.map((row, k) => (row.truth === null ? null : data.classes === null ?
      (found[k] - row.truth) ** 2 : -Math.log(Math.max(row.truth > 0 ? found[k] : 1 - found[k], 1e-300))))
      .filter((each) => each !== null);
    return losses.length ? losses.reduce((a, b) => a + b, 0) / losses.length : null;
  }

  // -- changes --------------------------------------------------------------------------------------------------

  // What a rule adds where it does not hold as it is read: a flipped one its coefficient, another what it is worth then.
  const rest = (line, term) => decimal(line.flipped ? term.coef[0] : term.coef[0] * (term.otherwise ?? 0));
  function weigh(state, line, value) {
    const term = state.terms[line.rule];
    const before = rest(line, term);
    term.coef = [(line.flipped ? -1 : 1) * float(term.otherwise ? half(decimal(value)) : decimal(value))];
    state.intercept = float(plus(plus(decimal(state.intercept), before), rest(line, term), -1n));
    line.weight = value;
  }
  function drop(state, line) {
    const place = line.rule;
    state.intercept = float(plus(decimal(state.intercept), rest(line, state.terms[place])));
    state.terms.splice(place, 1);
    state.lines = state.lines.filter((each) => each !== line);
    for (const each of state.lines) if (each.rule > place) each.rule -= 1;
  }
  function threshold(state, line, value, k) {
    const condition = state.terms[line.rule].conditions[k];
    condition.threshold = (condition.columns ? value * line.conditions[k].scale : value) + 0;
    line.conditions[k].threshold = value;
  }
  function categorize(state, line, code, yes, k) {
    const condition = state.terms[line.rule].conditions[k];
    const fires = yes !== line.flipped;
    if (code < 0) condition.missing = fires;
    else {
      const others = condition.categories.filter((each) => each !== code);
      condition.categories = fires ? [...others, code].sort((a, b) => a - b) : others;
    }
    line.conditions[k].categories.find((each) => each.code === code).yes = yes;
  }

  function apply(number, what, change, done) {
    const before = now();
    const after = copy(before);
    const line = after.lines.find((each) => each.number === number);
    change(after, line);
    line.changed = true;
    const [old, found] = [predictions(before), predictions(after)];
    const entry = { what, rows: found.length, changed: found.filter((each, k) => each !== old[k]).length };
    const why = byId("edit-why").value.trim();
    if (why) entry.why = why;
    const [was, is] = [error(old), error(found)];
    if (was !== null) Object.assign(entry, { before: was, after: is });
    after.log = [...before.log, entry];
    after.done = [...before.done, { rule: number, why, ...done }];
    states.push(after);
    show();
  }

  // -- the table ------------------------------------------------------------------------------------------------

  const called = (line, k) => (line.conditions.length > 1 && k !== null ? `condition ${k + 1} of ` : "") + `rule ${line.number}`;
  function field(line, name, number, change, k = null) {
    const input = document.createElement("input");
    input.type = "number";
    input.step = "any";
    input.value = String(number);
    input.setAttribute("aria-label", `${name} of ${called(line, k)}`);
    input.addEventListener("change", () => {
      const value = input.valueAsNumber;
      if (!Number.isFinite(value) || (name === "weight" && value <= 0)) { input.value = String(number); return; }
      const done = { do: name, value, ...(k === null ? {} : { condition: k + 1 }) };
      if (value !== number) apply(line.number, `${name} of ${called(line, k)} set to ${value}`, (state, each) => change(state, each, value, k), done);
    });
    return input;
  }
  function sides(line, k) {
    const { categories } = line.conditions[k];
    const box = document.createElement("details");
    const title = document.createElement("summary");
    title.textContent = `${categories.filter((each) => each.yes).length} of ${categories.length} yes`;
    box.append(title);
    for (const each of categories) {
      const label = document.createElement("label");
      const tick = document.createElement("input");
      tick.type = "checkbox";
      tick.checked = each.yes;
      tick.addEventListener("change", () => apply(line.number,
        `${called(line, k)} ${tick.checked ? "holds" : "does not hold"} for ${each.name}`, (state, other) => categorize(state, other, each.code, tick.checked, k),
        { do: "category", category: each.code, yes: tick.checked, condition: k + 1 }));
      label.append(tick, ` ${each.name}`);
      box.append(label, document.createElement("br"));
    }
    return box;
  }
  function cell(line, content, kind = "", of = "") {
    const made = document.createElement("td");
    made.className = kind;
    if (of) made.dataset.of = of;
    made.append(content);
    line.append(made);
  }
  function shownLine(line) {
    const made = document.createElement("tr");
    if (line.changed) made.classList.add("on");
    cell(made, String(line.number), "number");
    cell(made, line.text, "name");
    const parts = document.createElement("div");
    line.conditions.forEach((part, k) => {
      if (part.threshold !== null) parts.append(field(line, "threshold", part.threshold, threshold, k));
      else if (part.categories) parts.append(sides(line, k));
    });
    cell(made, parts, "", "threshold or categories");
    cell(made, field(line, "weight", line.weight, weigh), "number", "adds");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Drop";
    button.setAttribute("aria-label", `Drop rule ${line.number}`);
    button.addEventListener("click", () => apply(line.number, `rule ${line.number} dropped`, drop, { do: "drop" }));
    cell(made, button);
    return made;
  }
  const count = (rows) => `${rows} ${rows === 1 ? "row" : "rows"}`;
  function show() {
    const state = now();
    const shown = all ? state.lines : state.lines.slice(0, FOLDED);
    byId("edit-lines").replaceChildren(...shown.map(shownLine));
    byId("edit-more").hidden = shown.length === state.lines.length;
    byId("edit-more").textContent = `Show ${state.lines.length - shown.length} more rules`;
    const [old, found] = [predictions(first), predictions(state)];
    // Probabilities in percent, and their changes in points of it, as elsewhere on the page.
    const short = (value) => minus(String(Number(value.toPrecision(6))));
    const round = data.classes ? window.bgn.share : short;
    const moved = (by) => (by > 0 ? "+" : "") + (data.classes ? `${minus((100 * by).toFixed(1))} points` : short(by));
    byId("edit-rows").replaceChildren(...editing.rows.map((row, k) => {
      const made = document.createElement("tr");
      cell(made, row.name);
      cell(made, row.text, "number", "is");
      cell(made, round(old[k]), "number", "predicted");
      cell(made, round(found[k]), "number", "edited");
      cell(made, found[k] === old[k] ? "" : moved(found[k] - old[k]), "number", "change");
      return made;
    }));
    const steps = states.length - 1;
    byId("edit-undo").disabled = byId("edit-save").disabled = steps === 0;
    byId("edit-log").replaceChildren(...states.slice(1).map((each) => {
      const entry = each.log[each.log.length - 1];
      const made = document.createElement("li");
      made.textContent = `${entry.what}${entry.why ? ` (${entry.why})` : ""}: ${entry.changed} of ${count(entry.rows)} predicted otherwise`;
      return made;
    }));
    const others = found.filter((each, k) => each !== old[k]).length;
    byId("edit-note").textContent = steps ? `${steps} ${steps === 1 ? "change" : "changes"}; ${others} of ${count(found.length)} below predicted otherwise than at the start.` : "Nothing is changed yet.";
    if (window.bgn.edited?.listen) window.bgn.edited.listen(state.done);
  }

  // -- the file: what bgn.load reads -----------------------------------------------------------------------------

  function file() {
    const state = now();
    const made = copy(editing.file);
    made.network.terms = state.terms.map((term) => ({ ...term, coef: [turn * term.coef[0]] }));
    made.network.intercept = [turn * state.intercept];
    made.edits = state.log;
    const columns = made.schema.columns;
    const code = (value, j) => (Array.isArray(columns) && columns[j].categories ? columns[j].categories.indexOf(value) : value);
    const predict = predictor({ ...state, terms: made.network.terms, intercept: made.network.intercept[0] });
    // The made-up rows of the file, predicted anew; a row of the dataset has no place in it.
    made.checks = made.checks.filter((each) => !each.inputs.includes(null))
      .map(({ inputs }) => ({ inputs, prediction: predict(inputs.map(code)) }));
    return JSON.stringify(made, null, 1);
  }

  byId("edit-more").addEventListener("click", () => { all = true; show(); });
  byId("edit-undo").addEventListener("click", () => { states.pop(); show(); });
  function download(text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "edited.json";
    link.click();
    URL.revokeObjectURL(link.href);
  }
  byId("edit-save").addEventListener("click", async () => {
    const fetched = window.bgn.edited.fetch ? await window.bgn.edited.fetch(now().done) : file();
    if (fetched !== null) download(fetched);
  });
  window.bgn.edited = { file, predictions: () => predictions(now()), done: () => now().done };
  show();
})();

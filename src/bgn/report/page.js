// The page computes predictions itself, by the functions that bgn.export.to_javascript writes (bgnModel): the same
// float64 operations in the same order as bgn.Network.predict, so that both agree to the last bit.
(() => {
  const data = JSON.parse(document.getElementById("bgn-data").textContent);
  const { network, controls, terms, places, classes } = data;
  const byId = (id) => document.getElementById(id);

  const { score, answers, predict } = bgnModel;
  const several = classes !== null && classes.length > 2;

  function probabilities(row) {
    const found = predict(row);
    return several ? found : [1 - found, found];
  }

  // Of equally probable classes the first in the model's file.
  function best(row) {
    const found = score(row);
    return several ? found.indexOf(Math.max(...found)) : Number(data.turned ? found >= 0 : found > 0);
  }

  // What the panel below asks for: the prediction, or in per cent the probability of the class that is chosen.
  const wantedOf = (row) => (classes === null ? predict(row) : 100 * probabilities(row)[Number(byId("reach-class").value)]);

  const holds = (term, said) => (said[term.rule] > 0) === term.fires;

  // What a column adds to a condition's sum: a category is its number, a missing value null.
  function summand(condition, i, value) {
    const weight = condition.weights[i];
    const gap = condition.missing_as === null ? NaN : condition.missing_as[i];
    if (Array.isArray(weight)) return value === null ? gap : weight[value];
    return value === null ? gap * (weight || 1) : value * weight;
  }

  // -- numbers ------------------------------------------------------------------------------------------------

  const minus = (text) => text.replace("-", "\u2212");
  // The line through points, level beyond them.
  const between = (at, values, x) => {
    const k = at.findIndex((each) => each > x);
    if (k === 0) return values[0];
    if (k < 0) return values[values.length - 1];
    return values[k - 1] + ((values[k] - values[k - 1]) * (x - at[k - 1])) / (at[k] - at[k - 1]);
  };
  // Thousands are set apart in numbers of the target, as the rest of the page does.
  const apart = (text) => text.replace(/^([+-]?)(\d{4,})(\.\d+)?$/, (_, sign, digits, rest) =>
    sign + digits.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ?? ""));
  // A sum of the model's numbers has no more decimals than they have.
  const amount = (value) => minus(apart(places === null ? String(value) : value.toFixed(places)));
  const change = (value) => (value > 0 ? "+" : "") + amount(value);
  const added = (value) => minus(apart(data.addPlaces === null ? String(value) : value.toFixed(data.addPlaces)));
  const short = (value) => minus(apart(String(Number(value.toPrecision(4)))));
  const whole = (value) => minus(String(value));
  const share = (value) => (value > 0 && value < 0.0005 ? "<0.1%" : value > 0.9995 ? (value < 1 ? ">99.9%" : "100%") : `${(100 * value).toFixed(1)}%`);
  const asked = (value) => (classes === null ? amount(value) + data.unit : share(value / 100));

  const bits = new DataView(new ArrayBuffer(8));
  function neighbour(value, up) {
    if (value === 0) return up ? Number.MIN_VALUE : -Number.MIN_VALUE;
    bits.setFloat64(0, value);
    bits.setBigInt64(0, bits.getBigInt64(0) + (up === value > 0 ? 1n : -1n));
    return bits.getFloat64(0);
  }

  // -- what if ------------------------------------------------------------------------------------------------

  let start = data.typical.slice();
  let row = start.slice();
  const listeners = [];  // who is told of every row that is shown

  function changed(changes) {
    const other = row.slice();
    for (const [column, value] of changes) other[column] = value;
    return other;
  }

  function changesOf(control, value) {
    if (control.kind === "number") return [[control.column, value]];
    if (control.kind === "category") return [[control.column, value < 0 ? null : value]];
    return control.columns.map((column) => [column, column === value ? 1 : 0]);
  }

  function valueOf(control) {
    if (control.kind === "number") return row[control.column];
    if (control.kind === "category") return row[control.column] ?? -1;
    return control.columns.find((column) => row[column] === 1) ?? -1;
  }

  // What a part of a date is called: a month, a weekday, the day so many days after the first.
  function dated(control, value) {
    if (control.names.length) return control.names[value - 1] ?? "";
    const day = control.since ? new Date(Date.parse(control.since) + Math.floor(value) * 864e5) : null;
    return day === null || Number.isNaN(day.getTime()) ? "" : day.toISOString().slice(0, 10);
  }

  function told(control, value) {
    if (control.kind === "number") return value === null ? "missing" : dated(control, value) || whole(value) + (control.unit ? ` ${control.unit}` : "");
    return control.options.find((o) => o.column === value)?.name ?? "?";
  }

  function showControls() {
    controls.forEach((control, i) => {
      const value = valueOf(control);
      if (control.kind !== "number") {
        byId(`c${i}`).value = String(value);
        return;
      }
      if (control.missing) byId(`m${i}`).checked = value === null;
      if (byId(`d${i}`)) byId(`d${i}`).textContent = value === null ? "" : dated(control, value);
      byId(`c${i}`).disabled = byId(`s${i}`).disabled = value === null;
      if (value === null) {
        byId(`c${i}`).value = "";
        byId(`o${i}`).textContent = "";
        return;
      }
      // A field that holds this value keeps what was typed, such as 1.50.
      if (numberOf(byId(`c${i}`).value) !== value) byId(`c${i}`).value = String(value);
      byId(`s${i}`).value = String(value);
      const letters = byId(`c${i}`).value.length;
      byId(`c${i}`).style.width = letters > 11 ? `${letters + 3}ch` : "";
      byId(`c${i}`).removeAttribute("aria-invalid");
      const outside = value < control.low || value > control.high;
      byId(`o${i}`).textContent = outside ? `Outside the data, which lie between ${whole(control.low)} and ` +
        `${whole(control.high)}: the model has seen nothing like it.` : "";
    });
  }

  const [lowest, highest] = data.bounds ?? [null, null];
  const held = (value) => Math.min(Math.max(value, lowest ?? -Infinity), highest ?? Infinity);
  // What a text says as a number, NaN where it says none; a comma counts as the point.
  function numberOf(text) {
    const plain = text.trim().replace("\u2212", "-").replace(/^([+-]?\d*),(\d*)$/, "$1.$2");
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
  }

  // Why a column cannot hold what was typed, in a sentence; nothing where it can.
  function refusal(control, text) {
    const value = numberOf(text);
    if (!text.trim()) return control.missing ? "Enter a number, or tick “missing”." : "Enter a number.";
    if (Number.isNaN(value)) return `“${text.trim().slice(0, 40)}” is not a number: the prediction is still that of ${whole(valueOf(control) ?? control.middle)}.`;
    if (!Number.isFinite(value)) return `${text.trim().slice(0, 40)} is too large a number to compute with.`;
    if (control.whole && !Number.isInteger(value)) return `${control.name} holds whole numbers: ${whole(Math.floor(value))} or ${whole(Math.ceil(value))}, not ${whole(value)}.`;
    return "";
  }

  // Where the prediction lies between the least and the greatest that were seen, and how sure it is.
  function showRange(now, before, far) {
    if (!data.scale || !byId("range")) return;
    const [low, high] = data.scale;
    const [least, most] = [Math.min(low, now - far, before), Math.max(high, now + far, before)];
    const place = (value) => `${(100 * (value - least) / (most - least)).toFixed(2)}%`;
    const [band, was, is] = byId("range").children;
    band.style.left = place(now - far);
    band.style.width = `${(100 * 2 * far / (most - least)).toFixed(2)}%`;
    band.hidden = far === 0;
    was.style.left = place(before);
    is.style.left = place(now);
    const [left, right] = byId("range-ends").children;
    left.textContent = short(least);
    right.textContent = short(most) + data.unit;
    byId("range").hidden = byId("range-ends").hidden = false;
  }

  // The standard deviation of what the networks of an ensemble predict.
  function memberError() {
    const said = answers(row);
    const found = data.members.coef.map((weights, k) => held(weights.reduce((total, weight, i) => total + said[i] * weight, data.members.intercept[k])));
    const mean = found.reduce((a, b) => a + b, 0) / found.length;
    return Math.sqrt(found.reduce((total, each) => total + (each - mean) ** 2, 0) / (found.length - 1));
  }

  function showNumber(now) {
    const before = predict(start);
    byId("prediction").textContent = amount(now);
    const far = data.interval ? data.interval.reach * between(data.interval.at, data.interval.sizes, now) : 0;
    if (data.interval) byId("interval").textContent = `${short(held(now - far))} to ${short(held(now + far))}${data.unit}`;
    if (data.members) byId("member-error").textContent = short(memberError()) + data.unit;
    showRange(now, before, far);
    byId("prediction-start").textContent = amount(before) + data.unit;
    byId("prediction-change").textContent = now === before ? "no change" : change(now - before) + data.unit;
  }

  function showClasses() {
    const now = probabilities(row);
    const before = probabilities(start);
    const said = best(row);
    const first = best(start);
    byId("prediction").textContent = classes[said];
    now.forEach((each, k) => {
      const line = byId(`p${k}`);
      line.querySelector(".meter span").style.width = `${(100 * each).toFixed(2)}%`;
      line.querySelector(".number").textContent = share(each);
    });
    if (data.interval) {
      const inside = classes.filter((_, k) => 1 - now[k] <= data.interval.reach);
      byId("sure").textContent = inside.length ? "90 % prediction set:" : "90 % prediction set: none";
      byId("interval").textContent = inside.join(", ");
    }
    byId("prediction-start").textContent = `${classes[first]} (${share(before[first])})`;
    const moved = 100 * (now[said] - before[said]);
    byId("prediction-change").textContent = said !== first ? `now ${classes[said]}` :
      moved === 0 ? "no change" : minus(`${moved > 0 ? "+" : ""}${moved.toFixed(1)} percentage points`);
  }

  function showOutcome() {
    const now = predict(row);
    byId("prediction").dataset.value = String(now);
    if (classes === null) showNumber(now);
    else showClasses();
    const said = answers(row);
    const first = answers(start);
    let lit = 0;
    let points = 0;
    terms.forEach((term, i) => {
      const line = byId(`t${i}`);
      const yes = holds(term, said);
      const was = holds(term, first);
      lit += yes;
      if (yes) points += term.adds;
      line.classList.toggle("lit", yes);
      line.querySelector(".state").textContent = yes ? "yes" : "no";
      line.querySelector(".moved").textContent = yes === was ? "" : (yes ? "+" : "\u2212") + added(term.adds);
    });
    network.linear.forEach((line, k) => {
      if (several) return;
      const counted = (from) => line.coef * Math.min(Math.max(from[line.column] === null ? line.missing_as : from[line.column], line.low), line.high);
      const moved = counted(row) - counted(start);
      byId(`l${k}`).querySelector(".state").textContent = short(counted(row));
      byId(`l${k}`).querySelector(".moved").textContent = moved === 0 ? "" : (moved > 0 ? "+" : "") + short(moved);
    });
    byId("lit").textContent = `${lit} of ${terms.length}`;
    if (byId("total-points")) byId("total-points").textContent = String(points);
  }

  function show() {
    showControls();
    showOutcome();
    showReach();
    for (const tell of listeners) tell(row);
  }

  // -- what would it take -------------------------------------------------------------------------------------

  function candidates(control) {
    // A gap is never proposed, and one that is there stays.
    if (control.kind === "category") return row[control.column] === null ? [] : control.options.map((option) => option.column).filter((code) => code >= 0);
    if (control.kind === "choice") return control.options.map((option) => option.column);
    if (row[control.column] === null) return [];
    const found = [];
    for (const condition of network.conditions) {
      const place = condition.columns.indexOf(control.column);
      if (place < 0) continue;
      let rest = condition.bias;
      condition.columns.forEach((column, i) => { if (i !== place) rest += summand(condition, i, row[column]); });
      const cut = -rest / condition.weights[place];
      if (!Number.isFinite(cut)) continue;
      if (control.whole) {
        const down = Math.floor(cut);
        found.push(down - 1, down, down + 1, down + 2);
        continue;
      }
      // The sum above may round otherwise than the network's: a few neighbours on both sides are certain to straddle.
      let low = cut, high = cut;
      found.push(cut);
      for (let k = 0; k < 6; k++) {
        low = neighbour(low, false);
        high = neighbour(high, true);
        found.push(low, high);
      }
      const far = 1e-9 * Math.max(1, Math.abs(cut));
      found.push(cut - far, cut + far);
    }
    for (const line of network.linear) if (line.column === control.column) found.push(...alongLine(control, line, found));
    return found.filter((value) => value >= control.low && value <= control.high);
  }

  // Between thresholds a linear term moves the prediction evenly: where it passes what is wanted, and the ends.
  function alongLine(control, line, cuts) {
    const wanted = byId("reach-value").valueAsNumber;
    const edges = [control.low, control.high, line.low, line.high, ...cuts]
      .filter((value) => value >= control.low && value <= control.high).sort((a, b) => a - b);
    const found = edges.slice();
    for (let i = 0; i + 1 < edges.length; i++) {
      const middle = edges[i] / 2 + edges[i + 1] / 2;
      if (classes !== null) {
        found.push(...passing(control, edges[i], edges[i + 1], wanted));
        continue;
      }
      const value = middle + (wanted - score(changed(changesOf(control, middle)))) / line.coef;
      const far = 1e-12 * Math.max(1, Math.abs(value));
      if (value >= edges[i] && value <= edges[i + 1]) found.push(value, value - far, value + far, value - 1e3 * far, value + 1e3 * far);
    }
    return control.whole ? found.flatMap((value) => [Math.floor(value), Math.ceil(value)]) : found;
  }

  // The last float before a probability along a linear term passes what is wanted, and the first after it.
  function passing(control, low, high, wanted) {
    const above = (value) => wantedOf(changed(changesOf(control, value))) >= wanted;
    const first = above(low);
    if (first === above(high)) return [];
    for (let k = 0; k < 100; k++) {
      const middle = low / 2 + high / 2;
      if (middle <= low || middle >= high) break;
      if (above(middle) === first) low = middle; else high = middle;
    }
    return [low, high];
  }

  function rounder(control, value, good) {
    if (control.kind !== "number" || control.whole) return value;
    const room = Math.abs(value - row[control.column]) + 0.005 * (control.high - control.low);
    for (let digits = 2; digits < 17; digits++) {
      const round = Number(value.toPrecision(digits));
      if (Math.abs(round - row[control.column]) <= room && round >= control.low && round <= control.high &&
          good(wantedOf(changed(changesOf(control, round))))) return round;
    }
    return value;
  }

  function cheapest(control, good) {
    let best = null;
    let reach = null;
    for (const value of candidates(control)) {
      const got = wantedOf(changed(changesOf(control, value)));
      if (reach === null || data.sign * got > data.sign * reach.got) reach = { control, value, got };
      if (!good(got)) continue;
      const cost = control.kind !== "number" ? 0 :
        Math.abs(value - row[control.column]) / ((control.high - control.low) || 1);
      if (best === null || cost < best.cost) best = { control, value, cost };
    }
    if (best !== null) {
      best.value = rounder(control, best.value, good);
      best.got = wantedOf(changed(changesOf(control, best.value)));
    }
    return { best, reach };
  }

  function showReach() {
    const list = byId("reach-list");
    const note = byId("reach-note");
    list.replaceChildren();
    const wanted = byId("reach-value").valueAsNumber;
    if (!Number.isFinite(wanted)) {
      note.textContent = "Enter a value to see which single change reaches it.";
      return;
    }
    data.sign = byId("reach-way").value === "at least" ? 1 : -1;
    const good = (value) => data.sign * value >= data.sign * wanted;
    if (good(wantedOf(row))) {
      note.textContent = "The prediction is there already.";
      return;
    }
    const tried = controls.map((control) => cheapest(control, good));
    const ways = tried.filter((one) => one.best).map((one) => one.best).sort((a, b) => a.cost - b.cost);
    if (!ways.length) {
      const far = tried.map((one) => one.reach).filter(Boolean)
        .sort((a, b) => data.sign * (b.got - a.got))[0];
      note.textContent = "No single change within the range of the data is enough." + (far && data.sign * (far.got - wantedOf(row)) > 0 ?
        ` The furthest that one gets is ${asked(far.got)}, with ${far.control.name} at ${told(far.control, far.value)}.` : "");
      return;
    }
    note.textContent = ways.length === 1 ? "One change is enough:" : "Any one of these changes is enough, the smallest first:";
    for (const way of ways) {
      const item = document.createElement("li");
      const text = document.createElement("span");
      const name = document.createElement("b");
      name.textContent = way.control.name;
      text.append(name, ` from ${told(way.control, valueOf(way.control))} to ${told(way.control, way.value)} gives ${asked(way.got)} `);
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Apply";
      button.addEventListener("click", () => { row = changed(changesOf(way.control, way.value)); show(); });
      item.append(text, button);
      list.append(item);
    }
  }

  // -- wiring -------------------------------------------------------------------------------------------------

  function load(values, called = "") {
    start = values.slice();
    row = start.slice();
    byId("started").textContent = called;
    show();
  }

  controls.forEach((control, i) => {
    const set = (value) => { row = changed(changesOf(control, value)); show(); };
    if (control.missing) {
      byId(`m${i}`).addEventListener("change", (event) => set(event.target.checked ? null : start[control.column] ?? control.middle));
    }
    if (control.kind !== "number") {
      byId(`c${i}`).addEventListener("change", (event) => set(Number(event.target.value)));
      return;
    }
    // A slider goes in steps of a thousandth of its way or less, so that it stops at numbers of few digits.
    const unit = 10 ** (Math.floor(Math.log10(control.high - control.low)) - 3);
    byId(`s${i}`).addEventListener("input", (event) => {
      const at = event.target.valueAsNumber, round = Number((Math.round(at / unit) * unit).toPrecision(12));
      set(round > control.low && round < control.high && Number.isFinite(round) ? round : at);
    });
    byId(`c${i}`).addEventListener("input", (event) => {
      const wrong = refusal(control, event.target.value);
      if (!wrong) { set(numberOf(event.target.value)); return; }
      event.target.setAttribute("aria-invalid", "true");
      byId(`o${i}`).textContent = wrong;
    });
    // Who leaves a field with what cannot be sees what the model took.
    byId(`c${i}`).addEventListener("change", (event) => {
      if (refusal(control, event.target.value) && row[control.column] !== null) event.target.value = String(row[control.column]);
    });
  });
  byId("reset").addEventListener("click", () => load(start, byId("started").textContent));
  byId("rows").addEventListener("change", (event) => {
    const i = Number(event.target.value);
    load(i < 0 ? data.typical : data.rows[i]);
  });
  byId("reach-value").addEventListener("input", showReach);
  byId("reach-way").addEventListener("change", showReach);
  if (classes !== null) byId("reach-class").addEventListener("change", showReach);
  document.querySelectorAll("button[data-row]").forEach((button) => {
    button.addEventListener("click", () => {
      byId("rows").value = button.dataset.row;
      load(data.rows[Number(button.dataset.row)]);
      byId("what-if").scrollIntoView();
      byId("what-if").focus({ preventScroll: true });
    });
  });

  // -- the drawing: point at a rule ---------------------------------------------------------------------------

  const drawings = document.querySelectorAll("#network svg");
  const detail = byId("rule-detail");
  const untouched = detail.textContent;
  function point(rule) {
    drawings.forEach((drawing) => drawing.classList.toggle("pointing", rule !== null));
    document.querySelectorAll("#network [data-rule], #card [data-rule]").forEach((element) => {
      element.classList.toggle("on", rule !== null && element.dataset.rule === rule);
    });
    const term = terms.find((one) => String(one.rule) === rule);
    detail.textContent = term ? term.detail : untouched;
  }
  function pointAtGroup(place) {
    const group = place === null ? null : data.groups[place];
    drawings.forEach((drawing) => drawing.classList.toggle("pointing", group !== null));
    document.querySelectorAll("#network [data-group]").forEach((element) => {
      element.classList.toggle("on", group !== null && element.dataset.group.split(" ").includes(String(place)));
    });
    document.querySelectorAll("#card [data-rule]").forEach((element) => {
      element.classList.toggle("on", group !== null && group.rules.includes(Number(element.dataset.rule)));
    });
    detail.textContent = group ? group.detail : untouched;
  }
  document.querySelectorAll("#network g[data-group]").forEach((box) => {
    for (const event of ["mouseenter", "focus", "click"]) box.addEventListener(event, () => pointAtGroup(Number(box.dataset.group)));
    for (const event of ["mouseleave", "blur"]) box.addEventListener(event, () => pointAtGroup(null));
  });
  document.querySelectorAll("#network g[data-rule]").forEach((group) => {
    for (const event of ["mouseenter", "focus", "click"]) group.addEventListener(event, () => point(group.dataset.rule));
    for (const event of ["mouseleave", "blur"]) group.addEventListener(event, () => point(null));
  });

  // On paper nothing can be unfolded: how the model was made is printed.
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("#made details:not([open])")];
    for (const each of unfolded) each.open = true;
  });
  window.addEventListener("afterprint", () => { for (const each of unfolded) each.open = false; });

  window.bgn = {
    predict, answers, score, load, told, amount, asked, share,
    row: () => row.slice(), set: (values) => { row = values.slice(); show(); }, listen: (tell) => listeners.push(tell),
  };
  show();
})();

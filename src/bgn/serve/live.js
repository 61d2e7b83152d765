// The page with Python behind it: rows of the whole table, predictions with reasons, exact changes, edits on all
// training rows.
(() => {
  const data = JSON.parse(document.getElementById("bgn-data").textContent);
  const byId = (id) => document.getElementById(id);
  const { classes, controls, live } = data;
  const minus = (text) => text.replace("-", "\u2212");
  const short = (value) => minus(String(Number(value.toPrecision(4))));

  // An answer, or an error whose message a person can read.
  async function ask(question, body) {
    let answer;
    try {
      answer = await fetch(`api/${question}`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), credentials: "omit",
      });
    } catch (error) {
      throw new Error("Nobody answers: bgn serve has ended. Start it again and open the address that it prints.");
    }
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    return found;
  }

  // -- rows by number or key --------------------------------------------------------------------------------------

  byId("find-row").hidden = !live.rows;
  byId("find-row").addEventListener("submit", async (event) => {
    event.preventDefault();
    const note = byId("find-note");
    note.textContent = "";
    byId("find").removeAttribute("aria-invalid");
    try {
      const row = await ask("row", { name: byId("find").value });
      const said = typeof row.truth === "number" ? window.bgn.amount(row.truth) + data.unit : row.truth;
      byId("rows").selectedIndex = -1;
      window.bgn.load(row.values, `Row ${row.name}${row.truth === null ? "" : `, which is ${said}`}.`);
    } catch (error) {
      byId("find").setAttribute("aria-invalid", "true");
      note.textContent = error.message;
    }
  });

  // -- predictions ------------------------------------------------------------------------------------------------

  let waiting = null;
  let latest = 0;
  function says(found) {
    const own = window.bgn.predict(window.bgn.row());
    const same = Array.isArray(own) ? own.every((each, k) => Math.abs(each - found.prediction[k]) < 1e-9) :
      Math.abs(own - found.prediction) <= 1e-9 * Math.max(1, Math.abs(own));
    let text = same ? "Python says the same." : `Python says ${JSON.stringify(found.prediction)}.`;
    if (found.standard_error !== undefined && !Array.isArray(found.standard_error)) {
      text += classes === null ? ` Standard error ${short(found.standard_error)}${data.unit}.` :
        ` Standard error ${short(100 * found.standard_error)} percentage points.`;
    }
    if (found.reasons.length) {
      const parts = found.reasons.map((each) => `${each.name} ${each.adds > 0 ? "+" : ""}${short(each.adds)}`);
      text += ` Moved from the mean${classes === null ? "" : ", in log-odds,"} by ${parts.join("; ")}.`;
    }
    return text;
  }
  window.bgn.listen((row) => {
    clearTimeout(waiting);
    const turn = ++latest;
    waiting = setTimeout(async () => {
      let text;
      try { text = says(await ask("predict", { row })); } catch (error) { text = error.message; }
      if (turn === latest) byId("live-note").textContent = text;
    }, 150);
  });

  // -- the cheapest change of several values ------------------------------------------------------------------------

  function stay() {
    return [...byId("stays").querySelectorAll("input:checked")].flatMap((box) => {
      const control = controls[Number(box.value)];
      return control.kind === "choice" ? control.columns : [control.column];
    });
  }
  const told = (value) => (typeof value === "number" ? minus(String(value)) : value);
  byId("exact-ask").addEventListener("click", async () => {
    const note = byId("exact-note");
    const list = byId("exact-list");
    const wanted = byId("reach-value").valueAsNumber;
    list.replaceChildren();
    if (!Number.isFinite(wanted) && classes === null) { note.textContent = "Enter above what is wanted."; return; }
    const end = byId("reach-way").value === "at least" ? "at_least" : "at_most";
    const body = { row: window.bgn.row(), stay: stay() };  // without a probability it is the class that is wanted
    if (Number.isFinite(wanted)) body[end] = classes === null ? wanted : wanted / 100;
    if (classes !== null) body.class = Number(byId("reach-class").value);
    note.textContent = "Python is searching …";
    try {
      const found = await ask("counterfactual", body);
      const reached = found.prediction === null ? "" : window.bgn.asked(classes === null ? found.prediction : 100 * found.prediction);
      if (!found.found) {
        note.textContent = found.unreachable ? `Proven: no change will do${reached ? `; ${found.proven ? "the best that can be had" : "the nearest found"} is ${reached}` : ""}.` : "None was found in time.";
        return;
      }
      if (!found.changes.length) { note.textContent = "The prediction is there already."; return; }
      note.textContent = `These changes together give ${reached}${found.proven ? ", proven to be the cheapest" : ""}${found.proven && found.within ? ` to within ${(100 * Math.max(found.within, 0.001)).toFixed(1)}%` : ""}:`;
      for (const each of found.changes) {
        const item = document.createElement("li");
        const name = document.createElement("b");
        name.textContent = each.name;
        item.append(name, ` from ${told(each.from)} to ${told(each.to)}`);
        list.append(item);
      }
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Apply";
      button.addEventListener("click", () => window.bgn.set(found.values));
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    } catch (error) {
      note.textContent = error.message;
    }
  });

  // -- edits ------------------------------------------------------------------------------------------------------

  if (window.bgn.edited) {
    const note = byId("edit-live");
    window.bgn.edited.listen = async (changes) => {
      if (!changes.length) { note.textContent = ""; return; }
      try {
        const found = await ask("edit", { changes });
        const last = found.log[found.log.length - 1];
        const error = last.before === undefined || last.before === null ? "" :
          `; ${classes === null ? "mean squared error" : "log loss"} ${short(last.before)} before, ${short(last.after)} after`;
        note.textContent = `Python, on ${found.rows}: the last change moved ` +
          `${last.changed.toLocaleString("en")} predictions${error}.`;
      } catch (error) {
        note.textContent = error.message;
      }
    };
    window.bgn.edited.fetch = async (changes) => {
      try {
        return (await ask("file", { changes })).text;
      } catch (error) {
        note.textContent = error.message;
        return null;
      }
    };
    if (live.save) {
      const button = document.createElement("button");
      button.type = "button";
      button.id = "edit-keep";
      button.textContent = `Write to ${live.save}`;
      button.addEventListener("click", async () => {
        try {
          const found = await ask("save", { changes: window.bgn.edited.done() });
          note.textContent = `Written to ${found.saved}, with ${found.changes} ${found.changes === 1 ? "change" : "changes"}.`;
        } catch (error) {
          note.textContent = error.message;
        }
      });
      byId("edit-save").after(" ", button);
    }
  }
  window.bgn.set(window.bgn.row());
})();

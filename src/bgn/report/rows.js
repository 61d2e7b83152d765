// The rows that readers can start from: unpacked when one is first asked for, found by number or key.
(() => {
  const data = JSON.parse(document.getElementById("bgn-data").textContent);
  const { starts } = data;
  const byId = (id) => document.getElementById(id);
  if (!starts) return;
  byId("find-row").hidden = false;
  let unpacked = null;

  async function rows() {
    if (unpacked) return unpacked;
    const bytes = Uint8Array.from(atob(starts.packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    unpacked = JSON.parse(await new Response(stream).text());
    return unpacked;
  }

  const plain = (text) => text.trim().toLowerCase();
  const parts = (name) => [name, ...name.split(" \u00b7 ")].map(plain);

  function missing(names, text) {
    if (starts.count < starts.of && starts.numbered) {
      return `This page holds ${starts.count.toLocaleString("en")} of the ${starts.of.toLocaleString("en")} rows, and row ` +
        `${text} is not among them; the next before it is row ${before(names, text)}.`;
    }
    const alike = names.filter((name) => parts(name).some((part) => part.startsWith(plain(text)))).slice(0, 3);
    const hint = alike.length ? ` Did you mean ${alike.join(", ")}?` : ` The first is ${names[0]}, the last ${names[names.length - 1]}.`;
    return `There is no row “${text.slice(0, 40)}”.${hint}`;
  }

  function before(names, text) {
    const wanted = Number(text);
    const below = names.filter((name) => parseInt(name, 10) <= wanted);
    return below.length ? below[below.length - 1] : names[0];
  }

  async function find(event) {
    event.preventDefault();
    const text = byId("find").value.trim();
    const note = byId("find-note");
    note.textContent = "";
    byId("find").removeAttribute("aria-invalid");
    if (!text) { note.textContent = "Enter the number of a row, the first being 1, or its key."; return; }
    let known;
    try {
      known = await rows();
    } catch (error) {
      note.textContent = "This browser cannot unpack the rows; a newer one can.";
      return;
    }
    const place = known.names.findIndex((name) => parts(name).includes(plain(text)));
    if (place < 0) {
      byId("find").setAttribute("aria-invalid", "true");
      note.textContent = missing(known.names, text);
      return;
    }
    const values = data.typical.slice();
    starts.columns.forEach((column, k) => { values[column] = known.columns[k][place]; });
    const truth = known.truth[place];
    const said = typeof truth === "number" ? window.bgn.amount(truth) + data.unit : truth;
    byId("rows").selectedIndex = -1;
    window.bgn.load(values, `Row ${known.names[place]}${starts.which}${truth === null ? "" : `, which is ${said}`}.`);
  }
  byId("find-row").addEventListener("submit", find);
  window.bgn.rows = rows;
})();

// Predicts value. Written by bgn; needs nothing else.
export const columns = ["income", "city"];
const _categories_1 = new Map([["Lille", 0], ["Nice", 1], ["Rome", 2]]);
const _table_0 = [true, true, false, true];
const _table_1 = [0, -6, 0, 0];
const _missing = (value) => value === null || value === undefined || Number.isNaN(value);
function _cell(row, name) {
  const value = Object.prototype.hasOwnProperty.call(row, name) ? row[name] : null;
  return _missing(value) ? null : value;
}
function _number(value, name) {
  if (value === null) return NaN;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "number") throw new TypeError(`${name} must be a number`);
  if (!Number.isFinite(value)) throw new RangeError(`${name} is infinite`);
  return value;
}
function _place(categories, value, none) {
  if (value === null) return none;
  const word = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  const found = categories.get(value) ?? categories.get(word);
  return found === undefined ? none : found;
}

/** The raw score of a row. */
export function score(row) {
  let x0 = _number(_cell(row, "income"), "income");
  let x1 = _place(_categories_1, _cell(row, "city"), 3);
  let t0 = 200;
  t0 += (x0 >= 65.5 ? 65 : -65);
  t0 += (_table_0[x1] ? 25 : -25);
  t0 += ((x0 == x0 ? x0 : 38.5) + _table_1[x1] >= 30 ? 10 : -10);
  return t0 / 100;
}

/** The prediction. */
export function predict(row) {
  return score(row);
}

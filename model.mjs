// Predicts value. Written by bgn; needs nothing else.
export const columns = ["income", "city"];
const _categories_1 = new Map([["Lille", "Lille"], ["Nice", "Nice"], ["Rome", "Rome"]]);
const _table_0 = new Map([["Lille", 0], ["Nice", -6], ["Rome", 0]]);
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
function _category(categories, value) {
  const text = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  return value === null ? null : categories.get(value) ?? categories.get(text) ?? null;
}

/** The raw score of a row. */
export function score(row) {
  let income = _number(_cell(row, "income"), "income");
  let city = _category(_categories_1, _cell(row, "city"));
  let t0 = 100;
  t0 += 130 * (income >= 65.5);
  t0 += 50 * (city !== "Rome");
  t0 += 20 * ((income !== income ? 38.5 : income) + (_table_0.get(city) ?? 0) >= 30);
  return t0 / 100;
}

/** The prediction. */
export function predict(row) {
  return score(row);
}

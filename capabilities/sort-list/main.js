// A list, or the lines of a text: put together with another one, freed of doubles, and sorted. Equal elements keep their order.
const { items, combine, "with": others, by, order, natural, unique, ignore_case: ignoreCase, limit } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// ---- the elements of a text: its lines; of a single line what JSON, semicolons or commas list

function elementsOf(text) {
  const lines = text.split(/\r\n|[\n\r]/).filter((line) => line.trim() !== "");
  if (lines.length !== 1) return lines;
  const line = lines[0].trim();
  if (/^\[.*\]$/.test(line)) {
    try {
      return JSON.parse(line);
    } catch {
      throw invalid("the text begins as a JSON list and is none: give a list, or one element a line");
    }
  }
  const parts = line.split(line.includes(";") ? ";" : /,(?!\d{3}(?!\d))|[，、]/).map((part) => part.trim()).filter((part) => part !== "");
  if (parts.length < 2 && /\d,\d|\s(?:and|und|et|&|\|)\s|\t|[\p{L}]和[\p{L}]/u.test(line)) throw invalid("the text is one line: give a list, or one element a line");
  if (parts.length < 2) return lines;
  const last = parts.pop(), begun = last.replace(/^(?:and|und|et|&)\s/i, "").trim();
  return [...parts, ...(begun === last ? last.split(/\s(?:and|und|et|&)\s/i).map((part) => part.trim()) : [begun])];
}

const listOf = (given) => (typeof given === "string" ? elementsOf(given) : given);

// ---- what is compared: the element, or a member of it

function keyOf(element) {
  if (by === undefined) return element;
  return by.split(".").reduce((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), element);
}

const folded = (text) => (ignoreCase ? text.toLowerCase() : text);
// Members of an object may stand in any order.
const plain = (value) => (isObject(value) ? Object.keys(value).sort().map((name) => [name, plain(value[name])]) : Array.isArray(value) ? value.map(plain) : value);
const identity = (element) => {
  const key = keyOf(element);
  return typeof key === "string" ? `"${folded(key)}` : JSON.stringify([isObject(key), plain(key ?? null)]);
};

// ---- order: numbers by size, then texts, then true and false, then the rest; what is missing comes last in either direction

const RANKS = { number: 0, string: 1, boolean: 2 };
const rank = (key) => RANKS[typeof key] ?? 3;
const isMissing = (key) => key === undefined || key === null || key === "";
// file2 before file10: a run of digits is written with how many there are in front, so that it compares like a number, however long.
const measured = (text) => text.replace(/0*(\d+)/g, (_, digits) => `0${String.fromCharCode(digits.length)}${digits}`);
const comparable = (key) => (typeof key !== "string" ? key : natural ? measured(folded(key)) : folded(key));

function compared(a, b) {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (rank(a) === 3) return 0;
  return a < b ? -1 : a > b ? 1 : 0;
}

function sorted(list) {
  if (order === "keep") return list;
  if (order === "reverse") return [...list].reverse();
  const sign = order === "descending" ? -1 : 1, keyed = list.map((element) => [comparable(keyOf(element)), element]);
  return keyed.sort(([a], [b]) => (isMissing(a) || isMissing(b) ? isMissing(a) - isMissing(b) : sign * compared(a, b))).map(([, element]) => element);
}

// ---- doubles and sets

function single(list) {
  const seen = new Set();
  return list.filter((element) => { const key = identity(element); return !seen.has(key) && seen.add(key); });
}

function combined(list) {
  if (combine === undefined && others === undefined) return list;
  if (combine === undefined || others === undefined) throw invalid("combine and with belong together: how, and the second list");
  const second = listOf(others), keys = new Set(second.map(identity));
  if (combine === "union") return single([...list, ...second]);
  return single(list.filter((element) => keys.has(identity(element)) === (combine === "intersection")));
}

const all = combined(listOf(items)), kept = unique ? single(all) : all, result = sorted(kept).slice(0, limit);
return { items: result, count: result.length, ...(unique ? { doubles: all.length - kept.length } : {}) };

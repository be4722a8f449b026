// RFC 4180, read with any of three line ends and one of four delimiters.
const SIGNS = { comma: ",", semicolon: ";", tab: "\t", pipe: "|" };
const { data, to, delimiter, header, types, line_end: lineEnd } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const shown = (text) => JSON.stringify(String(text).slice(0, 40).toWellFormed());

// ---- reading

// The delimiter that the first line has most of outside of quotes.
function guessed(text) {
  const first = /^(?:"[^"]*"|[^"\r\n])*/.exec(text)[0].replace(/"[^"]*"/g, "");
  const counts = Object.values(SIGNS).map((sign) => [first.split(sign).length, sign]);
  return counts.reduce((best, one) => (one[0] > best[0] ? one : best))[1];
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/;

function typed(field) {
  if (field === "") return null;
  if (field === "true" || field === "false") return field === "true";
  const number = NUMBER.test(field) ? Number(field) : NaN;
  return Number.isFinite(number) && field.replace(/\D/g, "").length <= 15 ? number : field;
}

// Records as { fields, line }; a line with nothing in it is none.
function records(text) {
  const sign = SIGNS[delimiter] ?? guessed(text), escaped = sign === "|" ? "\\|" : sign;
  const FIELD = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${sign}\\r\\n]*))(${escaped}|\\r\\n|\\r|\\n|$)`, "y");
  const found = [];
  let fields = [], line = 1, start = 1;
  while (FIELD.lastIndex < text.length || fields.length) {
    const at = FIELD.lastIndex, match = FIELD.exec(text);
    if (!match) throw unreadable(text, at, line);
    const [whole, quoted, plain, end] = match;
    fields.push(quoted !== undefined ? quoted.replaceAll('""', '"') : types ? typed(plain) : plain);
    line += quoted === undefined ? 0 : quoted.split(/\r\n|[\r\n]/).length - 1;
    if (end === sign) continue;
    if (fields.length > 1 || whole !== end) found.push({ fields, line: start });
    [fields, line] = [[], line + 1];
    start = line;
  }
  return found;
}

function unreadable(text, at, line) {
  if (text[at] !== '"') return invalid(`line ${line}: a quote stands inside a field; put the field into quotes and double those inside`);
  const closed = /"[^"]*(?:""[^"]*)*"/y;
  closed.lastIndex = at;
  return invalid(`line ${line}: ${closed.test(text) ? "after a closing quote comes neither delimiter nor line end" : "a quote is not closed"}`);
}

function read(text) {
  const rows = records(text.replace(/^\ufeff/, ""));
  const odd = rows.find(({ fields }) => fields.length !== rows[0].fields.length);
  if (odd) throw invalid(`line ${odd.line} has ${odd.fields.length} fields, the first one ${rows[0].fields.length}: is the delimiter right?`);
  if (!header) return rows.map(({ fields }) => fields);
  const names = (rows.shift()?.fields ?? []).map((name) => String(name ?? ""));
  const seen = new Set(), twice = names.find((name) => seen.has(name) || !seen.add(name));
  if (twice !== undefined) throw invalid(`two columns are called ${shown(twice)}: rename one, or set header to false`);
  return rows.map(({ fields }) => Object.fromEntries(names.map((name, place) => [name, fields[place]])));
}

// ---- writing

function list() {
  if (typeof data !== "string") return data;
  const long = /(?<![\d.])\d{17,}/.exec(data.replace(/"(?:[^"\\]|\\[^])*"/g, '""'))?.[0];
  if (long) throw invalid(`${long.slice(0, 40)} has more digits than a number keeps: put it in quotes`);
  try {
    const value = JSON.parse(data);
    if (Array.isArray(value)) return value;
  } catch (problem) {
    throw invalid(`the data is no JSON: ${problem.message}`);
  }
  throw invalid("the data is no list: give a list of objects or of lists");
}

function write(rows) {
  const sign = SIGNS[delimiter] ?? ",", end = lineEnd === "lf" ? "\n" : "\r\n";
  const isObject = (row) => typeof row === "object" && row !== null && !Array.isArray(row);
  const objects = rows.every(isObject);
  if (!objects && !rows.every(Array.isArray)) throw invalid("every row is an object, or every row is a list");
  const names = objects ? [...new Set(rows.flatMap(Object.keys))] : [];
  if (names.length * rows.length > 1_000_000) throw invalid("more than a million fields: the rows have too many different names");
  const table = objects ? rows.map((row) => names.map((name) => (Object.hasOwn(row, name) ? row[name] : null))) : rows;
  if (table.some((row) => !row.length)) throw invalid("a row has no fields at all: leave it out");
  const field = (value) => {
    const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
    return /["\r\n]/.test(text) || text.includes(sign) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const line = (row) => (row.length === 1 && (row[0] ?? "") === "" ? '""' : row.map(field).join(sign)) + end; // an empty line would be no row
  return (objects && header && names.length ? [names, ...table] : table).map(line).join("");
}

if (to === "csv") return write(list());
if (typeof data !== "string") throw invalid("to read CSV give its text; to write CSV set to to csv");
return read(data);

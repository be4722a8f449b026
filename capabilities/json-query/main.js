// JSONPath (RFC 9535) and the plain dotted paths that people write, read into steps; a step maps a list of values to the next list.
const LIMIT_DEPTH = 30;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const missing = (message) => Object.assign(new Error(message), { code: "ENOENT" });

// ---- reading the path

const text = input.path.trim();
let at = 0, depth = 0;

function wrong(wanted) {
  const found = at < text.length ? `"${text.slice(at, at + 12)}" found` : "it ends there";
  return invalid(`the path is wrong at character ${at + 1}: ${wanted} expected, ${found}`);
}

// The groups of `pattern` right here, which is then behind us; null when it does not match.
function take(pattern) {
  const sticky = new RegExp(pattern.source, "yu");
  sticky.lastIndex = at;
  const match = sticky.exec(text);
  if (match) at = sticky.lastIndex;
  return match;
}

function need(pattern, wanted) {
  const match = take(pattern);
  if (!match) throw wrong(wanted);
  return match;
}

const NAME = /([\p{L}\p{N}_$-]+)/;
const CONSTANT = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/;
const QUOTED = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/;

function unquoted([, double, single]) {
  try {
    return JSON.parse(`"${double ?? single.replace(/\\'/g, "'").replace(/"/g, '\\"')}"`);
  } catch {
    throw wrong("a text with valid escapes before this");
  }
}

// Everything before the first step: $, jq's lone dot, nothing before a dot or bracket, or a bare first name.
function beginning() {
  const root = take(/\$(?![\p{L}\p{N}_])|\.(?=\s*(?:\||$))/) || /^[.[]/.test(text);
  return root ? [] : [step([dotted()])];
}

function steps() {
  const found = [];
  for (;;) {
    if (take(/\s*\.\./)) found.push(step(take(/\[/) ? bracket() : [dotted()], true));
    else if (take(/\s*\.?\[/)) found.push(step(bracket()));
    else if (take(/\s*\./)) found.push(step([dotted()]));
    else return found;
  }
}

function dotted() {
  if (take(/\*/)) return everything;
  const quoted = take(QUOTED);
  return member(quoted ? unquoted(quoted) : need(NAME, "a name")[1]);
}

function bracket() {
  const selectors = [];
  if (take(/\s*\]/)) return [everything]; // jq's []
  do selectors.push(selector()); while (take(/\s*,/));
  need(/\s*\]/, '"]"');
  return selectors;
}

function selector() {
  take(/\s+/);
  if (take(/\*/)) return everything;
  if (take(/\?/)) return filter(either());
  const range = take(/(-?\d*)\s*:\s*(-?\d*)(?:\s*:\s*(-?\d*))?/);
  if (range) return slice(...range.slice(1).map((number) => (number ? Number(number) : undefined)));
  const index = take(/(-?\d+)/);
  return index ? element(Number(index[1])) : member(unquoted(need(QUOTED, "a quoted name, a number, *, a:b or ?")));
}

// ---- reading a filter, as a function of the value that @ means

function either() {
  const parts = [both()];
  while (take(/\s*\|\|/)) parts.push(both());
  return parts.length === 1 ? parts[0] : (value) => parts.some((part) => part(value));
}

function both() {
  const parts = [condition()];
  while (take(/\s*&&/)) parts.push(condition());
  return parts.length === 1 ? parts[0] : (value) => parts.every((part) => part(value));
}

function condition() {
  if (++depth > LIMIT_DEPTH) throw invalid("the filter is nested too deep");
  const test = take(/\s*!(?!=)/) ? negated(condition()) : grouped() ?? comparison();
  depth--;
  return test;
}

const negated = (test) => (value) => !test(value);

function grouped() {
  if (!take(/\s*\(/)) return undefined;
  const inner = either();
  need(/\s*\)/, '")"');
  return inner;
}

function comparison() {
  const left = operand(), sign = take(/\s*(==|!=|<=|>=|<|>)/)?.[1];
  if (!sign) return (value) => left.test(value);
  const right = operand(), compare = comparisons[sign];
  if (left.many || right.many) throw invalid("a filter compares single values: @.* and the like may be several; test for one, or use count()");
  return (value) => compare(left.of(value), right.of(value));
}

// An operand knows its value (undefined for nothing) and whether it holds as a test of its own.
function operand() {
  take(/\s+/);
  const root = take(/[@$]/)?.[0];
  if (root) return query(root, steps());
  const call = take(/(length|count|value|match|search)\s*\(/)?.[1];
  if (call) return called(call);
  const quoted = take(QUOTED);
  const constant = quoted ? unquoted(quoted) : JSON.parse(need(CONSTANT, "@, $, a number, a quoted text, true, false or null")[0]);
  return { of: () => constant, test: () => { throw invalid("a filter tests a path or compares two values"); } };
}

function query(root, path) {
  const nodes = (value) => follow(root === "@" ? value : document, path);
  return { nodes, many: path.some((one) => one.many), of: (value) => nodes(value)[0], test: (value) => nodes(value).length > 0 };
}

function called(name) {
  const first = operand(), second = take(/\s*,/) && operand();
  need(/\s*\)/, '")"');
  if (/count|value/.test(name) && !first.nodes) throw invalid(`${name}() takes a path, such as @.*`);
  if (/match|search/.test(name) !== Boolean(second)) throw invalid(`${name}() takes ${second ? "one argument" : "a path and a pattern"}`);
  const of = (value) => calls[name](first, value, second);
  return { of, test: (value) => of(value) === true };
}

const calls = {
  length: (part, value) => lengthOf(part.of(value)),
  count: (part, value) => part.nodes?.(value).length,
  value: (part, value) => part.of(value),
  match: (part, value, pattern) => matches(part.of(value), pattern.of(value), (source) => `^(?:${source})$`),
  search: (part, value, pattern) => matches(part.of(value), pattern.of(value), (source) => source),
};

function matches(value, pattern, framed) {
  if (typeof value !== "string" || typeof pattern !== "string") return false;
  try {
    return new RegExp(framed(pattern), "u").test(value);
  } catch (error) {
    throw invalid(`not a regular expression: ${error.message}`);
  }
}

const ordered = (a, b, test) => typeof a === typeof b && /number|string/.test(typeof a) && test(a, b);
const comparisons = {
  "==": (a, b) => same(a, b),
  "!=": (a, b) => !same(a, b),
  "<": (a, b) => ordered(a, b, (a, b) => a < b),
  ">": (a, b) => ordered(a, b, (a, b) => a > b),
  "<=": (a, b) => same(a, b) || ordered(a, b, (a, b) => a < b),
  ">=": (a, b) => same(a, b) || ordered(a, b, (a, b) => a > b),
};

const isObject = (value) => typeof value === "object" && value !== null;

function same(a, b) {
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

// ---- following it

const values = (value) => (isObject(value) ? Object.values(value) : []);
const everything = Object.assign((value) => values(value), { many: true });
const filter = (test) => Object.assign((value) => values(value).filter(test), { many: true });
const found = (value) => (value === undefined ? [] : [value]);
const element = (index) => Object.assign((value) => found(Array.isArray(value) ? value.at(index) : undefined), { label: `[${index}]` });

function member(name) {
  const select = (value) => {
    const holds = Array.isArray(value) ? /^\d+$/.test(name) : isObject(value) && Object.hasOwn(value, name);
    return found(holds ? value[name] : undefined);
  };
  return Object.assign(select, { label: `"${name}"` });
}

function slice(start, end, by = 1) {
  const select = (value) => {
    if (!Array.isArray(value) || by === 0) return [];
    const length = value.length, picked = [];
    const place = (index, otherwise) => (index === undefined ? otherwise : index < 0 ? index + length : index);
    const first = by > 0 ? Math.max(0, place(start, 0)) : Math.min(length - 1, place(start, length - 1));
    const last = by > 0 ? Math.min(length, place(end, length)) : Math.max(-1, place(end, -1));
    for (let i = first; by > 0 ? i < last : i > last; i += by) picked.push(value[i]);
    return picked;
  };
  return Object.assign(select, { many: true });
}

function step(selectors, deep = false) {
  const select = (value) => selectors.flatMap((selector) => selector(value));
  const apply = (value) => (deep ? descendants(value).flatMap(select) : select(value));
  return { apply, many: deep || selectors.length > 1 || selectors[0].many, label: selectors[0].label };
}

// The value and everything in it, each before its children.
function descendants(value) {
  const found = [], waiting = [value];
  while (waiting.length) {
    const one = waiting.pop();
    found.push(one);
    if (isObject(one)) waiting.push(...values(one).reverse());
  }
  return found;
}

function follow(value, path) {
  return path.reduce((nodes, one) => nodes.flatMap(one.apply), [value]);
}

function only(path) {
  let value = document;
  for (const { apply, label } of path) {
    const [inner] = apply(value);
    if (inner === undefined) throw missing(`${label} is not there; ${described(value)}`);
    value = inner;
  }
  return value;
}

function described(value) {
  if (Array.isArray(value)) return `there is a list of ${value.length}`;
  if (!isObject(value)) return `there is ${JSON.stringify(value).slice(0, 60)}`;
  return `there is ${Object.keys(value).map((key) => JSON.stringify(key)).join(", ") || "nothing"}`;
}

// ---- what may stand behind a |

function lengthOf(value) {
  if (typeof value === "string") return [...value].length;
  return isObject(value) ? values(value).length : undefined;
}

function numbers(value) {
  if (Array.isArray(value) && value.every((one) => typeof one === "number")) return value;
  throw invalid("sum, avg, min and max take a list of numbers");
}

const total = (value) => numbers(value).reduce((sum, one) => sum + one, 0);
const ends = {
  length: (value) => lengthOf(value) ?? null,
  keys: (value) => (isObject(value) ? Object.keys(value) : []),
  first: (value) => (Array.isArray(value) ? value.at(0) ?? null : value),
  last: (value) => (Array.isArray(value) ? value.at(-1) ?? null : value),
  sum: total,
  avg: (value) => (numbers(value).length ? total(value) / value.length : null),
  min: (value) => numbers(value).reduce((least, one) => (least === null || one < least ? one : least), null),
  max: (value) => numbers(value).reduce((most, one) => (most === null || one > most ? one : most), null),
};

// ---- the answer

function readable(json) {
  try {
    return typeof json === "string" ? JSON.parse(json) : json;
  } catch (error) {
    throw invalid(`this is not JSON: ${error.message}`);
  }
}

const document = readable(input.json);
const path = [...beginning(), ...steps()];
let result = path.some((one) => one.many) ? follow(document, path) : only(path);
while (take(/\s*\|\s*/)) result = ends[need(new RegExp(`(${Object.keys(ends).join("|")})\\b`), Object.keys(ends).join(", "))[1]](result);
if (take(/\s+/), at < text.length) throw wrong("the end, a dot, a bracket or |");
return result;

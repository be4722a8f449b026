// A JSON Patch (RFC 6902) that makes b of a, or a given patch applied to a. Equal values get the same number first, from the leaves
// up, so that comparing two of them costs nothing however large they are.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const fails = (message) => Object.assign(new Error(message), { code: "EPATCH" });
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const LIMIT_CELLS = 1_000_000, LIMIT_LIST = 200;

// Deeper than this the engine's stack would end before the work does.
function demandFlat(text, name) {
  let deep = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[{\]}]/g)) {
    deep += "[{".includes(token) ? 1 : "]}".includes(token) ? -1 : 0;
    if (deep > 100) throw invalid(`${name} is nested deeper than 100`);
  }
}

function readable(json, name) {
  demandFlat(typeof json === "string" ? json : JSON.stringify(json), name);
  try {
    return typeof json === "string" ? JSON.parse(json) : json;
  } catch (error) {
    throw invalid(`${name} is not JSON: ${error.message} (write a plain text with quotes: "\\"text\\"")`);
  }
}

// ---- equality

const numbers = new Map(), known = new Map();

function numberOf(value) {
  if (known.has(value)) return known.get(value);
  const key = Array.isArray(value)
    ? `[${value.map(numberOf)}`
    : isObject(value) ? `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${numberOf(value[name])}`)}` : JSON.stringify(value);
  if (!numbers.has(key)) numbers.set(key, numbers.size);
  if (typeof value === "object" && value !== null) known.set(value, numbers.get(key));
  return numbers.get(key);
}

const same = (a, b) => numberOf(a) === numberOf(b);

// ---- making a patch

const escaped = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");
const patch = [];
let cells = 0;

function compare(a, b, path) {
  if (same(a, b)) return;
  if (isObject(a) && isObject(b)) members(a, b, path);
  else if (Array.isArray(a) && Array.isArray(b)) elements(a, b, path);
  else patch.push({ op: "replace", path, value: b });
}

function members(a, b, path) {
  for (const name of Object.keys(a)) if (!Object.hasOwn(b, name)) patch.push({ op: "remove", path: `${path}/${escaped(name)}` });
  for (const name of Object.keys(b)) {
    if (Object.hasOwn(a, name)) compare(a[name], b[name], `${path}/${escaped(name)}`);
    else patch.push({ op: "add", path: `${path}/${escaped(name)}`, value: b[name] });
  }
}

// What begins and ends alike stays; between, what keeps its order stays too, and the gaps are compared place by place.
function elements(a, b, path) {
  let start = 0, tail = 0;
  while (start < a.length && start < b.length && same(a[start], b[start])) start++;
  while (tail < a.length - start && tail < b.length - start && same(a.at(-1 - tail), b.at(-1 - tail))) tail++;
  const [left, right] = [a.slice(start, a.length - tail), b.slice(start, b.length - tail)];
  let at = start, i = 0, j = 0;
  for (const [x, y] of [...kept(left, right), [left.length, right.length]]) {
    for (; i < x && j < y; i++, j++, at++) compare(left[i], right[j], `${path}/${at}`);
    for (; i < x; i++) patch.push({ op: "remove", path: `${path}/${at}` });
    for (; j < y; j++, at++) patch.push({ op: "add", path: `${path}/${at}`, value: right[j] });
    [i, j, at] = [x + 1, y + 1, at + 1];
  }
}

// Pairs of places of a longest common subsequence; none where the lists are too long to look for one.
function kept(a, b) {
  cells += a.length * b.length;
  if (!a.length || !b.length || a.length > LIMIT_LIST || b.length > LIMIT_LIST || cells > LIMIT_CELLS) return [];
  const [x, y] = [a.map(numberOf), b.map(numberOf)], rows = [new Uint16Array(b.length + 1)];
  for (let i = 1; i <= x.length; i++) {
    const above = rows[i - 1], row = (rows[i] = new Uint16Array(b.length + 1));
    for (let j = 1; j <= y.length; j++) row[j] = x[i - 1] === y[j - 1] ? above[j - 1] + 1 : Math.max(above[j], row[j - 1]);
  }
  const pairs = [];
  for (let i = x.length, j = y.length; i && j; ) {
    if (x[i - 1] === y[j - 1]) pairs.push([--i, --j]);
    else if (rows[i - 1][j] >= rows[i][j - 1]) i--;
    else j--;
  }
  return pairs.reverse();
}

// ---- applying one

function steps(pointer, where) {
  if (typeof pointer !== "string" || (pointer && !pointer.startsWith("/"))) throw invalid(`${where} is a JSON Pointer: "" or "/a/0"`);
  if (/~(?![01])/.test(pointer)) throw invalid(`${where}: write ~0 for ~ and ~1 for /`);
  return pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

// The element or member behind one step, which has to be there.
function child(parent, step, where) {
  const there = Array.isArray(parent) ? /^(0|[1-9]\d{0,8})$/.test(step) && step < parent.length : isObject(parent) && Object.hasOwn(parent, step);
  if (!there) throw fails(`${where}: ${JSON.stringify(step)} is not there`);
  return parent[step];
}

const find = (path, where) => path.reduce((value, step) => child(value, step, where), root.value);
const holder = (path, where) => (path.length ? find(path.slice(0, -1), where) : root);
const last = (path) => (path.length ? path.at(-1) : "value");
// A plain assignment to __proto__ would make no member.
const set = (target, name, value) => Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });

function add(path, value, where) {
  const parent = holder(path, where), step = last(path);
  if (!Array.isArray(parent)) {
    if (!isObject(parent)) throw fails(`${where}: nothing can be put into a plain value`);
    return set(parent, step, value);
  }
  if (step !== "-" && !(/^(0|[1-9]\d{0,8})$/.test(step) && step <= parent.length)) throw fails(`${where}: ${JSON.stringify(step)} is no place in a list of ${parent.length}`);
  return parent.splice(step === "-" ? parent.length : Number(step), 0, value);
}

function remove(path, where) {
  const parent = holder(path, where), value = child(parent, last(path), where);
  if (Array.isArray(parent)) parent.splice(Number(last(path)), 1);
  else if (path.length) delete parent[last(path)];
  return value;
}

const copied = (value) => JSON.parse(JSON.stringify(value));
const operations = {
  add: (path, { value }, where) => add(path, copied(value), where),
  remove: (path, step, where) => {
    if (!path.length) throw fails(`${where}: the whole document cannot be removed; replace it`);
    return remove(path, where);
  },
  replace: (path, { value }, where) => {
    child(holder(path, where), last(path), where);
    return set(holder(path, where), last(path), copied(value));
  },
  move: (path, { path: to, from }, where) => {
    if (to.startsWith(`${from}/`)) throw fails(`${where}: nothing can be moved into itself`);
    return to === from ? find(path, where) : add(path, remove(steps(from, `${where}, from`), where), where);
  },
  copy: (path, { from }, where) => add(path, copied(find(steps(from, `${where}, from`), where)), where),
  test: (path, { value }, where) => {
    if (!equal(find(path, where), value)) throw fails(`${where}: the value there is another`);
  },
};

function equal(a, b) {
  known.clear(); // what the patch changed has another number now
  return same(a, b);
}

const [a, b, given] = ["a", "b", "patch"].map((name) => (input[name] === undefined ? undefined : readable(input[name], name)));
if ((b === undefined) === (given === undefined)) throw invalid("give b, to get the patch from a to b, or patch, to apply it to a: one of them");
const root = { value: a };
if (given === undefined) {
  compare(a, b, "");
  return { equal: patch.length === 0, patch };
}
if (!Array.isArray(given)) throw invalid('patch is a list of operations: [{"op": "replace", "path": "/a", "value": 1}]');
given.forEach((step, i) => {
  const where = `operation ${i + 1}`;
  if (!isObject(step) || !Object.hasOwn(operations, step.op)) throw invalid(`${where}: op is add, remove, replace, move, copy or test`);
  if (/add|replace|test/.test(step.op) && !Object.hasOwn(step, "value")) throw invalid(`${where}: ${step.op} needs a value`);
  operations[step.op](steps(step.path, `${where}, path`), step, where);
});
return { result: root.value };

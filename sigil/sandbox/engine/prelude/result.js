// What a capability gives as its result, as JSON says it: promises awaited, collections as objects and lists. What JSON would lose or
// change without a word is refused, with its place.

const { isFinite } = Number;
const { keys, hasOwn } = Object;
const ENTRIES = ["execute", "main", "run", "handler", "handle", "default"]; // names of a function that is called
const SECOND = /^(env|ctx|context|_.*)$/; // names of a second parameter that is no field of the input
const NAME = /^[A-Za-z_$][\w$]*$/;

function refused(path, what) {
  return failure("EOUTPUT", `${path} ${what}`);
}

function pathOf(path, key) {
  return typeof key === "number" ? `${path}[${key}]` : NAME.test(key) ? `${path}.${key}` : `${path}[${stringify(key)}]`;
}

function fillList(values, path, above, waiting) {
  const list = [];
  let i = 0;
  for (const value of values) {
    const at = pathOf(path, i);
    if (value === undefined) throw refused(at, "is undefined: return a value, or null");
    put(list, i++, value, at, above, waiting);
  }
  return list;
}

function fillObject(pairs, path, above, waiting) {
  const object = { __proto__: null };
  for (const [key, value] of pairs) put(object, key, value, pathOf(path, key), above, waiting);
  return object;
}

function mapPairs(map, path) {
  const pairs = [...map];
  for (const [key] of pairs)
    if (typeof key !== "string" && typeof key !== "number") throw refused(path, "is a Map with keys that are no texts: return [...map]");
  return pairs.map(([key, value]) => [`${key}`, value]);
}

function errorPairs(error) {
  const { name, message, code } = error;
  return [["name", `${name}`], ["message", `${message}`], ["code", code]];
}

// Objects that JSON has no form for, and what to return instead.
function lossOf(value) {
  if (value instanceof RegExp) return "is a RegExp: return its text";
  if (value instanceof ArrayBuffer || value instanceof DataView) return "holds bytes: return new Uint8Array(it).toBase64()";
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) return `is a ${value.constructor.name}`;
  if (typeof value[Symbol.asyncIterator] === "function") return "is an asynchronous iterator: collect it with for await";
}

function isIterator(value) {
  return typeof value[Symbol.iterator] === "function" && typeof value.next === "function";
}

function plainObject(value, path, above, waiting) {
  for (let each = above; each; each = each.above) if (each.value === value) throw refused(path, "contains itself");
  const here = { value, above };
  if (value instanceof TheirDate && !isFinite(value.getTime())) throw refused(path, "is no valid date");
  if (typeof value.toJSON === "function") {
    const said = value.toJSON("");
    if (said !== value) return plain(said, path, here, waiting);
  }
  if (isArray(value) || value instanceof VIEWS || value instanceof Set || isIterator(value)) return fillList(value, path, here, waiting);
  if (value instanceof Map) return fillObject(mapPairs(value, path), path, here, waiting);
  if (value instanceof Headers) return fillObject(value, path, here, waiting);
  if (value instanceof Error || value instanceof DOMException) return fillObject(errorPairs(value), path, here, waiting);
  if (value instanceof URLSearchParams) return `${value}`;
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return plain(value.valueOf(), path, here, waiting);
  const loss = lossOf(value);
  if (loss) throw refused(path, loss);
  return fillObject(keys(value).map((key) => [key, value[key]]), path, here, waiting);
}

function plain(value, path, above, waiting) {
  switch (typeof value) {
    case "number":
      if (!isFinite(value)) throw refused(path, `is ${value}, which is no number in JSON`);
      return value;
    case "bigint":
      return `${value}`; // a number of JSON would not be exact everywhere
    case "function":
      throw refused(path, "is a function: return what it gives");
    case "symbol":
      throw refused(path, "is a symbol: return a text");
    case "object":
      return value === null ? null : plainObject(value, path, above, waiting);
  }
  return value;
}

// Sets holder[key] to the value as JSON says it: at once, or once it is there.
function put(holder, key, value, path, above, waiting) {
  const waits = typeof value === "object" && value !== null && typeof value.then === "function";
  holder[key] = waits ? null : plain(value, path, above, waiting);
  if (waits) waiting.push({ holder, key, value, path, above });
}

async function awaitAll(root, waiting) {
  for (let i = 0; i < waiting.length; i++) {
    const { holder, key, value, path, above } = waiting[i], given = await value;
    if (given === undefined && isArray(holder)) throw refused(path, "is undefined: return a value, or null");
    holder[key] = plain(given, path, above, waiting);
  }
  return root.result;
}

function render(value) {
  const root = {}, waiting = [];
  put(root, "result", value, "result", null, waiting);
  return waiting.length ? awaitAll(root, waiting) : root.result;
}

// (input, env), or what is in the input under the names of the parameters, where those are its fields.
function argumentsOf(called, input) {
  const names = parametersOf(called), whole = [input, env];
  if (!names?.length || names[0] === "input" || typeof input !== "object" || input === null || names.includes(null)) return whole;
  if (!hasOwn(input, names[0]) && (names.length === 1 || SECOND.test(names[1]))) return whole;
  if (names.some((name) => hasOwn(input, name))) return names.map((name) => (name === "env" ? env : hasOwn(input, name) ? input[name] : undefined));
  throw failure("EINVAL", `the function takes (${names.join(", ")}), and the input has none of these; it is called with (input, env)`);
}

function enter([called, self], input) {
  return apply(called, self, argumentsOf(called, input));
}

async function entered(entry, input) {
  return enter(entry, input);
}

// What is to be called of a value: [function, its this]; none where the value is a result. `exported`: one function alone is meant,
// whatever its name.
function entryOf(value, exported) {
  if (typeof value === "function") return [value, undefined];
  if (typeof value !== "object" || value === null || isArray(value)) return null;
  const names = keys(value).filter((name) => typeof value[name] === "function");
  const name = ENTRIES.find((each) => names.includes(each)) ?? (exported && names.length === 1 ? names[0] : undefined);
  return name === undefined ? null : [value[name], value];
}

async function thrown(error) {
  throw error;
}

// The hook of shim.c for a result that is more than plain values: the value as JSON says it, or a promise: of that, or of what a
// function gave. `called`: a function was called already; `exported`: the result is what the source exports.
function finish(value, input, called, exported) {
  if (value instanceof Response) return value;
  if (value instanceof Error) return thrown(value);
  if (called) return render(value);
  if (typeof value?.fetch === "function") return answered(value, input);
  const entry = entryOf(value, exported);
  if (entry) return entered(entry, input);
  if (exported && typeof value === "object" && value !== null && !keys(value).length) return thrown(failure("EMODULE", NO_HANDLER));
  return render(value);
}

// The hook of shim.c that each input gets as its Symbol.toPrimitive: as a text it would be "[object Object]".
function guard() {
  throw new TypeError("input is an object, and no text or number: take its fields, such as input.name");
}

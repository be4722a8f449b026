// structuredClone (HTML, "structured clone"): values, collections, buffers and errors, cycles included.

const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const VIEWS = getPrototypeOf(Uint8Array);

function uncloneable(value) {
  return new DOMException(`${typeof value === "symbol" ? "a symbol" : "a function"} cannot be cloned`, "DataCloneError");
}

function cloneBuffer(buffer, seen) {
  if (!seen.has(buffer)) seen.set(buffer, buffer.slice(0));
  return seen.get(buffer);
}

function cloneError(error) {
  const copy = new (Object.hasOwn(ERRORS, error.name) ? ERRORS[error.name] : Error)(error.message);
  define("stack", error.stack, copy);
  return copy;
}

// A copy of what has no members, or an empty one of what has; undefined for plain objects.
function cloneShell(value, seen) {
  if (isArray(value)) return new Array(value.length);
  if (value instanceof TheirDate) return new TheirDate(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  if (value instanceof Error) return cloneError(value);
  if (value instanceof ArrayBuffer) return cloneBuffer(value, seen);
  if (value instanceof VIEWS) return new value.constructor(cloneBuffer(value.buffer, seen), value.byteOffset, value.length);
  if (value instanceof DataView) return new DataView(cloneBuffer(value.buffer, seen), value.byteOffset, value.byteLength);
  if (value instanceof Boolean || value instanceof Number || value instanceof String) return Object(value.valueOf());
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef || value instanceof Promise)
    throw new DOMException(`a ${value.constructor.name} cannot be cloned`, "DataCloneError");
}

function clone(value, seen) {
  if (typeof value === "function" || typeof value === "symbol") throw uncloneable(value);
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const shell = cloneShell(value, seen);
  const copy = shell ?? {};
  seen.set(value, copy);
  if (shell === undefined || isArray(value)) for (const key of Object.keys(value)) copy[key] = clone(value[key], seen);
  else if (value instanceof Map) for (const [key, item] of [...value]) copy.set(clone(key, seen), clone(item, seen));
  else if (value instanceof Set) for (const item of [...value]) copy.add(clone(item, seen));
  return copy;
}

define("structuredClone", function structuredClone(value) {
  if (!arguments.length) throw new TypeError("structuredClone needs a value");
  return clone(value, new Map());
});

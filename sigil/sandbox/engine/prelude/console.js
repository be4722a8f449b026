// console: each line goes to the host as { level, text }, strings as they are and everything else inspected.

const DEEPEST = 4, MOST_ITEMS = 100, LONGEST_LINE = 72;

function inspectKey(key) {
  return typeof key === "symbol" ? `[${String(key)}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? key : stringify(key);
}

function inspectFunction(value) {
  const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function";
  return value.name ? `[${kind}: ${value.name}]` : `[${kind} (anonymous)]`;
}

function inspectError(error) {
  const name = `${error.name}`, message = `${error.message}`;
  return message ? `${name}: ${message}` : name;
}

function listed(items, total) {
  return total > MOST_ITEMS ? [...items, `… ${total - MOST_ITEMS} more`] : items;
}

function bracketed(open, items, close) {
  if (!items.length) return open + close;
  const line = items.join(", ");
  return line.length <= LONGEST_LINE && !line.includes("\n") ? `${open} ${line} ${close}` : `${open}\n  ${items.join(",\n").replaceAll("\n", "\n  ")}\n${close}`;
}

function inspectMembers(value, path) {
  const next = (item) => inspect(item, [...path, value]);
  const prefix = value.constructor?.name && value.constructor !== Object && value.constructor !== Array ? `${value.constructor.name} ` : "";
  if (isArray(value) || value instanceof VIEWS)
    return prefix + bracketed("[", listed(Array.from(value.slice(0, MOST_ITEMS), next), value.length), "]");
  if (value instanceof Map)
    return prefix + bracketed("{", listed([...value].slice(0, MOST_ITEMS).map(([k, v]) => `${next(k)} => ${next(v)}`), value.size), "}");
  if (value instanceof Set) return prefix + bracketed("{", listed([...value].slice(0, MOST_ITEMS).map(next), value.size), "}");
  const keys = ownKeys(value).filter((key) => Object.getOwnPropertyDescriptor(value, key)?.enumerable);
  const members = keys.slice(0, MOST_ITEMS).map((key) => `${inspectKey(key)}: ${next(value[key])}`);
  return prefix + bracketed("{", listed(members, keys.length), "}");
}

// What a person reads of any value. Never throws on cycles, and stops at a depth.
function inspect(value, path = []) {
  if (typeof value === "string") return stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return inspectFunction(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (path.includes(value)) return "[Circular]";
  if (value instanceof Error || value instanceof DOMException) return inspectError(value);
  if (value instanceof RegExp) return String(value);
  if (value instanceof TheirDate) return isNaN(value) ? "Invalid Date" : value.toISOString();
  if (path.length > DEEPEST) return isArray(value) ? "[Array]" : "[Object]";
  return inspectMembers(value, path);
}

function shown(value) {
  if (typeof value === "string") return value;
  try {
    return inspect(value);
  } catch {
    return "[what cannot be shown]";
  }
}

const console = {};
for (const level of ["debug", "log", "info", "warn", "error"])
  define(level, (...values) => {
    ask("log", { level, text: unicode(values.map(shown).join(" ")) });
  }, console);
define("trace", console.debug, console);
define("assert", (held, ...values) => {
  if (!held) console.error("Assertion failed:", ...values);
}, console);
define("console", console);

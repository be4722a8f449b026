// Mustache as in mustache(5), without partials, lambdas and other delimiters: read into a tree once, then written.
const LIMIT_DEPTH = 50, LIMIT_STEPS = 100_000, LIMIT_SIZE = 200_000, NEAR = 200;
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const NAME = /^(?:\.|[^\s{}.](?:[^{}.]*[^\s{}.])?(?:\.[^\s{}.](?:[^{}.]*[^\s{}.])?)*)$/;
const { template, data, escape, missing } = input;

const failure = (code, message) => Object.assign(new Error(message), { code });
const invalid = (message, at) => failure("EINVAL", at === undefined ? message : `${message} (line ${template.slice(0, at).split("\n").length})`);
const shown = (tag) => `{{${tag.slice(0, 40).toWellFormed()}}}`;

// ---- reading

// The next tag from `from` on: [kind, name, where it starts, where it ends].
function tagFrom(from) {
  const start = template.indexOf("{{", from);
  if (start < 0) return null;
  const closing = template.startsWith("{{{", start) ? "}}}" : "}}";
  const end = template.indexOf(closing, start);
  if (end < 0) throw invalid(`"${closing}" is missing`, start);
  const inner = template.slice(start + closing.length, end).trim(), sign = closing === "}}}" ? "{" : inner[0] ?? "";
  const kind = "#^/!&>={".includes(sign) && sign ? sign : "";
  const name = kind && kind !== "{" ? inner.slice(1).trim() : inner;
  if (kind === ">" || kind === "=") throw invalid(`${shown(inner)}: there are no partials and no other delimiters here`, start);
  if (kind !== "!" && !NAME.test(name)) throw invalid(`${shown(inner)} is no tag: write {{name}} or {{a.b}}`, start);
  return [kind, name, start, end + closing.length];
}

// What a section or comment tag takes with it when nothing else stands on its line: [from, to]. Only what is near is looked at.
function standalone(start, end) {
  const [before] = /(?:(?<=\n)|(?<![^]))[ \t]*$/.exec(template.slice(Math.max(0, start - NEAR), start)) ?? [];
  const [after] = /^[ \t]*(?:\r?\n|$)/.exec(template.slice(end, end + NEAR)) ?? [];
  return before === undefined || after === undefined || before.length === NEAR ? [start, end] : [start - before.length, end + after.length];
}

function parsed() {
  const root = { parts: [] }, open = [root];
  let at = 0;
  for (let tag; (tag = tagFrom(at)); ) {
    const [kind, name, start, end] = tag, isName = kind === "" || kind === "&" || kind === "{";
    const [from, to] = isName ? [start, end] : standalone(start, end);
    open.at(-1).parts.push(template.slice(at, Math.max(at, from)));
    at = to;
    if (isName) open.at(-1).parts.push({ kind: "name", name, raw: kind !== "" || escape === "none", start });
    else if (kind === "/") {
      if (open.length === 1 || open.pop().name !== name) throw invalid(`{{/${name}}} closes what is not open`, start);
    } else if (kind !== "!") {
      const section = { kind, name, parts: [], start };
      open.at(-1).parts.push(section);
      if (open.push(section) > LIMIT_DEPTH) throw invalid(`sections are nested at most ${LIMIT_DEPTH} deep`, start);
    }
  }
  if (open.length > 1) throw invalid(`{{#${open.at(-1).name}}} is not closed: write {{/${open.at(-1).name}}}`, open.at(-1).start);
  root.parts.push(template.slice(at));
  return root;
}

// ---- writing

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// The first part of a name is looked for from the innermost object outwards, the rest within what was found.
function lookUp(name, stack) {
  if (name === ".") return stack.at(-1);
  const [first, ...rest] = name.split(".");
  const holder = stack.findLast((value) => isObject(value) && Object.hasOwn(value, first));
  return rest.reduce((value, part) => (isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined), holder?.[first]);
}

function text({ name, raw, start }, stack) {
  const value = lookUp(name, stack);
  if (value === undefined && missing === "error") throw invalid(`the data has no "${name}"`, start);
  if (typeof value === "object" && value !== null) throw invalid(`"${name}" is a list or an object: write {{#${name}}}…{{/${name}}}`, start);
  return raw ? String(value ?? "") : String(value ?? "").replace(/[&<>"']/g, (sign) => ENTITIES[sign]);
}

const pieces = [];
let steps = 0, size = 0;

function write(parts, stack) {
  for (const part of parts) {
    const isTooLarge = ++steps > LIMIT_STEPS || size > LIMIT_SIZE;
    if (isTooLarge) throw failure("ELIMIT", `the result is too large: at most ${LIMIT_SIZE} characters of ${LIMIT_STEPS} parts`);
    if (typeof part === "string" || part.kind === "name") {
      const piece = typeof part === "string" ? part : text(part, stack);
      size += piece.length;
      pieces.push(piece);
      continue;
    }
    const value = lookUp(part.name, stack), holds = Array.isArray(value) ? value.length > 0 : Boolean(value) || value === 0;
    if (part.kind === "^") holds || write(part.parts, stack);
    else if (holds) for (const element of Array.isArray(value) ? value : [value]) write(part.parts, [...stack, element]);
  }
}

write(parsed().parts, [data]);
return pieces.join("");

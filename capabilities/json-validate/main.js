// JSON Schema 2020-12, without what needs other documents ($id, $anchor, $dynamicRef) or knowledge of siblings (unevaluated…).
// Unknown keywords are refused, because one that is misspelt would let everything pass.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const LIMIT_STEPS = 150_000, LIMIT_DEPTH = 110;
const NOTES = "$schema $comment $defs definitions title description default examples deprecated readOnly writeOnly format contentEncoding contentMediaType".split(" ");
const HELPERS = ["then", "else", "minContains", "maxContains"];
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const typeOf = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

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

const root = readable(input.schema, "schema"), problems = [];
let steps = 0, depth = 0;

const shown = (value) => {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79).toWellFormed()}…` : text;
};
const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : isObject(value) ? Object.keys(value).sort().map((name) => [name, sorted(value[name])]).concat("{") : value);
const key = (value) => JSON.stringify(sorted(value));
const length = (text) => [...text].length;
const escaped = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");

const patterns = new Map();
function matches(pattern, text) {
  try {
    if (!patterns.has(pattern)) patterns.set(pattern, new RegExp(pattern, "u"));
  } catch (error) {
    throw invalid(`the schema's pattern ${shown(pattern)} is no regular expression: ${error.message}`);
  }
  return patterns.get(pattern).test(text);
}

function target(ref) {
  if (typeof ref !== "string" || !/^#(\/|$)/.test(ref)) throw invalid(`$ref ${shown(ref)}: only references within the schema work, such as "#/$defs/name"`);
  return decodeURIComponent(ref).split("/").slice(1).reduce((node, step) => {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, name)) throw invalid(`$ref ${shown(ref)} leads nowhere`);
    return node[name];
  }, root);
}

// ---- keywords: (what it asks for, the value, the schema around it, the place, whether to note problems) → a problem, or nothing

const plainly = (kind, holds, words) => (wanted, value) => (typeOf(value) === kind && !holds(value, wanted) ? words(wanted) : "");
const number = (holds, words) => plainly("number", holds, (wanted) => `has to be ${words} ${wanted}`);
const size = (kind, count, least, unit) => plainly(kind, (value, wanted) => (least ? count(value) >= wanted : count(value) <= wanted), (wanted) => `has to have ${least ? "at least" : "at most"} ${wanted} ${unit}`);
const passes = (schema, value) => check(schema, value, "", false);
// Notes what is wrong below; a keyword that looks below has nothing to say itself, but has to fail when it may not note.
const below = (of) => (wanted, value, schema, path, note) => of(wanted, value, schema).filter(([name, part, inner]) => !check(part, inner, `${path}/${escaped(name)}`, note)).length ? BELOW : "";
const BELOW = "below";
const names = (value) => (isObject(value) ? Object.keys(value) : []);

const KEYWORDS = {
  type: (wanted, value) => {
    const fits = (type) => type === typeOf(value) || (type === "integer" && Number.isInteger(value));
    return [wanted].flat().some(fits) ? "" : `has to be ${[wanted].flat().join(" or ")}, not ${typeOf(value)}`;
  },
  enum: (wanted, value) => (wanted.some((one) => key(one) === key(value)) ? "" : `has to be one of ${wanted.slice(0, 20).map(shown).join(", ")}`),
  const: (wanted, value) => (key(wanted) === key(value) ? "" : `has to be ${shown(wanted)}`),
  minimum: number((value, wanted) => value >= wanted, "at least"),
  maximum: number((value, wanted) => value <= wanted, "at most"),
  exclusiveMinimum: number((value, wanted) => value > wanted, "more than"),
  exclusiveMaximum: number((value, wanted) => value < wanted, "less than"),
  multipleOf: number((value, wanted) => Math.abs(value / wanted - Math.round(value / wanted)) <= 1e-9 * Math.max(1, Math.abs(value / wanted)), "a multiple of"),
  minLength: size("string", length, true, "characters"),
  maxLength: size("string", length, false, "characters"),
  pattern: plainly("string", (value, wanted) => matches(wanted, value), (wanted) => `has to match ${shown(wanted)}`),
  minItems: size("array", (value) => value.length, true, "items"),
  maxItems: size("array", (value) => value.length, false, "items"),
  uniqueItems: plainly("array", (value, wanted) => !wanted || new Set(value.map(key)).size === value.length, () => "has to have no item twice"),
  minProperties: size("object", (value) => names(value).length, true, "members"),
  maxProperties: size("object", (value) => names(value).length, false, "members"),
  required: (wanted, value) => {
    const missing = isObject(value) ? wanted.filter((name) => !Object.hasOwn(value, name)) : [];
    return missing.length ? `has to have ${missing.map(shown).join(", ")}` : "";
  },
  dependentRequired: (wanted, value) => {
    const missing = names(wanted).filter((name) => names(value).includes(name)).flatMap((name) => wanted[name]).filter((name) => !Object.hasOwn(value, name));
    return missing.length ? `has to have ${missing.map(shown).join(", ")} as well` : "";
  },
  properties: below((wanted, value) => names(value).filter((name) => Object.hasOwn(wanted, name)).map((name) => [name, wanted[name], value[name]])),
  patternProperties: below((wanted, value) => names(wanted).flatMap((pattern) => names(value).filter((name) => matches(pattern, name)).map((name) => [name, wanted[pattern], value[name]]))),
  additionalProperties: (wanted, value, schema, path, note) => {
    const known = (name) => Object.hasOwn(schema.properties ?? {}, name) || names(schema.patternProperties).some((pattern) => matches(pattern, name));
    const others = names(value).filter((name) => !known(name));
    if (wanted === false && others.length) return `may not have ${others.slice(0, 20).map(shown).join(", ")}`;
    return below(() => others.map((name) => [name, wanted, value[name]]))(wanted, value, schema, path, note);
  },
  propertyNames: (wanted, value) => {
    const wrong = names(value).filter((name) => !passes(wanted, name));
    return wrong.length ? `may not have members of the name ${wrong.slice(0, 20).map(shown).join(", ")}` : "";
  },
  prefixItems: below((wanted, value) => (Array.isArray(value) ? wanted.slice(0, value.length).map((schema, i) => [i, schema, value[i]]) : [])),
  items: below((wanted, value, schema) => (Array.isArray(value) ? value.map((one, i) => [i, wanted, one]).slice(schema.prefixItems?.length ?? 0) : [])),
  contains: (wanted, value, { minContains = 1, maxContains = Infinity }) => {
    if (!Array.isArray(value)) return "";
    const count = value.filter((one) => passes(wanted, one)).length;
    return count < minContains ? `has to contain at least ${minContains} such items, not ${count}` : count > maxContains ? `may contain at most ${maxContains} such items, not ${count}` : "";
  },
  $ref: (wanted, value, schema, path, note) => (check(target(wanted), value, path, note) ? "" : BELOW),
  allOf: (wanted, value, schema, path, note) => (wanted.filter((one) => !check(one, value, path, note)).length ? BELOW : ""),
  anyOf: (wanted, value) => (wanted.some((one) => passes(one, value)) ? "" : "has to match at least one of the schemas in anyOf"),
  oneOf: (wanted, value) => {
    const count = wanted.filter((one) => passes(one, value)).length;
    return count === 1 ? "" : `has to match exactly one of the schemas in oneOf, not ${count}`;
  },
  not: (wanted, value) => (passes(wanted, value) ? "may not match the schema in not" : ""),
  if: (wanted, value, schema, path, note) => (check((passes(wanted, value) ? schema.then : schema.else) ?? true, value, path, note) ? "" : BELOW),
  dependentSchemas: (wanted, value, schema, path, note) => (names(wanted).filter((name) => names(value).includes(name) && !check(wanted[name], value, path, note)).length ? BELOW : ""),
};

// ---- what a keyword has to hold, looked at once for each schema that is reached

const SCHEMAS = ["additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else"];
const isSchema = (value) => isObject(value) || typeof value === "boolean";
const isList = (of) => (value) => Array.isArray(value) && value.every(of);
const isMap = (of) => (value) => isObject(value) && Object.values(value).every(of);
const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"];
const FORMS = [
  [SCHEMAS, isSchema, "a schema"],
  [["allOf", "anyOf", "oneOf", "prefixItems"], (value) => isList(isSchema)(value) && value.length > 0, "a list of schemas"],
  [["properties", "patternProperties", "dependentSchemas", "$defs"], isMap(isSchema), "an object of schemas"],
  [["required"], isList((one) => typeof one === "string"), "a list of names"],
  [["dependentRequired"], isMap(isList((one) => typeof one === "string")), "an object of lists of names"],
  [["enum"], Array.isArray, "a list"],
  [["type"], (value) => [value].flat().every((type) => TYPES.includes(type)), `one or some of ${TYPES.join(", ")}`],
  [["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], Number.isFinite, "a number"],
  [["multipleOf"], (value) => Number.isFinite(value) && value > 0, "a number above 0"],
  [["uniqueItems"], (value) => typeof value === "boolean", "true or false"],
  [["pattern"], (value) => typeof value === "string", "a regular expression"],
  [Object.keys(KEYWORDS).concat(HELPERS).filter((name) => /^m(in|ax)[A-Z]/.test(name)), (value) => Number.isInteger(value) && value >= 0, "a whole number from 0 on"],
];
const forms = new Map(FORMS.flatMap(([keywords, holds, words]) => keywords.map((name) => [name, [holds, words]])));
const looked = new Set();

function look(schema) {
  if (!isSchema(schema)) throw invalid(`a schema is an object, true or false, not ${shown(schema)}`);
  for (const [name, value] of Object.entries(schema)) {
    if (!Object.hasOwn(KEYWORDS, name) && !NOTES.includes(name) && !HELPERS.includes(name)) throw invalid(`the keyword ${shown(name)} is not supported, or misspelt`);
    const [holds, words] = forms.get(name) ?? [() => true];
    if (!holds(value)) throw invalid(`in the schema, ${name} has to be ${words}, not ${shown(value)}`);
  }
  looked.add(schema);
}

// Whether the value fits; with `note`, what does not is written down.
function check(schema, value, path, note) {
  if (++steps > LIMIT_STEPS) throw invalid("the schema and the value together are too much work");
  if (++depth > LIMIT_DEPTH) throw invalid("the schema leads in circles, or is nested too deep");
  if (!looked.has(schema)) look(schema);
  let fits = schema !== false;
  if (!fits && note) problems.push({ path, keyword: "false", message: "nothing may stand here" });
  for (const name of Object.keys(schema)) {
    const message = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name](schema[name], value, schema, path, note) : "";
    if (message && message !== BELOW && note) problems.push({ path, keyword: name, message });
    if (message) fits = false;
    if (!fits && !note) break;
  }
  depth--;
  return fits;
}

const valid = check(root, readable(input.json, "json"), "", true);
return { valid, problems: problems.slice(0, input.most), more: Math.max(0, problems.length - input.most) };

// Failures as the host reads them: {"code", "message"}, one line, at most 300 characters.

const MESSAGE_LIMIT = 300;
const AT_LOAD = 0, AT_OUTPUT = 2, AT_PENDING = 3, AT_INPUT = 4, AT_CLOSED = 5, AT_FORM = 6, AT_NOTHING = 7; // 1 is the run itself; shim.c counts the same
const WRAPPER = 23; // characters that stand before the author's first line
const IMPORTS = "there is nothing to import here: one file holds all that it needs";
const NOTHING = "nothing was returned: end the body with return and the value";
const FORMS = "write the body of async (input, env) => { … }, or a module with export default { async fetch(request, env, ctx) { … } }";

function isCode(code) {
  if (typeof code !== "string" || code.length < 3 || code.length > 16 || code[0] !== "E") return false;
  for (let i = 1; i < code.length; i++) {
    const c = code[i];
    if (!((c >= "A" && c <= "Z") || (c >= "0" && c <= "9"))) return false;
  }
  return true;
}

// Control, format, bidi and tag characters and line separators become spaces; lone surrogates U+FFFD.
function oneLine(text) {
  let line = "", blank = true;
  for (const c of unicode(text)) {
    const n = c.codePointAt(0);
    const hidden = n < 0x20 || (n >= 0x7f && n < 0xa0) || (n >= 0x200b && n <= 0x200f) || (n >= 0x2028 && n <= 0x202e) ||
      (n >= 0x2066 && n <= 0x2069) || n === 0xfeff || (n >= 0xe0000 && n <= 0xe007f);
    if (!hidden) line += c;
    else if (!blank) line += " ";
    blank = hidden;
    if (line.length > MESSAGE_LIMIT) return `${unicode(line.slice(0, MESSAGE_LIMIT - 1))}…`;
  }
  return line.trim();
}

// [line, column] of the first frame in the author's source, counted from 1.
function place(error) {
  const stack = error?.stack;
  const at = typeof stack === "string" ? /capability(\.mjs)?:(\d+):(\d+)/.exec(stack) : null;
  if (!at) return null;
  return [+at[2], !at[1] && at[2] === "1" ? +at[3] - WRAPPER : +at[3]];
}

function placed(reason, at, lines) {
  if (!at) return ["ESYNTAX", reason];
  const [line, column] = at;
  if (line > lines.length) return ["ESYNTAX", `unexpected end of the source, or a brace too many (${lines.length}:${lines.at(-1).length + 1})`];
  return ["ESYNTAX", `${reason} (${line}:${column < 1 ? 1 : column})`];
}

// `asModule` is what is wrong with the source as a module; that counts when import or export made the body fail.
function describeSyntax(error, source, asModule) {
  const at = place(error), lines = source.split("\n");
  if (asModule instanceof ReferenceError) return placed(IMPORTS, at, lines);
  if (!at || !/^\s*(import|export)\b/.test(lines[at[0] - 1])) return placed(error.message, at, lines);
  return asModule?.message ? placed(asModule.message, place(asModule), lines) : placed(FORMS, at, lines);
}

function describeThrown(error) {
  if (typeof error !== "object" || error === null) return ["ETHROWN", typeof error === "string" ? error : inspect(error)];
  const { code, message } = error;
  if (isCode(code)) return [code, typeof message === "string" ? message : code];
  if (typeof message !== "string") return ["ETHROWN", inspect(error)];
  const at = place(error), name = `${error.name || "Error"}`;
  return ["ETHROWN", `${name}: ${message}${at ? ` (line ${at[0]})` : ""}`];
}

function explain(error, when, source, asModule) {
  if (when === AT_PENDING) return ["EPENDING", "the promise never settles"];
  if (when === AT_CLOSED) return ["ESYNTAX", "the body closes more braces than it opens"];
  if (when === AT_NOTHING) return ["EOUTPUT", NOTHING];
  if (when === AT_FORM && error instanceof SyntaxError) return ["ESYNTAX", error.message];
  if (when === AT_LOAD && error instanceof SyntaxError) return describeSyntax(error, source, asModule);
  if (when === AT_INPUT && error instanceof SyntaxError) return ["EINPUT", "the input is no JSON"];
  if (when === AT_OUTPUT && error instanceof TypeError) return ["EOUTPUT", `the result is not JSON: ${error.message}`];
  return describeThrown(error);
}

// The hook of shim.c: the failure as JSON. `when` says where it was raised; at AT_LOAD `source` is the author's text.
function describe(error, when, source, asModule) {
  let code = "ETHROWN", message = "what was thrown cannot be read";
  try {
    if (error instanceof TheirError && error.message === "out of memory") return '{"code":"ENOMEM","message":"out of memory"}';
    [code, message] = explain(error, when, source, asModule);
  } catch {}
  return stringify({ code, message: oneLine(message) || code });
}

// What of sucrase takes the types out of a capability's source: its parser and its TypeScript transformer.
// `strip(code)` gives {code}, every line where it was, or {message, line, column}, both from 1: what is wrong, and where.
import { HelperManager } from "sucrase/dist/esm/HelperManager.js";
import NameManager from "sucrase/dist/esm/NameManager.js";
import TokenProcessor from "sucrase/dist/esm/TokenProcessor.js";
import { parse } from "sucrase/dist/esm/parser/index.js";
import { ContextualKeyword } from "sucrase/dist/esm/parser/tokenizer/keywords.js";
import { TokenType } from "sucrase/dist/esm/parser/tokenizer/types.js";
import RootTransformer from "sucrase/dist/esm/transformers/RootTransformer.js";

const AsyncFunction = (async () => {}).constructor;
const HEAD = 2; // lines that a function made of text has before its body
const NAMESPACE = "a namespace with values is no TypeScript of ours: use an object, a class or declare namespace";

const EXPORT = "export = is no TypeScript of ours: use export default";
const REQUIRE = "import = require is no TypeScript of ours: a source is one file";
const TEXT = "the text of an enum is one literal in quotes";

export function strip(code) {
  let tokens;
  try {
    tokens = parse(code, false, true, false).tokens;
  } catch (error) {
    return read(error, code);
  }
  const space = namespace(tokens, code);
  if (space) return { message: NAMESPACE, ...place(code, space.start) };
  const odd = unlike(tokens, code);
  if (odd) return { message: odd.message, ...place(code, odd.token.start) };
  const result = transformed(tokens, code);
  return unread(result, tokens, code) ?? { code: result.code };
}

function transformed(tokens, code) {
  const nameManager = new NameManager(code, tokens);
  const helperManager = new HelperManager(nameManager);
  const tokenProcessor = new TokenProcessor(code, tokens, false, true, helperManager);
  const context = { tokenProcessor, nameManager, helperManager, importProcessor: null };
  const options = { transforms: ["typescript"], disableESTransforms: true, keepUnusedImports: true };
  return new RootTransformer(context, options.transforms, false, options).transform();
}

// sucrase drops namespaces as if they held types alone; one that is only declared may go, any other would be missed.
function namespace(tokens, code) {
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (!token.isType) continue;
    if (token.type === TokenType._declare || code.slice(token.start, token.end) === "declare") at = declared(tokens, at);
    else if (isNamespace(token) && opens(tokens, at)) return token;
  }
  return null;
}

function isNamespace(token) {
  return token.contextualKeyword === ContextualKeyword._namespace || token.contextualKeyword === ContextualKeyword._module;
}

function opens(tokens, at) {
  do at++;
  while (tokens[at]?.type === TokenType.name || tokens[at]?.type === TokenType.dot);
  return tokens[at]?.type === TokenType.braceL;
}

function declared(tokens, at) {
  if (!isNamespace(tokens[at + 1]) || !opens(tokens, at + 1)) return at;
  let depth = 0;
  do {
    at++;
    if (tokens[at].type === TokenType.braceL) depth++;
    if (tokens[at].type === TokenType.braceR) depth--;
  } while (at + 1 < tokens.length && (depth || tokens[at].type !== TokenType.braceR));
  return at;
}

// What sucrase makes something else of than TypeScript does, or what needs more than one file.
function unlike(tokens, code) {
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token.type === TokenType._export && tokens[at + 1]?.type === TokenType.eq) return { message: EXPORT, token };
    if (token.type === TokenType._import && requires(tokens, at, code)) return { message: REQUIRE, token };
    const text = token.type === TokenType._enum ? joined(tokens, at) : null;
    if (text) return { message: TEXT, token: text };
  }
  return null;
}

function requires(tokens, at, code) {
  const equals = [at + 2, at + 3].find((each) => tokens[each]?.type === TokenType.eq);
  const [called, opened] = equals ? tokens.slice(equals + 1, equals + 3) : [];
  return opened?.type === TokenType.parenL && code.slice(called.start, called.end) === "require";
}

// A member's text that is a template or a sum: it would be given a way back from its value, which only numbers have.
function joined(tokens, at) {
  if (tokens[at + 2]?.type !== TokenType.braceL) return null;
  let depth = 0;
  for (at += 2; at < tokens.length; at++) {
    const [{ type }, value, after] = tokens.slice(at, at + 3);
    if (type === TokenType.braceL || type === TokenType.dollarBraceL) depth++;
    if (type === TokenType.braceR && --depth === 0) return null;
    if (depth !== 1 || type !== TokenType.eq) continue;
    if (value?.type === TokenType.backQuote) return value;
    if (value?.type === TokenType.string && after?.type === TokenType.plus) return value;
  }
  return null;
}

// The engine's own reading of a body, told by the places of the source as it was written. A module it reads later.
function unread({ code, mappings }, tokens, source) {
  try {
    new AsyncFunction("input", "env", code);
    return null;
  } catch (error) {
    const found = /<input>:(\d+):(\d+)/.exec(error.stack);
    if (!found || tokens.some((token) => token.type === TokenType._export)) return null;
    const lines = code.split("\n");
    const line = found[1] - HEAD;
    if (line < 1 || line > lines.length) return null;
    const at = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + Number(found[2]) - 1;
    let last = 0;
    for (let i = 0; i < tokens.length; i++) if (mappings[i] <= at) last = i;
    return { message: error.message, ...place(source, tokens[last].start) };
  }
}

function read(error, code) {
  const found = /^(.*?)(?: \((\d+):(\d+)\))?$/s.exec(String(error.message));
  if (!(error instanceof SyntaxError) || !found[2]) throw error;
  return { message: found[1].replace(/^./, (first) => first.toLowerCase()), line: Number(found[2]), column: Number(found[3]) };
}

function place(code, at) {
  const before = code.slice(0, at).split("\n");
  return { line: before.length, column: before.at(-1).length + 1 };
}

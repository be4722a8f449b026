// The prelude's shared parts: the host behind one function, failures with a code, new global names.
// All of the prelude is one function in strict mode: `intrinsics` and everything declared here end with it and are out
// of an author's reach. The names that an author may later replace are taken now.

const { call: callHost, digest: digestOf, hmac: hmacOf, encode: encodeText, decode: decodeText, seed, parameters: parametersOf, plain: isPlain } = intrinsics;
const { stringify, parse } = JSON;
const { defineProperty, entries, getOwnPropertyNames, getPrototypeOf } = Object;
const { apply, construct, ownKeys } = Reflect;
const { isArray } = Array;
const TheirError = InternalError;
const { floor } = Math;
const LARGE = 1000; // characters of a request that the host may find too much
const wellFormed = String.prototype.toWellFormed;

function define(name, value, owner = globalThis) {
  defineProperty(owner, name, { value, writable: true, configurable: true, enumerable: false });
}

function defineClass(kind) {
  defineProperty(kind.prototype, Symbol.toStringTag, { value: kind.name, configurable: true });
  define(kind.name, kind);
}

function failure(code, message, Kind = Error) {
  const error = new Kind(message);
  error.code = code;
  return error;
}

// Asks the host: { op, arg } goes out, `ok` comes back, or the failure that the host names. What was not granted is EPERM.
function ask(op, arg, Kind) {
  const request = stringify({ op, arg });
  const text = callHost(request);
  if (text === null && request.length > LARGE) throw failure("ELIMIT", `the request for ${op} is too large or nested too deep`, Kind);
  if (text === null) throw failure("EHOST", `the host knows no ${op}`, Kind);
  const answer = parse(text);
  if (answer.error) throw failure(answer.error.code, answer.error.message, Kind);
  return answer.ok;
}

// The bytes of an ArrayBuffer or a view of one, without a copy.
function bytesOf(source, what) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  throw new TypeError(`${what} is not an ArrayBuffer or a view of one`);
}

function unicode(value) {
  return apply(wellFormed, `${value}`, []);
}

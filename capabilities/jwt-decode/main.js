// RFC 7519 (JWT) in the compact form of RFC 7515 (JWS). There is no key here and nothing is verified; every answer says so.
let isRounded = false;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

function attempt(work, message) {
  try {
    return work();
  } catch {
    throw invalid(message);
  }
}

const bytesOf = (part, name) =>
  attempt(() => Uint8Array.fromBase64(part, { alphabet: "base64url" }), `the ${name} is not base64url: A-Z a-z 0-9 - _`);

function objectOf(part, name) {
  const bytes = bytesOf(part, name);
  const text = attempt(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes), `the ${name} is not UTF-8`);
  const value = attempt(() => JSON.parse(text), `the ${name} is not JSON`);
  isRounded ||= /\d{17}/.test(text.replace(/"(?:[^"\\]|\\[^])*"/g, ""));
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(`the ${name} is not a JSON object`);
  return value;
}

// NumericDate: seconds since 1970. What is no time of the years 1 to 9999 is left out, and stays to be seen in the payload.
function timesOf(payload) {
  const isTime = (value) => typeof value === "number" && value >= -62135596800 && value <= 253402300799;
  const claims = ["iat", "nbf", "exp"].filter((name) => isTime(payload[name]));
  return Object.fromEntries(claims.map((name) => [name, new Date(payload[name] * 1000).toISOString()]));
}

function instantOf(text) {
  const [, day, time = "T00:00Z"] = /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/i.exec(text) ?? [];
  const midnight = Date.parse(`${day}T00:00Z`);
  const isDay = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day); // 31 February is none
  const at = isDay ? Date.parse(day + time.toUpperCase().replace(" ", "T").replace(/([+-]\d\d)(\d\d)$/, "$1:$2")) : NaN;
  if (Number.isNaN(at)) throw invalid("at is a time with its zone, such as 2024-03-05T10:30:00Z");
  return at;
}

function currentAt(text, { nbf, exp }, times) {
  const seconds = instantOf(text) / 1000, odd = Object.entries({ nbf, exp }).find(([, value]) => value !== undefined && typeof value !== "number");
  if (odd) return `its ${odd[0]} is no number`;
  if (seconds >= exp) return `it expired at ${times.exp ?? exp}`;
  return seconds < nbf ? `it does not count before ${times.nbf ?? nbf}` : true;
}

const parts = input.token.trim().replace(/^Bearer\s+/i, "").split(".");
if (parts.length === 5) throw invalid("this token is encrypted (JWE): nobody without its key can read it");
if (parts.length !== 3) throw invalid(`a JWT has three parts joined by dots, this has ${parts.length}`);
const header = objectOf(parts[0], "header"), payload = objectOf(parts[1], "payload"), times = timesOf(payload);
const isNone = String(header.alg).toLowerCase() === "none", missing = `There is NO signature${isNone ? " (alg none)" : ""}`;
const found = isNone || parts[2] === "" ? missing : "The signature was NOT checked";

return {
  verified: false,
  note: `${found}: anybody can write such a token. Trust nothing in it.${isRounded ? " Numbers of more than 16 digits are rounded." : ""}`,
  header, payload, signature: bytesOf(parts[2], "signature").toHex(), times,
  ...(input.at === undefined ? {} : { current: currentAt(input.at, payload, times) }),
};

// crypto (W3C Web Cryptography): digests, HMAC, random values. The work is done by the engine's own C.

const DIGESTS = { "MD5": 0, "SHA-1": 1, "SHA-256": 2, "SHA-384": 3, "SHA-512": 4 }; // MD5 as in Cloudflare's Workers, for digests alone
const BLOCKS = [64, 64, 64, 128, 128];
const INTEGERS = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];
const MOST_RANDOM = 65536;

function unsupported(what) {
  return new DOMException(what, "NotSupportedError");
}

function digestNumber(algorithm) {
  const name = `${algorithm?.name ?? algorithm}`.toUpperCase();
  if (!Object.hasOwn(DIGESTS, name)) throw unsupported(`the digest ${name} does not exist here: ${Object.keys(DIGESTS).join(", ")}`);
  return DIGESTS[name];
}

function digestName(number) {
  return Object.keys(DIGESTS)[number];
}

function expectHmac(algorithm) {
  const name = `${algorithm?.name ?? algorithm}`.toUpperCase();
  if (name !== "HMAC") throw unsupported(`the algorithm ${name} does not exist here: HMAC`);
}

const secrets = new WeakMap();

class CryptoKey {
  constructor(token, key, length, extractable, usages) {
    if (token !== secrets) throw new TypeError("Illegal constructor");
    this.type = "secret";
    this.extractable = !!extractable;
    this.algorithm = { name: "HMAC", hash: { name: digestName(key.digest) }, length };
    this.usages = [...usages];
    secrets.set(this, key);
    Object.freeze(this);
  }
}

function secretOf(key, usage) {
  const secret = secrets.get(key);
  if (!secret) throw new TypeError("the key is not a CryptoKey");
  if (usage && !key.usages.includes(usage)) throw new DOMException(`the key may not ${usage}`, "InvalidAccessError");
  return secret;
}

function keyFrom(algorithm, bytes, extractable, usages) {
  expectHmac(algorithm);
  if (!usages?.length || usages.some((usage) => usage !== "sign" && usage !== "verify"))
    throw new DOMException("the usages of an HMAC key are sign and verify", "SyntaxError");
  if (!bytes.length) throw new DOMException("the key is empty", "DataError");
  return new CryptoKey(secrets, { digest: digestNumber(algorithm.hash), bytes }, bytes.length * 8, extractable, usages);
}

const subtle = {
  async digest(algorithm, data) {
    return digestOf(digestNumber(algorithm), bytesOf(data, "the data"));
  },

  async importKey(format, data, algorithm, extractable, usages) {
    if (format !== "raw" && format !== "jwk") throw unsupported(`the key format ${format} does not exist here: raw, jwk`);
    const bytes = format === "raw" ? bytesOf(data, "the key").slice() : Uint8Array.fromBase64(`${data?.k}`, { alphabet: "base64url" });
    return keyFrom(algorithm, bytes, extractable, usages);
  },

  async generateKey(algorithm, extractable, usages) {
    expectHmac(algorithm);
    const size = algorithm.length === undefined ? BLOCKS[digestNumber(algorithm.hash)] : algorithm.length / 8;
    return keyFrom(algorithm, randomBytes(size), extractable, usages);
  },

  async exportKey(format, key) {
    const { bytes, digest } = secretOf(key);
    if (!key.extractable) throw new DOMException("the key may not leave", "InvalidAccessError");
    if (format === "raw") return bytes.slice().buffer;
    if (format !== "jwk") throw unsupported(`the key format ${format} does not exist here: raw, jwk`);
    const k = bytes.toBase64({ alphabet: "base64url", omitPadding: true });
    return { kty: "oct", k, alg: `HS${digestName(digest).slice(4)}`, key_ops: [...key.usages], ext: true };
  },

  async sign(algorithm, key, data) {
    expectHmac(algorithm);
    const { digest, bytes } = secretOf(key, "sign");
    return hmacOf(digest, bytes, bytesOf(data, "the data"));
  },

  async verify(algorithm, key, signature, data) {
    expectHmac(algorithm);
    const { digest, bytes } = secretOf(key, "verify");
    return equalBytes(new Uint8Array(hmacOf(digest, bytes, bytesOf(data, "the data"))), bytesOf(signature, "the signature"));
  },

  timingSafeEqual(first, second) {
    const [a, b] = [bytesOf(first, "the first"), bytesOf(second, "the second")];
    if (a.length !== b.length) throw new TypeError("the lengths differ");
    return equalBytes(a, b);
  },
};

function equalBytes(a, b) {
  let differences = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) differences |= a[i] ^ b[i];
  return differences === 0;
}

function getRandomValues(array) {
  if (!INTEGERS.some((kind) => array instanceof kind)) throw new DOMException("the array does not hold integers", "TypeMismatchError");
  if (array.byteLength > MOST_RANDOM) throw new DOMException(`more than ${MOST_RANDOM} bytes at once`, "QuotaExceededError");
  if (array.byteLength) bytesOf(array).set(randomBytes(array.byteLength));
  return array;
}

function randomUUID() {
  const bytes = randomBytes(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

defineClass(CryptoKey);
define("crypto", { subtle, getRandomValues, randomUUID });

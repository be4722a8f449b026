// The engine computes the digests; HMAC (RFC 2104) is two of them, and stands here so that it works with MD5 as well.
const names = { md5: "MD5", sha1: "SHA-1", sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" };
const { text, algorithm, key, output } = input;

const bytesOf = (text) => new TextEncoder().encode(text);

async function digest(...parts) {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return new Uint8Array(await crypto.subtle.digest(names[algorithm], bytes));
}

async function hmac(key, bytes) {
  const block = new Uint8Array(["sha384", "sha512"].includes(algorithm) ? 128 : 64);
  block.set(key.length > block.length ? await digest(key) : key);
  const [inner, outer] = [0x36, 0x5c].map((pad) => block.map((byte) => byte ^ pad));
  return digest(outer, await digest(inner, bytes));
}

const result = key ? await hmac(bytesOf(key), bytesOf(text)) : await digest(bytesOf(text));
return output === "base64" ? result.toBase64() : result.toHex();

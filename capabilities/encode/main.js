// Every format knows the way from text to code and back; between them stand bytes of UTF-8.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

function attempt(work, message) {
  try {
    return work();
  } catch {
    throw invalid(message);
  }
}

const bytesOf = (text) => new TextEncoder().encode(text);
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const textOf = (bytes) => attempt(() => decoder.decode(bytes), "the decoded bytes are not UTF-8 text");

function fromBase64(code) {
  const plain = code.replaceAll("-", "+").replaceAll("_", "/");
  return textOf(attempt(() => Uint8Array.fromBase64(plain), "this is not base64: digits A-Z a-z 0-9 + / (or - _), none missing"));
}

function fromHex(code) {
  const digits = code.replace(/0x|\\x|[\s:,]+/gi, "");
  return textOf(attempt(() => Uint8Array.fromHex(digits), "this is not hex: pairs of the digits 0-9 a-f"));
}

function fromUrl(code) {
  return attempt(() => decodeURIComponent(code), "this is not percent-encoded UTF-8: every % needs two hex digits");
}

const formats = {
  base64: { encode: (text) => bytesOf(text).toBase64(), decode: fromBase64 },
  base64url: { encode: (text) => bytesOf(text).toBase64({ alphabet: "base64url", omitPadding: true }), decode: fromBase64 },
  hex: { encode: (text) => bytesOf(text).toHex(), decode: fromHex },
  url: { encode: encodeURIComponent, decode: fromUrl },
};

return formats[input.format][input.mode](input.text);

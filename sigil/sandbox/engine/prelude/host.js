// Percent-encoding, and the hosts of URLs (WHATWG URL, "host parsing"): domains, IPv4 and IPv6 addresses.

const FORBIDDEN_HOST = /[\0\t\n\r #/:<>?@[\\\]^|]/, FORBIDDEN_DOMAIN = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;

function hexByte(byte) {
  return `%${byte < 16 ? "0" : ""}${byte.toString(16).toUpperCase()}`;
}

// `text` with the C0 controls, what is not ASCII and the characters in `set` percent-encoded.
function percentEncode(text, set) {
  let out = "";
  for (const c of unicode(text)) {
    if (c > "\x1f" && c < "\x7f" && !set.includes(c)) out += c;
    else for (const byte of encodeText(c)) out += hexByte(byte);
  }
  return out;
}

function percentDecode(text) {
  const bytes = encodeText(unicode(text)), out = [];
  for (let i = 0; i < bytes.length; i++) {
    const hex = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : "";
    if (/^[0-9A-Fa-f]{2}$/.test(hex)) {
      out.push(parseInt(hex, 16));
      i += 2;
    } else out.push(bytes[i]);
  }
  return decodeText(new Uint8Array(out), false);
}

// RFC 3492
function punycode(label) {
  const points = Array.from(label, (c) => c.codePointAt(0));
  let out = points.filter((p) => p < 128).map((p) => String.fromCharCode(p)).join("");
  const plain = out.length;
  let handled = plain, n = 128, delta = 0, bias = 72;
  if (plain) out += "-";
  while (handled < points.length) {
    const next = points.reduce((least, p) => (p >= n && p < least ? p : least), Infinity);
    delta += (next - n) * (handled + 1);
    n = next;
    for (const p of points) {
      if (p < n) delta++;
      if (p !== n) continue;
      out += variableLength(delta, bias);
      bias = adapted(delta, handled + 1, handled === plain);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return out;
}

function variableLength(delta, bias) {
  let out = "", rest = delta;
  for (let k = 36; ; k += 36) {
    const threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
    if (rest < threshold) return out + rest.toString(36).replace(/./, base36);
    out += base36((threshold + ((rest - threshold) % (36 - threshold))).toString(36));
    rest = floor((rest - threshold) / (36 - threshold));
  }
}

// JavaScript's digits are 0-9a-z, Punycode's a-z0-9.
function base36(digit) {
  const n = parseInt(digit, 36);
  return String.fromCharCode(n < 26 ? 97 + n : 22 + n);
}

function adapted(delta, count, first) {
  let d = floor(delta / (first ? 700 : 2)), k = 0;
  d += floor(d / count);
  for (; d > 455; k += 36) d = floor(d / 35);
  return k + floor((36 * d) / (d + 38));
}

// UTS 46 without its tables: compatibility forms, lower case, Punycode. Null for what no table allows.
function domainToAscii(domain) {
  const mapped = domain.replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, "").normalize("NFKC").toLowerCase().normalize("NFC").replace(/\u3002/g, ".");
  const labels = mapped.split("."), foreign = /[^\0-\x7f]/;
  if (labels.some((label) => label.includes("\ufffd") || (label.startsWith("xn--") && foreign.test(label)))) return null;
  return labels.map((label) => (foreign.test(label) ? `xn--${punycode(label)}` : label)).join(".");
}

function ipv4Number(part) {
  if (part === "") return NaN;
  if (/^0x[0-9a-f]*$/i.test(part)) return part.length === 2 ? 0 : parseInt(part.slice(2), 16);
  if (/^0[0-7]*$/.test(part)) return parseInt(part, 8);
  return /^[1-9]\d*$/.test(part) ? Number(part) : NaN;
}

function endsInNumber(host) {
  const parts = host.split(".");
  if (parts.at(-1) === "" && parts.length > 1) parts.pop();
  return /^\d+$/.test(parts.at(-1)) || /^0x[0-9a-f]*$/i.test(parts.at(-1));
}

// The address in dotted form, or null.
function ipv4(host) {
  const parts = host.split(".");
  if (parts.at(-1) === "" && parts.length > 1) parts.pop();
  const numbers = parts.map(ipv4Number), last = numbers.pop();
  if (parts.length > 4 || !numbers.every((n) => n <= 255) || !(last < 256 ** (4 - numbers.length))) return null;
  let address = numbers.reduce((sum, n, i) => sum + n * 256 ** (3 - i), last);
  const out = [];
  for (let i = 0; i < 4; i++, address = floor(address / 256)) out.unshift(address % 256);
  return out.join(".");
}

function ipv6Pieces(text) {
  if (text === "") return [];
  const pieces = text.split(":"), dotted = pieces.at(-1).includes(".") ? pieces.pop() : null;
  if (!pieces.every((piece) => /^[0-9A-Fa-f]{1,4}$/.test(piece))) return null;
  const numbers = pieces.map((piece) => parseInt(piece, 16));
  if (dotted === null) return numbers;
  if (!/^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(dotted)) return null;
  const [a, b, c, d] = dotted.split(".").map(Number);
  return Math.max(a, b, c, d) > 255 ? null : [...numbers, a * 256 + b, c * 256 + d];
}

function ipv6(text) {
  const halves = text.split("::").map(ipv6Pieces);
  if (halves.length > 2 || halves.includes(null)) return null;
  const [head, tail = []] = halves, missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  return ipv6Text([...head, ...new Array(missing).fill(0), ...tail]);
}

// RFC 5952: the first longest run of zeros, of two or more, is left out.
function ipv6Text(pieces) {
  let start = -1, longest = 1;
  for (let i = 0; i < 8; i++) {
    let length = 0;
    while (pieces[i + length] === 0) length++;
    if (length > longest) [start, longest] = [i, length];
  }
  const hex = (list) => list.map((piece) => piece.toString(16)).join(":");
  return start < 0 ? `[${hex(pieces)}]` : `[${hex(pieces.slice(0, start))}::${hex(pieces.slice(start + longest))}]`;
}

// The host as it is written, or null.
function parseHost(text, special) {
  if (text[0] === "[") return text.at(-1) === "]" ? ipv6(text.slice(1, -1)) : null;
  if (!special) return FORBIDDEN_HOST.test(text) ? null : percentEncode(text, "");
  const domain = domainToAscii(percentDecode(text));
  if (domain === null || domain === "" || FORBIDDEN_DOMAIN.test(domain)) return null;
  return endsInNumber(domain) ? ipv4(domain) : domain;
}

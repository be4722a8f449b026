const LIMIT_DIGITS = 1000;
const PREFIXES = { "0x": 16, "0b": 2, "0o": 8 };
const { value, from, to, bits, signed } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

// The sign, the digits and their base: by the prefix, unless another base was given, in which 0b12 may be digits.
function read(text) {
  const [, sign, rest] = /^([-−+]?)(.*)$/s.exec(text.normalize("NFKC").replace(/[\s_]/g, "").toLowerCase());
  const byPrefix = PREFIXES[rest.slice(0, 2)];
  const isPrefixed = byPrefix !== undefined && (from === 0 || from === byPrefix);
  return { isNegative: /[-−]/.test(sign), base: from || byPrefix || 10, digits: isPrefixed ? rest.slice(2) : rest };
}

function magnitude(digits, base) {
  if (base === 1) throw invalid("a base is 2 to 36, or 0 to go by the prefix");
  if (!digits) throw invalid("there are no digits");
  if (digits.length > LIMIT_DIGITS) throw invalid(`${digits.length} digits are too many: at most ${LIMIT_DIGITS}`);
  let number = 0n;
  for (const char of digits) {
    const digit = /^[0-9a-z]$/.test(char) ? parseInt(char, 36) : base;
    const hint = ".,".includes(char) ? ": only whole numbers are converted, without separators" : "";
    if (digit >= base) throw invalid(`"${char}" is no digit in base ${base}${hint}`);
    number = number * BigInt(base) + BigInt(digit);
  }
  return number;
}

// The number that n, which fits, is in two's complement.
function meant(number) {
  if (number < 0n || number >= 1n << BigInt(bits)) throw invalid(`that does not fit into ${bits} bits`);
  return BigInt.asIntN(bits, number);
}

function inBits(number) {
  if (number >= 1n << BigInt(bits) || number < -(1n << BigInt(bits - 1))) throw invalid(`that does not fit into ${bits} bits`);
  const all = ((1n << BigInt(bits)) - 1n).toString(to);
  return BigInt.asUintN(bits, number).toString(to).padStart(all.length, "0");
}

const { isNegative, base, digits } = read(String(value));
if (signed && !bits) throw invalid("signed needs to know in how many bits: give bits");
if (typeof value === "number" && !Number.isSafeInteger(value)) throw invalid("a number beyond 9007199254740991 loses digits on the way: give it as text");
const plain = magnitude(digits, base), number = isNegative ? -plain : plain;
if (signed) return meant(number).toString(to);
return bits ? inBits(number) : number.toString(to);

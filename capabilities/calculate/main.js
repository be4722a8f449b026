// A recursive-descent parser that computes as it reads. A value is an exact fraction { n, d } of BigInts as long as the operations
// allow it, a JavaScript number after that, or { percent }: a percentage whose meaning the operation before it decides.
const LIMIT_BITS = 16384, LIMIT_DEPTH = 60;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const tooLarge = () => invalid("the number is too large: at most about 4,900 digits");

// ---- exact fractions

const size = (n) => (n < 0n ? -n : n);
const bits = (n) => size(n).toString(2).length;
const divisor = (a, b) => { while (b) [a, b] = [b, a % b]; return a; };

function fraction(n, d = 1n) {
  if (d === 0n) throw invalid("division by zero");
  if (bits(n) > LIMIT_BITS || bits(d) > LIMIT_BITS) throw tooLarge();
  if (d === 1n) return { n, d };
  const shared = divisor(size(n), size(d)) * (d < 0n ? -1n : 1n);
  return { n: n / shared, d: d / shared };
}

// The double nearest to n/d: at least 66 bits of quotient, the last one sticky, rounded once.
function nearest({ n, d }) {
  const shift = Math.max(0, bits(d) - bits(n) + 72), dividend = size(n) << BigInt(shift);
  const quotient = dividend / d, sticky = quotient * d === dividend ? quotient : quotient | 1n;
  const half = Math.floor(shift / 2);
  return (n < 0n ? -1 : 1) * Number(sticky) * 2 ** -half * 2 ** (half - shift);
}

const isExact = (value) => typeof value !== "number";
const isWhole = (value) => isExact(value) && value.d === 1n;
const isNegative = (value) => (isExact(value) ? value.n < 0n : value < 0);
const isZero = (value) => (isExact(value) ? value.n === 0n : value === 0);
const float = (value) => (isExact(value) ? nearest(value) : value);

// A number that JavaScript computed: refused when it is none, exact again when it is whole.
function real(number) {
  if (Number.isNaN(number)) throw invalid("the result is not a real number");
  if (!Number.isFinite(number)) throw tooLarge();
  return Number.isSafeInteger(number) ? fraction(BigInt(number)) : number;
}

// ---- operations

const operation = (exact, rough) => (a, b) => (isExact(a) && isExact(b) ? exact(a, b) : real(rough(float(a), float(b))));
const add = operation((a, b) => fraction(a.n * b.d + b.n * a.d, a.d * b.d), (a, b) => a + b);
const multiply = operation((a, b) => fraction(a.n * b.n, a.d * b.d), (a, b) => a * b);
const quotient = operation((a, b) => fraction(a.n * b.d, a.d * b.n), (a, b) => a / b);
const negate = (value) => multiply(fraction(-1n), value);
const subtract = (a, b) => add(a, negate(b));
const plain = (value) => (value.percent ? multiply(value.percent, fraction(1n, 100n)) : value);

function divide(a, b) {
  if (isZero(b)) throw invalid("division by zero");
  return quotient(a, b);
}

// The result has the sign of the divisor.
const modulo = (a, b) => subtract(a, multiply(b, floor(divide(a, b))));

function power(base, exponent) {
  if (isZero(base) && isNegative(exponent)) throw invalid("division by zero");
  if (!isExact(base) || !isWhole(exponent)) return real(float(base) ** float(exponent));
  const { n, d } = isNegative(exponent) ? fraction(base.d, base.n) : base;
  const growth = BigInt(Math.max(bits(n), bits(d)) - 1);
  const times = growth || exponent.n < 2n ? size(exponent.n) : 2n + (exponent.n % 2n); // of 0, 1 and -1 only the parity counts
  if (times * growth <= LIMIT_BITS) return fraction(n ** times, d ** times);
  if (d === 1n) throw tooLarge();
  return real(float(base) ** float(exponent));
}

// ---- functions

function floor(value) {
  if (!isExact(value)) return real(Math.floor(value));
  const down = value.n / value.d;
  return fraction(value.n < 0n && down * value.d !== value.n ? down - 1n : down);
}

const magnitude = (value) => (isNegative(value) ? negate(value) : value);

// Half away from zero, to `digits` decimals.
function round(value, digits = fraction(0n)) {
  const scale = power(fraction(10n), digits);
  const rounded = divide(floor(add(multiply(magnitude(value), scale), fraction(1n, 2n))), scale);
  return isNegative(value) ? negate(rounded) : rounded;
}

function factorial(value) {
  if (!isWhole(value) || isNegative(value)) throw invalid("factorial takes a whole number from 0 on");
  if (value.n > 1700n) throw tooLarge();
  let product = 1n;
  for (let factor = 2n; factor <= value.n; factor++) product *= factor;
  return fraction(product);
}

function logarithm(call) {
  return (x) => {
    if (isZero(x) || isNegative(x)) throw invalid("only a number above 0 has a logarithm");
    return real(call(float(x)));
  };
}
const toBase = (x, base) => (base ? divide(logarithm(Math.log)(x), logarithm(Math.log)(base)) : logarithm(Math.log10)(x));
const rough = (call) => [(x) => real(call(float(x))), 1];
// What rounding the argument leaves of a zero, as in sin(pi), is a zero.
const circular = (call) => rough((x) => (Math.abs(call(x)) < 1e-15 * Math.abs(x) ? 0 : call(x)));

function tangent(x) {
  if (Math.abs(Math.cos(x)) < 1e-15 * Math.abs(x)) throw invalid("tan is not defined there");
  return Math.tan(x);
}

const divides = (a, b) => {
  if (!isWhole(a) || !isWhole(b)) throw invalid("gcd and lcm take whole numbers");
  return fraction(divisor(size(a.n), size(b.n)));
};
const multiple = (a, b) => (isZero(a) || isZero(b) ? fraction(0n) : magnitude(divide(multiply(a, b), divides(a, b))));
const all = (...values) => values.reduce(add);

// name → [function, fewest arguments, most arguments]
const functions = {
  sqrt: rough(Math.sqrt), cbrt: rough(Math.cbrt), exp: rough(Math.exp),
  ln: [logarithm(Math.log), 1], log2: [logarithm(Math.log2), 1], log10: [logarithm(Math.log10), 1],
  sin: circular(Math.sin), cos: circular(Math.cos), tan: circular(tangent),
  asin: rough(Math.asin), acos: rough(Math.acos), atan: rough(Math.atan),
  log: [toBase, 1, 2], abs: [magnitude, 1], sign: [(x) => fraction(isNegative(x) ? -1n : BigInt(!isZero(x))), 1],
  floor: [floor, 1], ceil: [(x) => negate(floor(negate(x))), 1], round: [round, 1, 2],
  min: [(...values) => values.reduce((a, b) => (isNegative(subtract(b, a)) ? b : a)), 1, Infinity],
  max: [(...values) => values.reduce((a, b) => (isNegative(subtract(a, b)) ? b : a)), 1, Infinity],
  sum: [all, 1, Infinity], avg: [(...values) => divide(all(...values), fraction(BigInt(values.length))), 1, Infinity],
  gcd: [(...values) => values.reduce(divides), 2, Infinity], lcm: [(...values) => values.reduce(multiple), 2, Infinity],
  pow: [power, 2], mod: [modulo, 2], factorial: [factorial, 1],
};
const constants = { pi: Math.PI, e: Math.E };
const products = { "*": multiply, x: multiply, of: multiply, "/": divide, "%": modulo, mod: modulo };

// ---- reading

const SPELLINGS = [
  [/²|\bsquared\b/gi, "^2"], [/³|\bcubed\b/gi, "^3"], [/[×·✕]|乘以?|\btimes\b/gi, "*"], [/÷|除以|\bdivided by\b/gi, "/"],
  [/[−–]|减|\bminus\b/gi, "-"], [/加|\bplus\b/gi, "+"],
  [/\bper ?cent\b/gi, "%"], [/√|\bsquare root of\b/gi, "sqrt "], [/π/g, "pi"], [/[=?？＝\s]+$/, ""],
];
const TOKEN = /\s*(?:(0x[\da-f]+|0b[01]+|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|([a-z][a-z\d]*)|(\*\*|\S))/giu;
const THOUSANDS = /(?<![\d.])\d{1,3}(?:,\d{3})+(?!\d)/g;

function tokensOf(expression) {
  const text = SPELLINGS.reduce((text, [spelling, meaning]) => text.replace(spelling, meaning), expression).normalize("NFKC");
  const hasCalls = /[a-z]\d*\s*\(/i.test(text); // then a comma separates arguments
  const clear = hasCalls ? text : text.replace(THOUSANDS, (number) => number.replaceAll(",", ""));
  return [...clear.matchAll(TOKEN)].map(([, number, name, sign]) => ({ number, word: name?.toLowerCase() ?? sign }));
}

function literal(text) {
  if (/^0[xb]/i.test(text)) return fraction(BigInt(text));
  const [, whole, decimals = "", exponent = "0"] = /^(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text);
  if (Math.abs(exponent) > 4900) throw tooLarge();
  const shift = BigInt(exponent) - BigInt(decimals.length), digits = BigInt(whole + decimals);
  return shift < 0n ? fraction(digits, 10n ** -shift) : fraction(digits * 10n ** shift);
}

const tokens = tokensOf(input.expression);
let at = 0, depth = 0;

const next = () => tokens[at] ?? {};
const take = (...words) => (words.includes(next().word) ? tokens[at++].word : undefined);
const isName = (word) => /^[a-z]/.test(word) && !Object.hasOwn(products, word);
const startsOperand = ({ number, word = "" }) => number !== undefined || word === "(" || isName(word);

function unexpected() {
  const found = next().number ?? next().word;
  if (found === undefined) return invalid("the expression ends too early");
  const hint = at && startsOperand(next()) ? ": to multiply, write *" : "";
  return invalid(`unexpected ${JSON.stringify(found)} (part ${at + 1} of the expression)${hint}`);
}

function close() {
  if (!take(")")) throw at < tokens.length ? unexpected() : invalid('")" is missing at the end');
}

function sum() {
  let left = product();
  for (let sign; (sign = take("+", "-")); ) {
    const right = product();
    const share = right.percent && !left.percent ? multiply(left, plain(right)) : plain(right); // 80 + 15% is 80 + 15% of 80
    left = (sign === "+" ? add : subtract)(plain(left), share);
  }
  return left;
}

function product() {
  let left = signed();
  for (let word; (word = take(...Object.keys(products))); ) left = products[word](plain(left), plain(signed()));
  return left;
}

function signed() {
  if (++depth > LIMIT_DEPTH) throw invalid("the expression is nested too deep");
  const sign = take("-", "+");
  const value = sign ? plain(signed()) : raised();
  depth--;
  return sign === "-" ? negate(value) : value;
}

function raised() {
  const base = marked();
  return take("^", "**") ? power(plain(base), plain(signed())) : base;
}

// An operand and what stands behind it: 5! and 30° and 15%; in 15 % 4 the sign means the remainder.
function marked() {
  let value = operand();
  for (;;) {
    if (take("!")) value = factorial(plain(value));
    else if (take("°", "deg")) value = real((float(plain(value)) * Math.PI) / 180);
    else if (next().word === "%" && !startsOperand(tokens[at + 1] ?? {})) at++, (value = { percent: plain(value) });
    else return value;
  }
}

function operand() {
  const { number, word = "" } = next();
  if (number !== undefined) return at++, literal(number);
  if (Object.hasOwn(constants, word)) return at++, constants[word];
  if (Object.hasOwn(functions, word)) return at++, applied(word);
  if (take("(")) return grouped()[0];
  if (isName(word)) throw invalid(`unknown name "${word.slice(0, 40)}"; known: ${Object.keys(functions).join(" ")} pi e`);
  throw unexpected();
}

function grouped() {
  const values = [plain(sum())];
  while (take(",")) values.push(plain(sum()));
  close();
  return values;
}

function applied(name) {
  const [call, fewest, most = fewest] = functions[name];
  const values = take("(") ? grouped() : [plain(raised())];
  if (values.length >= fewest && values.length <= most) return call(...values);
  throw invalid(`${name} takes ${fewest === most ? fewest : most === Infinity ? `at least ${fewest}` : `${fewest} to ${most}`} arguments`);
}

// ---- the answer

// 0.49999999999999994 is 0.5: noise in the last digits goes when what remains is much shorter.
function tidy(number) {
  const short = Number(number.toPrecision(15));
  return String(short).length + 4 <= String(number).length ? short : number;
}

const value = plain(sum());
if (at < tokens.length) throw unexpected();
if (!isWhole(value)) return isExact(value) ? float(real(nearest(value))) : tidy(value);
return Number.isSafeInteger(Number(value.n)) ? Number(value.n) : String(value.n);

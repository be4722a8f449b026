// What depends on a language or a time zone. There are no tables of them here: English, as of the United States, and UTC are right, and
// everything else throws.

const { max, min, abs } = Math;
const ENGLISH = /^en(-US)?$/i;
const CURRENCIES = { USD: ["$", 2], EUR: ["€", 2], GBP: ["£", 2], INR: ["₹", 2], JPY: ["¥", 0], KRW: ["₩", 0] };
const NUMBER_OPTIONS = ["style", "currency", "minimumFractionDigits", "maximumFractionDigits", "useGrouping"];
const DATE_OPTIONS = ["weekday", "year", "month", "day"];
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const { getTime, getUTCFullYear, getUTCMonth, getUTCDate, getUTCDay, getUTCHours, getUTCMinutes, getUTCSeconds } = TheirDate.prototype;
const MARKS = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"; // in the order of the root collation
const { normalize } = String.prototype;
const upperCase = String.prototype.toUpperCase, lowerCase = String.prototype.toLowerCase, toExponential = Number.prototype.toExponential;

function missing(what, instead) {
  return failure("ENOSYS", `${what} does not exist here: ${instead}`, RangeError);
}

function requireEnglish(locales, instead) {
  const wanted = isArray(locales) ? locales[0] : locales;
  if (wanted !== undefined && !ENGLISH.test(wanted)) throw missing(`the locale ${stringify(wanted)}`, instead);
}

function requireKnown(options, known, instead) {
  for (const name of keys(options ?? {}))
    if (options[name] !== undefined && !known.includes(name)) throw missing(`the option ${name}: ${stringify(options[name])}`, instead);
}

// The digits of |value|, as it is written, and the place of its point.
function decimal(value) {
  const [digits, exponent] = apply(toExponential, abs(value), []).replace(".", "").split("e");
  return [digits, +exponent + 1];
}

// The text of |value| with `least` to `most` digits behind its point; halves are rounded up, as Intl does.
function fixed(value, least, most) {
  let [digits, point] = decimal(value);
  if (point < 1) [digits, point] = ["0".repeat(1 - point) + digits, 1];
  digits = digits.padEnd(point, "0");
  const up = digits[point + most] >= "5";
  let whole = BigInt(digits.slice(0, point + most).padEnd(point + most, "0"));
  if (up) whole += 1n;
  const text = `${whole}`.padStart(most + 1, "0"), split = text.length - most;
  let fraction = text.slice(split);
  while (fraction.length > least && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
  return [text.slice(0, split), fraction];
}

function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

function digitsOf(options, name, otherwise) {
  const count = options[name];
  if (count === undefined) return otherwise;
  if (!(count >= 0 && count <= 100)) throw new RangeError(`${name} is out of range`);
  return floor(count);
}

const FORMAT_NUMBER = 'format it with toFixed() and replace(/\\B(?=(\\d{3})+(?!\\d))/g, ",")';

function formatNumber(value, locales, options = {}) {
  requireEnglish(locales, FORMAT_NUMBER);
  requireKnown(options, NUMBER_OPTIONS, FORMAT_NUMBER);
  const { style = "decimal", currency, useGrouping = true } = options, money = CURRENCIES[currency];
  if (style === "currency" ? !money : style !== "decimal" && style !== "percent")
    throw missing(style === "currency" ? `the currency ${stringify(currency)}` : `the style ${stringify(style)}`, FORMAT_NUMBER);
  const usual = style === "currency" ? [money[1], money[1]] : style === "percent" ? [0, 0] : [0, 3];
  const least = digitsOf(options, "minimumFractionDigits", min(usual[0], digitsOf(options, "maximumFractionDigits", usual[0])));
  const most = digitsOf(options, "maximumFractionDigits", max(usual[1], least));
  if (least > most) throw new RangeError("maximumFractionDigits is below minimumFractionDigits");
  const sign = value < 0 || Object.is(value, -0) ? "-" : "", unit = style === "currency" ? money[0] : "", end = style === "percent" ? "%" : "";
  if (value !== value) return `${unit}NaN${end}`;
  if (abs(value) === Infinity) return `${sign}${unit}∞${end}`;
  const [whole, fraction] = fixed(style === "percent" ? +`${value}e2` || value * 100 : value, least, most);
  return `${sign}${unit}${useGrouping ? grouped(whole) : whole}${fraction && `.${fraction}`}${end}`;
}

define("toLocaleString", function toLocaleString(locales, options) {
  return formatNumber(Number.prototype.valueOf.call(this), locales, options);
}, Number.prototype);

define("toLocaleString", function toLocaleString(locales, options) {
  requireEnglish(locales, FORMAT_NUMBER);
  requireKnown(options, [], FORMAT_NUMBER);
  return grouped(`${this}`);
}, BigInt.prototype);

const FORMAT_DATE = "only en-US and UTC are known; build the text of getUTCFullYear(), getUTCMonth() and the others";

function pad(number) {
  return `${number}`.padStart(2, "0");
}

function datePart(value, long, as, name) {
  if (as === "numeric") return `${value}`;
  if (as === "2-digit") return pad(value % 100);
  if (long && as === "long") return long;
  if (long && as === "short") return long.slice(0, 3);
  throw missing(`${name}: ${stringify(as)}`, FORMAT_DATE);
}

// A date with the parts that are asked for, in the patterns of en-US.
function formatParts(date, { weekday, year, month, day }) {
  if (weekday === undefined && year === undefined && month === undefined && day === undefined) year = month = day = "numeric";
  const number = apply(getUTCMonth, date, []), named = month === "long" || month === "short";
  const y = year && datePart(apply(getUTCFullYear, date, []), "", year, "year"), d = day && datePart(apply(getUTCDate, date, []), "", day, "day");
  const m = month && datePart(named ? number : number + 1, MONTHS[number], month, "month");
  const w = weekday && datePart(0, DAYS[apply(getUTCDay, date, [])], weekday, "weekday");
  if (weekday === "numeric" || weekday === "2-digit") throw missing(`weekday: ${stringify(weekday)}`, FORMAT_DATE);
  if ((y && d && !m) || (w && !(m && d) && (y || m || d))) throw missing("this choice of parts of a date", FORMAT_DATE);
  const middle = named ? [m, d].filter(Boolean).join(" ") : [m, d, y].filter(Boolean).join("/");
  const end = named && y ? [d ? `${middle}, ${y}` : `${middle} ${y}`] : middle ? [middle] : [];
  return [...(w ? [w] : []), ...end].join(", ");
}

function formatTime(date) {
  const hour = apply(getUTCHours, date, []);
  return `${hour % 12 || 12}:${pad(apply(getUTCMinutes, date, []))}:${pad(apply(getUTCSeconds, date, []))} ${hour < 12 ? "AM" : "PM"}`;
}

function formatDate(date, locales, options = {}, withDate, withTime) {
  const time = apply(getTime, date, []), { timeZone = "UTC", ...parts } = options ?? {};
  requireEnglish(locales, FORMAT_DATE);
  if (!/^(UTC|GMT|Etc\/UTC)$/i.test(timeZone)) throw missing(`the time zone ${stringify(timeZone)}`, "dates are in UTC; add the offset of the zone, which the input may give");
  requireKnown(parts, withTime ? [] : DATE_OPTIONS, FORMAT_DATE);
  if (time !== time) return "Invalid Date";
  if (apply(getUTCFullYear, date, []) < 1) throw missing("the era of a date", FORMAT_DATE);
  return [...(withDate ? [formatParts(date, parts)] : []), ...(withTime ? [formatTime(date)] : [])].join(", ");
}

define("toLocaleString", function toLocaleString(locales, options) {
  return formatDate(this, locales, options, true, true);
}, TheirDate.prototype);

define("toLocaleDateString", function toLocaleDateString(locales, options) {
  return formatDate(this, locales, options, true, false);
}, TheirDate.prototype);

define("toLocaleTimeString", function toLocaleTimeString(locales, options) {
  return formatDate(this, locales, options, false, true);
}, TheirDate.prototype);

// Three keys, the first of which that differs decides: letters, their marks, and whether they are capitals.
function collationKeys(text) {
  const first = [], marks = [], capitals = [];
  for (const c of apply(normalize, text, ["NFD"])) {
    if (c >= "\u0300" && c <= "\u036f") {
      if (marks.length) marks[marks.length - 1] += c;
      continue;
    }
    const small = apply(lowerCase, c, []), place = MARKS.indexOf(c);
    first.push(/\s/.test(c) ? 1 : place >= 0 ? 2 + place : /\d/.test(c) ? 100 + c.charCodeAt(0) : 1000 + small.codePointAt(0));
    marks.push("");
    capitals.push(small === c ? 0 : 1);
  }
  return [first, marks, capitals];
}

function compareKeys(a, b) {
  for (let i = 0; i < min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

const SENSITIVITIES = { base: [0], accent: [0, 1], case: [0, 2], variant: [0, 1, 2] };
const COMPARE = "compare with < and >, after toLowerCase() or what else the order needs";

// The numbers in a text, each with zeros before it, so that they are in order as texts.
function widened(text) {
  return text.replace(/\d+/g, (digits) => digits.replace(/^0+(?=\d)/, "").padStart(40, "0"));
}

define("localeCompare", function localeCompare(that, locales, options) {
  requireEnglish(locales, COMPARE);
  requireKnown(options, ["numeric", "sensitivity", "usage"], COMPARE);
  const { numeric = false, sensitivity = "variant" } = options ?? {};
  if (!hasOwn(SENSITIVITIES, sensitivity)) throw new RangeError(`sensitivity is ${inspect(sensitivity)}`);
  const [ours, theirs] = [`${this}`, `${that}`].map((text) => collationKeys(numeric ? widened(text) : text));
  for (const level of SENSITIVITIES[sensitivity]) {
    const order = compareKeys(ours[level], theirs[level]);
    if (order) return order;
  }
  return 0;
}, String.prototype);

function casing(name, change) {
  define(name, { [name](locales) {
    const wanted = isArray(locales) ? locales[0] : locales;
    if (/^(tr|az|lt)\b/i.test(wanted)) throw missing(`the locale ${stringify(wanted)}`, "replace its letters one by one");
    return apply(change, `${this}`, []);
  } }[name], String.prototype);
}

casing("toLocaleUpperCase", upperCase);
casing("toLocaleLowerCase", lowerCase);

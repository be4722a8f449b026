// English number names, short scale, and Chinese ones. Digits are read as text, so that nothing is rounded.
const SMALL = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " +
  "eighteen nineteen").split(" ");
const TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const SCALES = ["", ..."thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion".split(" ")];
const ORDINALS = { one: "first", two: "second", three: "third", five: "fifth", eight: "eighth", nine: "ninth", twelve: "twelfth" };
const MONEY = { usd: ["dollar", "dollars", "cent", "cents"], eur: ["euro", "euros", "cent", "cents"], gbp: ["pound", "pounds", "penny", "pence"] };
const { value, form, and } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

// 12345678901234567890 has been rounded before it came here; 1e20 has not.
const isRounded = (number) => typeof number === "number" && Math.abs(number) > Number.MAX_SAFE_INTEGER && /[1-9]\d{15}/.test(String(Math.abs(number)).replace(".", ""));

// ---- words

function hundreds(number, link) {
  const words = [], rest = number % 100;
  if (number >= 100) words.push(SMALL[Math.floor(number / 100)], "hundred");
  if (rest && link) words.push("and");
  if (rest >= 20) words.push(TENS[Math.floor(rest / 10)] + (rest % 10 ? `-${SMALL[rest % 10]}` : ""));
  else if (rest) words.push(SMALL[rest]);
  return words;
}

function cardinal(digits) {
  if (/^0*$/.test(digits)) return "zero";
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").match(/\d{3}/g).map(Number);
  return groups.flatMap((group, place) => {
    const scale = SCALES[groups.length - 1 - place], isLast = place === groups.length - 1;
    const link = and && (group > 99 || (isLast && groups.slice(0, -1).some(Boolean)));
    return group ? [...hundreds(group, link), ...(scale ? [scale] : [])] : [];
  }).join(" ");
}

const ordinal = (words) =>
  words.replace(/[a-z]+$/, (last) => ORDINALS[last] ?? (last.endsWith("y") ? `${last.slice(0, -1)}ieth` : `${last}th`));

function money(whole, decimals) {
  if (decimals.length > 2) throw invalid(`an amount has at most two decimals, not ${decimals.length}: round it first`);
  const cents = decimals.padEnd(2, "0"), [one, many, cent, several] = MONEY[form];
  const part = (digits, single, plural) => `${cardinal(digits)} ${/^0*1$/.test(digits) ? single : plural}`;
  return part(whole, one, many) + (Number(cents) ? ` and ${part(cents, cent, several)}` : "");
}

function spelled(sign, whole, decimals) {
  if (whole.length > 36 || decimals.length > 40) throw invalid("at most 36 digits before the point and 40 after it");
  const isNegative = sign && /[1-9]/.test(whole + decimals), minus = isNegative ? "minus " : "", fu = isNegative ? "负" : "";
  if (form === "cny") return fu + yuan(whole, decimals);
  if (form === "chinese") return fu + chinese(whole, CHINESE) + (decimals ? `点${[...decimals].map((digit) => CHINESE.signs[digit]).join("")}` : "");
  if (MONEY[form]) return minus + money(whole, decimals);
  if (form === "ordinal" && decimals) throw invalid("only a whole number has an ordinal");
  if (form === "ordinal") return minus + ordinal(cardinal(whole));
  return minus + cardinal(whole) + (decimals ? ` point ${[...decimals].map((digit) => SMALL[digit]).join(" ")}` : "");
}

// 1e21 and 1e-7 are written out: the digits, and the point moved.
function plainDigits(text) {
  const [, sign, whole, decimals = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text.replace(/^(-?)\./, "$10.")) ?? [];
  if (whole === undefined) throw invalid(`"${text.slice(0, 40).toWellFormed()}" is no number: write 1234.5, or words`);
  const by = Number(exponent), digits = whole + decimals, point = whole.length + by;
  if (Math.abs(by) > 80) throw invalid("at most 36 digits before the point and 40 after it");
  const padded = point < 1 ? "0".repeat(1 - point) + digits : digits.padEnd(point, "0"), at = Math.max(point, 1);
  return [sign, padded.slice(0, at).replace(/^0+(?=\d)/, ""), padded.slice(at)];
}

// ---- Chinese: groups of four digits with 万 and 亿 behind them

const CHINESE = { signs: "零一二三四五六七八九", places: ["", "十", "百", "千"] };
const FORMAL = { signs: "零壹贰叁肆伍陆柒捌玖", places: ["", "拾", "佰", "仟"] }; // of cheques: hard to change into another
// Digits behind 千, 万 or 亿 that begin with zeros are told to do so, once.
function grouped(digits, style) {
  const plain = digits.replace(/^0+/, "");
  for (const [size, unit] of [[8, "亿"], [4, "万"]]) {
    if (plain.length <= size) continue;
    const low = grouped(plain.slice(-size), style);
    return grouped(plain.slice(0, -size), style) + unit + (low && plain.at(-size) === "0" ? "零" : "") + low;
  }
  const words = [...plain].map((digit, i) => (digit === "0" ? "零" : style.signs[digit] + style.places[plain.length - 1 - i])).join("");
  return words.replace(/零+/g, "零").replace(/零$/, "");
}

function chinese(digits, style) {
  if (digits.length > 16) throw invalid("in Chinese at most 16 digits before the point");
  return grouped(digits, style).replace(/^一十/, "十") || "零";
}

function yuan(whole, decimals) {
  if (decimals.length > 2) throw invalid(`an amount has at most two decimals, not ${decimals.length}: round it first`);
  const [tenths, hundredths] = decimals.padEnd(2, "0"), isWhole = !/[1-9]/.test(decimals), hasYuan = /[1-9]/.test(whole);
  const parts = [hasYuan || isWhole ? `${chinese(whole, FORMAL)}元` : "", tenths !== "0" ? `${FORMAL.signs[tenths]}角` : hasYuan && !isWhole ? "零" : ""];
  return parts.join("") + (isWhole ? "整" : hundredths === "0" ? "整" : `${FORMAL.signs[hundredths]}分`);
}

// ---- reading words

const VALUES = new Map();
const named = (word, kind, number) => VALUES.set(word, [kind, number]).set(ordinal(word), [kind, number]);
SMALL.forEach((word, number) => named(word, number < 10 ? "digit" : "teen", BigInt(number)));
TENS.slice(2).forEach((word, place) => named(word, "tens", BigInt(10 * (place + 2))));
SCALES.slice(1).forEach((word, place) => named(word, "scale", 1000n ** BigInt(place + 1)));
named("hundred", "hundred", 100n);

// What may stand before a word of each kind.
const BEFORE = {
  digit: ["", "tens", "hundred", "scale"], teen: ["", "hundred", "scale"], tens: ["", "hundred", "scale"],
  hundred: ["digit", "teen", "tens"], scale: ["digit", "teen", "tens", "hundred"],
};

function wholeOf(words) {
  let total = 0n, group = null, last = "", ceiling = null;
  for (const [place, word] of words.entries()) {
    const [kind, number] = VALUES.get(word) ?? [];
    if (!kind) throw invalid(`"${word.slice(0, 40).toWellFormed()}" is no English number word`);
    const tooSoon = kind === "hundred" && group >= 100n, tooLarge = kind === "scale" && ceiling !== null && number >= ceiling;
    const fits = BEFORE[kind].includes(last) && !tooSoon && !tooLarge && !(number === 0n && words.length > 1);
    if (!fits) throw invalid(`"${word}" does not fit ${place ? `behind "${words[place - 1]}"` : "at the start"}`);
    if (kind === "hundred") group *= 100n;
    else if (kind === "scale") [total, group, ceiling] = [total + group * number, null, number];
    else group = (group ?? 0n) + number;
    last = kind;
  }
  return total + (group ?? 0n);
}

function numberOf(text) {
  const [, minus, before, , after] = /^(minus |negative )?(.*?)( point (.*))?$/.exec(text.replace(/^((?:minus |negative )?)point /, "$1zero point "));
  const split = (part) => part.split(" ").filter((word) => word && word !== "and").map((word) => (word === "a" ? "one" : word));
  const whole = split(before), digits = after === undefined ? [] : split(after);
  const odd = digits.find((word) => VALUES.get(word)?.[0] !== "digit");
  if (odd !== undefined) throw invalid(`behind point stand single digits, not "${odd.slice(0, 40).toWellFormed()}"`);
  if (!whole.length || (after !== undefined && !digits.length)) throw invalid("a number word is missing");
  const exact = `${minus ? "-" : ""}${wholeOf(whole)}${digits.length ? `.${digits.map((word) => VALUES.get(word)[1]).join("")}` : ""}`;
  const number = Number(exact);
  return exact.length > 16 || (!digits.length && !Number.isSafeInteger(number)) ? exact : number;
}

if (isRounded(value)) throw invalid("a number of more than 15 digits is rounded on the way: give it as text");
const text = String(value).normalize("NFKC").trim().toLowerCase().replace(/−/g, "-");
if (/[a-z]/.test(text.replace(/(?<=\d)e/, ""))) return numberOf(text.replace(/[\s,-]+/g, " "));
return spelled(...plainDigits(text.replace(/^\+/, "").replace(/^-?\d{1,3}(?:,\d{3})+(?![\d,])/, (whole) => whole.replaceAll(",", ""))));

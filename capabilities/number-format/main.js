// A number is { minus, digits, scale }: the whole number `digits` (BigInt) divided by 10^scale, so that 1.005 is exactly that.
const GROUPS = { en: [",", "."], de: [".", ","], fr: ["\u202f", ","], ch: ["’", "."], in: [",", "."], none: ["", "."] };
const COMPACT = ["", "K", "M", "B", "T"];
const BYTES = ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"], BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"];
const { number, style, decimals, rounding, grouping, prefix, suffix, plus } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

// 12345678901234567890 has been rounded before it came here; 1e20 has not.
const isRounded = (number) => typeof number === "number" && Math.abs(number) > Number.MAX_SAFE_INTEGER && /[1-9]\d{15}/.test(String(Math.abs(number)).replace(".", ""));

function read(text) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^([-+−]?)(\d+(?=\.?)|(?=\.\d))(?:\.(\d*))?(?:e([+-]?\d{1,4}))?$/i.exec(text) ?? [];
  if (whole === undefined) throw invalid(`"${text.slice(0, 40).toWellFormed()}" is no number: give one such as 1234567.89 or 1.2e9, without separators`);
  if (Math.abs(exponent) > 400) throw invalid("the exponent is -400 to 400");
  const scale = fraction.length - Number(exponent), digits = BigInt(whole + fraction);
  return { minus: /[-−]/.test(sign), digits: scale < 0 ? digits * 10n ** BigInt(-scale) : digits, scale: Math.max(scale, 0) };
}

// numerator / denominator as a whole number, rounded as asked.
function divided(numerator, denominator) {
  const quotient = numerator / denominator, twice = (numerator % denominator) * 2n;
  const isHalf = twice === denominator, isMost = twice > denominator;
  const goesUp = { half_up: isMost || isHalf, half_even: isMost || (isHalf && quotient % 2n === 1n), down: false, up: twice > 0n }[rounding];
  return goesUp ? quotient + 1n : quotient;
}

// The value divided by `by`, as { whole, fraction } with so many decimals; `trim` takes zeros off the end.
function fixed({ digits, scale }, by, places, trim) {
  const text = divided(digits * 10n ** BigInt(places), 10n ** BigInt(scale) * by).toString().padStart(places + 1, "0");
  const cut = text.length - places, fraction = text.slice(cut);
  return { whole: text.slice(0, cut), fraction: trim ? fraction.replace(/0+$/, "") : fraction };
}

function grouped({ whole, fraction }) {
  const [between, point] = GROUPS[grouping];
  const places = grouping === "in" ? /\B(?=(?:\d{2})*\d{3}$)/g : /\B(?=(?:\d{3})+$)/g;
  return whole.replace(places, between) + (fraction && point + fraction);
}

const plain = (value) => grouped(fixed(value, 1n, decimals ?? value.scale, false));

// The largest unit of which there is one, also after rounding: 999960 is 1M.
function scaled(value, step, units) {
  const isLarge = style === "compact" && value.digits >= 10n ** BigInt(value.scale);
  let index = 0;
  const part = () => fixed(value, step ** BigInt(index), decimals ?? (index || isLarge ? 1 : value.scale), decimals === undefined);
  while (index < units.length - 1 && BigInt(part().whole) >= step) index++;
  return [grouped(part()), units[index]];
}

// One digit before the point, or, in steps of three, one to three of them; without `decimals` all digits that there are.
function scientific(value, step) {
  const all = value.digits.toString(), first = all.length - 1 - value.scale;
  if (value.digits === 0n) return `${grouped({ whole: "0", fraction: "0".repeat(decimals ?? 0) })}e0`;
  const written = (exponent) => {
    const moved = { digits: value.digits * 10n ** BigInt(Math.max(-exponent, 0)), scale: value.scale + Math.max(exponent, 0) };
    return fixed(moved, 1n, decimals ?? moved.scale, decimals === undefined);
  };
  let exponent = Math.floor(first / step) * step, part = written(exponent);
  if (part.whole.length > step) part = written((exponent += step));
  return `${grouped(part)}e${exponent}`;
}

function ordinal(value) {
  if (value.scale) throw invalid("only a whole number has an ordinal");
  const last = Number(value.digits % 100n), end = last >= 11 && last <= 13 ? "th" : ["th", "st", "nd", "rd"][last % 10] ?? "th";
  return plain(value) + end;
}

const styles = {
  decimal: plain,
  percent: ({ digits, scale }) => `${plain({ digits: digits * 10n ** BigInt(Math.max(2 - scale, 0)), scale: Math.max(scale - 2, 0) })}%`,
  compact: (value) => scaled(value, 1000n, COMPACT).join(""),
  bytes: (value) => scaled(value, 1000n, BYTES).join(" "),
  bytes_binary: (value) => scaled(value, 1024n, BINARY).join(" "),
  scientific: (value) => scientific(value, 1),
  engineering: (value) => scientific(value, 3),
  ordinal,
};

if (isRounded(number)) throw invalid("a number of more than 15 digits is rounded on the way: give it as text");
const value = read(String(number).normalize("NFKC").trim()), text = styles[style](value);
const isZero = !/[1-9]/.test(text.replace(/e[^e]*$/, "")); // also what was rounded to nothing: there is no -0.00
return (isZero ? "" : value.minus ? "-" : plus ? "+" : "") + prefix + text + suffix;

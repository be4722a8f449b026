// Every sign that may stand next, the largest first; the pairs write what would need four signs in a row.
const SIGNS = [
  ["M", 1000], ["CM", 900], ["D", 500], ["CD", 400], ["C", 100], ["XC", 90], ["L", 50], ["XL", 40],
  ["X", 10], ["IX", 9], ["V", 5], ["IV", 4], ["I", 1],
];
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

function toRoman(number, text = String(number)) {
  if (number < 1 || number > 3999) throw invalid(`${text} has no Roman numerals: give a whole number from 1 to 3999`);
  let rest = number, numerals = "";
  for (const [sign, value] of SIGNS) {
    for (; rest >= value; rest -= value) numerals += sign;
  }
  return numerals;
}

function fromRoman(text) {
  let rest = text, number = 0;
  for (const [sign, value] of SIGNS) {
    for (; rest.startsWith(sign); rest = rest.slice(sign.length)) number += value;
  }
  if (rest || number > 3999) throw invalid(`${text} is not in the usual form: larger signs stand first, at most three of a kind`);
  if (toRoman(number) !== text) throw invalid(`${text} is not in the usual form: ${number} is written ${toRoman(number)}`);
  return number;
}

const text = String(input.value).normalize("NFKC").trim().toUpperCase();
if (/^-?\d+$/.test(text)) return toRoman(Number(text), text);
if (/^[IVXLCDM]+$/.test(text)) return fromRoman(text);
throw invalid(`"${text}" is neither a whole number nor made of the signs I V X L C D M`);

// What is wrong is an answer here and no failure. Each check answers the normal form, or throws a Fault with the reason.
class Fault extends Error {}
const demand = (holds, reason) => { if (!holds) throw new Fault(reason); };

// The lengths of the IBAN registry (ISO 13616).
const IBAN_LENGTHS = Object.fromEntries((
  "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 " +
  "FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 " +
  "MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 " +
  "SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
).split(" ").map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]));
// The first two digits of GB/T 2260, with Taiwan, Hong Kong, Macao and the residence permits of their people.
const REGIONS = "11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83".split(" ");
const BARCODES = { 8: "EAN-8", 12: "UPC-A", 13: "EAN-13", 14: "GTIN-14" };

const compact = (text) => text.replace(/[\s\u2010-\u2015-]/g, "");
const weighted = (digits, weight) => [...digits].reduce((sum, digit, place) => sum + weight(Number(digit), digits.length - place), 0);
const expect = (found, right) => demand(found === right, `the check digit is ${found} and should be ${right}`);

// ISO/IEC 7812-1: from the right every second digit counts twice, as the sum of its digits.
function luhn(text) {
  const digits = compact(text);
  demand(/^\d{2,40}$/.test(digits), "a number with a Luhn digit has 2 to 40 digits and nothing else");
  const sum = weighted(digits.slice(0, -1), (digit, fromEnd) => (fromEnd % 2 ? (digit * 2 > 9 ? digit * 2 - 9 : digit * 2) : digit));
  expect(digits.at(-1), String((10 - (sum % 10)) % 10));
  return { value: digits };
}

// ISO 13616: country and check digits go to the end, letters become 10 to 35, and the whole is 1 modulo 97.
function iban(text) {
  const value = compact(text).toUpperCase(), country = value.slice(0, 2), length = IBAN_LENGTHS[country];
  demand(/^[A-Z]{2}\d{2}[A-Z\d]+$/.test(value), "an IBAN is two letters, two digits, and letters and digits");
  demand(length, `no IBANs of the country ${country} are known here`);
  demand(value.length === length, `an IBAN of ${country} has ${length} characters, this has ${value.length}`);
  const number = (value.slice(4) + value.slice(0, 4)).replace(/[A-Z]/g, (letter) => String(parseInt(letter, 36)));
  demand(BigInt(number) % 97n === 1n, "the check digits do not fit: a character is wrong or two are swapped");
  return { value, country, printed: value.match(/.{1,4}/g).join(" ") };
}

// GS1: from the right the digits before the last count 3, 1, 3, 1 …
const gs1 = (digits) => String((10 - (weighted(digits, (digit, fromEnd) => (fromEnd % 2 ? 3 * digit : digit)) % 10)) % 10);

function ean(text) {
  const value = compact(text);
  demand(/^\d+$/.test(value) && BARCODES[value.length], "a barcode has 8, 12, 13 or 14 digits");
  expect(value.at(-1), gs1(value.slice(0, -1)));
  return { value, type: BARCODES[value.length] };
}

const isbn10Digit = (nine) => "0123456789X"[(11 - (weighted(nine, (digit, fromEnd) => digit * (fromEnd + 1)) % 11)) % 11];

// ISO 2108.
function isbn(text) {
  const value = compact(text.replace(/^\s*isbn(?:-1[03])?:?/i, "")).toUpperCase();
  if (/^\d{9}[\dX]$/.test(value)) {
    expect(value.at(-1), isbn10Digit(value.slice(0, 9)));
    const twelve = `978${value.slice(0, 9)}`;
    return { value, isbn13: twelve + gs1(twelve) };
  }
  demand(/^97[89]\d{10}$/.test(value), "an ISBN has 10 digits (the last perhaps X), or 13 that start with 978 or 979");
  expect(value.at(-1), gs1(value.slice(0, -1)));
  const nine = value.slice(3, 12);
  return { value, isbn13: value, ...(value.startsWith("978") ? { isbn10: nine + isbn10Digit(nine) } : {}) };
}

// GB 11643: region, birthday, three digits (the last of them odd for men) and ISO 7064's MOD 11-2.
function citizen(text) {
  const value = compact(text).toUpperCase(), [, year, month, day] = /^\d{6}(\d{4})(\d\d)(\d\d)\d{3}[\dX]$/.exec(value) ?? [];
  demand(year, "a Chinese identity number has 17 digits and a last digit or X");
  demand(REGIONS.includes(value.slice(0, 2)), `there is no province with the code ${value.slice(0, 2)}`);
  const birthday = `${year}-${month}-${day}`;
  demand(year >= 1850 && new Date(birthday).toJSON()?.slice(0, 10) === birthday, `${birthday}, the digits 7 to 14, is no birthday`);
  expect(value.at(-1), "10X98765432"[weighted(value.slice(0, 17), (digit, fromEnd) => digit * (2 ** fromEnd % 11)) % 11]);
  return { value, birthday, sex: value[16] % 2 ? "male" : "female" };
}

// GB 32100: 17 signs in base 31, whose powers of 3 make the last one.
function company(text) {
  const value = compact(text).toUpperCase(), signs = "0123456789ABCDEFGHJKLMNPQRTUWXY";
  demand(/^[1-9ANY][1-9]\d{6}[0-9A-HJ-NP-RTUWXY]{10}$/.test(value), "a unified social credit code has 18 digits and capitals without I, O, S, V and Z: kind, office, six digits of the region, and ten more");
  const sum = [...value.slice(0, 17)].reduce((sum, sign, place) => sum + signs.indexOf(sign) * (3 ** place % 31), 0);
  expect(value.at(-1), signs[(31 - (sum % 31)) % 31]);
  return { value, region: value.slice(2, 8) };
}

// ISO 6166: the digits that the letters make (A is 10) have a Luhn digit.
function isin(text) {
  const value = compact(text).toUpperCase();
  demand(/^[A-Z]{2}[A-Z\d]{9}\d$/.test(value), "an ISIN is two letters, nine letters and digits, and a digit");
  luhn(value.replace(/[A-Z]/g, (letter) => String(parseInt(letter, 36))));
  return { value, country: value.slice(0, 2) };
}

// RFC 5321 and 5322 without quoted local parts, comments and address literals; RFC 6531 for letters of all scripts.
function email(text) {
  const value = text.trim().normalize("NFC"), at = value.lastIndexOf("@"), local = value.slice(0, at), domain = value.slice(at + 1).toLowerCase();
  const size = (text) => new TextEncoder().encode(text).length;
  demand(at > 0 && domain, "an email address has a name, an @ and a domain");
  demand(/^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u.test(local),
    "before the @ stand letters, digits and !#$%&'*+/=?^_`{|}~- in parts joined by single dots");
  demand(size(local) <= 64, "before the @ stand at most 64 bytes");
  const labels = domain.split(".");
  const isLabel = (label) => /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?$/u.test(label) && size(label) <= 63;
  demand(labels.every(isLabel), "the domain is made of letters, digits and inner hyphens, in parts of at most 63 bytes joined by dots");
  demand(labels.length > 1 && !/^\d+$/.test(labels.at(-1)), "the domain has at least two parts, and the last is no number");
  demand(size(value) <= 254, "an email address has at most 254 bytes");
  return { value: `${local}@${domain}`, domain };
}

// RFC 9562.
function uuid(text) {
  const plain = text.trim().toLowerCase().replace(/^urn:uuid:/, "").replace(/^\{(.*)\}$/, "$1");
  const form = /^[\da-f]{8}(-?)[\da-f]{4}\1[\da-f]{4}\1[\da-f]{4}\1[\da-f]{12}$/;
  demand(form.test(plain), "a UUID has 32 digits 0-9 a-f, in groups of 8, 4, 4, 4 and 12");
  const value = plain.replaceAll("-", "").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  if (/^[0-]+$/.test(value) || /^[f-]+$/.test(value)) return { value, special: value[0] === "0" ? "nil" : "max" };
  if (!/[89ab]/.test(value[19])) return { value, special: value[19] < "8" ? "NCS, before RFC 9562" : value[19] < "e" ? "Microsoft GUID" : "future" };
  demand(/[1-8]/.test(value[14]), `there is no version ${value[14]}: the 13th digit is 1 to 8`);
  return { value, version: Number(value[14]) };
}

try {
  return { valid: true, ...{ luhn, iban, isbn, ean, isin, email, uuid, "cn-id": citizen, "cn-company": company }[input.kind](input.value) };
} catch (problem) {
  if (!(problem instanceof Fault)) throw problem;
  return { valid: false, reason: problem.message };
}

"""The twenty small programs that the scripted author can write."""

from __future__ import annotations

import re

from tests.fakes.skill import Skill

TEXT, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
LIST = {"type": "array", "items": NUMBER}
YES_NO = ("No, it is not.", "Yes, it is.")
QUOTED = r"'([^']+)'"

SKILLS = (
    Skill(
        "roman-numerals",
        "Write a whole number as Roman numerals.",
        {"number": {**INTEGER, "minimum": 1, "maximum": 3999}},
        """const steps = [[1000,'M'],[900,'CM'],[500,'D'],[400,'CD'],[100,'C'],[90,'XC'],[50,'L'],[40,'XL'],[10,'X'],[9,'IX'],
[5,'V'],[4,'IV'],[1,'I']];
let left = input.number, text = '';
for (const [value, letters] of steps) while (left >= value) { text += letters; left -= value; }
return text;""",
        (({"number": 9}, "IX"), ({"number": 40}, "XL")),
        "roman",
        (r"of (\d+)", r"Write (\d+)"),
        ("In Roman numerals: **{}**.",),
    ),
    Skill(
        "luhn-check",
        "Check a number with the Luhn algorithm, as card numbers are checked.",
        {"digits": TEXT},
        """const digits = [...input.digits.replace(/\\D/g, '')].reverse().map(Number);
return digits.reduce((sum, d, i) => sum + (i % 2 ? (d * 2 > 9 ? d * 2 - 9 : d * 2) : d), 0) % 10 === 0;""",
        (({"digits": "79927398713"}, True), ({"digits": "79927398710"}, False)),
        "luhn",
        (r"([\d ]{15,})",),
        YES_NO,
    ),
    Skill(
        "leap-years",
        "Count the Gregorian leap years between two years, both included.",
        {"from": INTEGER, "to": INTEGER},
        """const until = (y) => Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
return until(input.to) - until(input.from - 1);""",
        (({"from": 2000, "to": 2000}, 1), ({"from": 1897, "to": 1903}, 0)),
        "leap years",
        (r"from (\d+) to (\d+)",),
        ("There are {} of them.",),
    ),
    Skill(
        "caesar-cipher",
        "Shift the letters of a text with a Caesar cipher.",
        {"shift": INTEGER, "text": TEXT},
        """return input.text.replace(/[a-z]/gi, (c) => {
  const base = c <= 'Z' ? 65 : 97;
  return String.fromCharCode((c.charCodeAt(0) - base + input.shift) % 26 + base);
});""",
        (({"shift": 3, "text": "Xyz!"}, "Abc!"),),
        "caesar",
        (rf"(?=.*?\b(\d+)).*?{QUOTED}",),
    ),
    Skill(
        "isbn-check-digit",
        "Complete an ISBN-13 with its check digit.",
        {"digits": TEXT},
        """const digits = input.digits.replace(/\\D/g, '');
const sum = [...digits].reduce((total, d, i) => total + Number(d) * (i % 2 ? 3 : 1), 0);
return digits + (10 - sum % 10) % 10;""",
        (({"digits": "978-3-16-148410"}, "9783161484100"),),
        "isbn",
        (r"(97[\d-]{10,})",),
    ),
    Skill(
        "morse-code",
        "Write a text in Morse code.",
        {"text": TEXT},
        """const codes = ('.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. '
  + '--.- .-. ... - ..- ...- .-- -..- -.-- --..').split(' ');
return input.text.toLowerCase().split(' ').map((w) => [...w].map((c) => codes[c.charCodeAt(0) - 97]).join(' ')).join(' / ');""",
        (({"text": "go on"}, "--. --- / --- -."),),
        "morse",
        (QUOTED,),
        ("Here it is: `{}`.",),
    ),
    Skill(
        "haversine-distance",
        "The great-circle distance between two places, in kilometres.",
        {"lat1": NUMBER, "lon1": NUMBER, "lat2": NUMBER, "lon2": NUMBER},
        """const rad = (d) => d * Math.PI / 180;
const h = Math.sin(rad(input.lat2 - input.lat1) / 2) ** 2
  + Math.cos(rad(input.lat1)) * Math.cos(rad(input.lat2)) * Math.sin(rad(input.lon2 - input.lon1) / 2) ** 2;
return Math.round(2 * 6371 * Math.asin(Math.sqrt(h)) * 100) / 100;""",
        (({"lat1": 0, "lon1": 0, "lat2": 0, "lon2": 90}, 10007.54),),
        "haversine",
        (r"(-?\d+\.\d+)\D*?(-?\d+\.\d+)\D*?(-?\d+\.\d+)\D*?(-?\d+\.\d+)",),
        ("It is {:,} km.",),
    ),
    Skill(
        "weekday",
        "The weekday of a date by arithmetic alone.",
        {"year": INTEGER, "month": INTEGER, "day": INTEGER},
        """const { month, day } = input, year = input.year - (month < 3 ? 1 : 0);
const shift = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4][month - 1];
const n = (year + Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400) + shift + day) % 7;
return ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'][n];""",
        (
            ({"year": 2000, "month": 1, "day": 1}, "Saturday"),
            ({"year": 2024, "month": 2, "day": 29}, "Thursday"),
        ),
        "weekday|day of the week",
        (r"(\d{4})-(\d\d)-(\d\d)",),
        ("It is a {}.",),
    ),
    Skill(
        "levenshtein-distance",
        "The Levenshtein edit distance between two texts.",
        {"left": TEXT, "right": TEXT},
        """let row = [...Array(input.right.length + 1).keys()];
[...input.left].forEach((a, i) => {
  const next = [i + 1];
  [...input.right].forEach((b, j) => next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (a !== b))));
  row = next;
});
return row.at(-1);""",
        (({"left": "kitten", "right": "sitting"}, 3),),
        "levenshtein",
        (rf"{QUOTED} and {QUOTED}",),
        ("The distance is {}.",),
    ),
    Skill(
        "run-length-encoding",
        "Run-length encode a text, each count before its letter.",
        {"text": TEXT},
        "return input.text.replace(/(.)\\1*/g, (run) => run.length + run[0]);",
        (({"text": "aab"}, "2a1b"),),
        "run-length",
        (QUOTED,),
        ("Encoded: {}",),
    ),
    Skill(
        "largest-prime-factor",
        "The largest prime factor of a whole number.",
        {"number": INTEGER},
        """let left = input.number, largest = 1;
for (let p = 2; p * p <= left; p++) while (left % p === 0) { largest = p; left /= p; }
return left > 1 ? left : largest;""",
        (({"number": 84}, 7), ({"number": 8}, 2)),
        "prime factor",
        (r"(\d+)",),
        ("The largest one is {:,}.",),
    ),
    Skill(
        "base-conversion",
        "Convert a whole number from base 10 to another base.",
        {"number": INTEGER, "base": {**INTEGER, "minimum": 2, "maximum": 36}},
        "return input.number.toString(input.base);",
        (({"number": 255, "base": 16}, "ff"),),
        r"\bbase \d",
        (r"(\d{5,}).*?base (?!10\b)(\d+)",),
    ),
    Skill(
        "median-and-deviation",
        "The median and the sample standard deviation of numbers.",
        {"numbers": LIST},
        """const sorted = [...input.numbers].sort((a, b) => a - b), n = sorted.length, half = n >> 1;
const mean = sorted.reduce((a, b) => a + b) / n;
const deviation = Math.sqrt(sorted.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (n - 1));
return { median: n % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2, deviation: Math.round(deviation * 1000) / 1000 };""",
        (({"numbers": [1, 2, 3]}, {"median": 2, "deviation": 1}),),
        "median",
        (r"of ([\d., ]+\d)",),
        ("The median is {0[median]}, the standard deviation {0[deviation]}.",),
    ),
    Skill(
        "title-case",
        "Put a text into title case with small words.",
        {"text": TEXT},
        """const small = new Set('a an the and of in on at to by for or but'.split(' ')), words = input.text.split(' ');
return words.map((w, i) => i && i < words.length - 1 && small.has(w) ? w : w[0].toUpperCase() + w.slice(1)).join(' ');""",
        (
            ({"text": "war and peace"}, "War and Peace"),
            ({"text": "the end of the"}, "The End of The"),
        ),
        "title case",
        (QUOTED,),
        ("*{}*",),
    ),
    Skill(
        "csv-to-json",
        "Turn CSV with a header line into a JSON array of objects.",
        {"csv": TEXT},
        """const [head, ...rows] = input.csv.trim().split('\\n').map((line) => line.split(','));
return rows.map((row) => Object.fromEntries(row.map((cell, i) => [head[i], cell !== '' && !isNaN(cell) ? Number(cell) : cell])));""",
        (({"csv": "a,b\n1,x"}, [{"a": 1, "b": "x"}]),),
        "csv",
        (r"\n(.+)",),
        ("```json\n{}\n```",),
    ),
    Skill(
        "iban-check",
        "Check an IBAN with mod 97.",
        {"iban": TEXT},
        """const moved = input.iban.slice(4) + input.iban.slice(0, 4);
return BigInt([...moved].map((c) => parseInt(c, 36)).join('')) % 97n === 1n;""",
        (({"iban": "GB82WEST12345698765432"}, True),),
        "iban",
        (r"IBAN (\w+)",),
        YES_NO,
    ),
    Skill(
        "pig-latin",
        "Say a text in pig latin.",
        {"text": TEXT},
        """const said = (word) => word.replace(/^([^aeiou]*)(.*)$/, (_, head, tail) => tail + (head || 'w') + 'ay');
return input.text.split(' ').map(said).join(' ');""",
        (({"text": "pig eats"}, "igpay eatsway"),),
        "pig latin",
        (QUOTED,),
        ('"{}"',),
    ),
    Skill(
        "binary-search",
        "The values that a binary search looks at in a sorted list.",
        {"target": NUMBER, "values": LIST},
        """const seen = [];
for (let low = 0, high = input.values.length - 1; low <= high;) {
  const middle = Math.floor((low + high) / 2), value = input.values[middle];
  seen.push(value);
  if (value === input.target) break;
  if (value < input.target) low = middle + 1; else high = middle - 1;
}
return seen;""",
        (({"target": 3, "values": [1, 2, 3]}, [2, 3]),),
        "binary search",
        (r"for (\d+) .*?\[([^\]]*)\]",),
        ("It looks at {}.",),
    ),
    Skill(
        "magic-square",
        "Check whether a square of numbers is magic.",
        {"rows": {"type": "array", "items": LIST}},
        """const rows = input.rows, n = rows.length, sum = (list) => list.reduce((a, b) => a + b);
const across = rows.map((_, i) => rows.map((row) => row[i]));
const lines = [...rows, ...across, rows.map((row, i) => row[i]), rows.map((row, i) => row[n - 1 - i])];
return new Set(lines.map(sum)).size === 1 && new Set(rows.flat()).size === n * n;""",
        (({"rows": [[1, 1], [1, 1]]}, False), ({"rows": [[8, 1, 6], [3, 5, 7], [4, 9, 2]]}, True)),
        "magic square",
        (r"(\[\[.*?\]\])",),
        YES_NO,
    ),
    Skill(
        "bracket-matching",
        "Check whether the brackets of a text are balanced.",
        {"text": TEXT},
        """const open = [], pair = { ')': '(', ']': '[', '}': '{' };
for (const c of input.text) {
  if ('([{'.includes(c)) open.push(c);
  else if (pair[c] && open.pop() !== pair[c]) return false;
}
return open.length === 0;""",
        (({"text": "(a[b])"}, True), ({"text": "(a"}, False)),
        "brackets",
        (QUOTED,),
        YES_NO,
    ),
)


def skill_for(said: str) -> Skill:
    """The skill that a person asks for."""
    return next(skill for skill in SKILLS if re.search(skill.asked, said, re.IGNORECASE))

// A name is split into words at signs, before a capital that follows a small letter, and before the last capital of several (HTTPServer).
const CAPITALS = String.raw`\p{Lu}(?!\p{Ll})(?:\p{Lu}(?!\p{Ll})|\p{N})*`, SMALLS = String.raw`\p{Lu}?[\p{Ll}\p{M}][\p{Ll}\p{M}\p{N}]*`;
const CASELESS = String.raw`[\p{Lt}\p{Lm}\p{Lo}][\p{Lm}\p{Lo}\p{M}]*`, NUMBER = String.raw`\p{N}+\p{Ll}*`;
const WORD = new RegExp([CAPITALS, SMALLS, CASELESS, NUMBER].join("|"), "gu");
const APOSTROPHE = /(?<=\p{L})['’](?=\p{L})/gu;
const TEXT_WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’]*/gu;
// Articles, short prepositions and conjunctions, which English titles write small unless they come first or last.
const SMALL = new Set("a an and as at but by for from in nor of off on or per so the to up via vs with yet".split(" "));

const { text, to } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

const lower = (word) => word.toLowerCase();
const upper = (word) => word.toUpperCase();
const capital = (word) => word.replace(/^./u, upper);
const proper = (word) => capital(lower(word));

// case → [how a word is written, what stands between words, how the first word is written]
const NAMES = {
  camel: [proper, "", lower], pascal: [proper, ""], snake: [lower, "_"], constant: [upper, "_"], kebab: [lower, "-"], train: [proper, "-"],
  dot: [lower, "."],
};

function named(line) {
  const words = line.replace(APOSTROPHE, "").match(WORD);
  if (!words && /\S/.test(line)) throw invalid(`there is no letter and no digit in "${line.slice(0, 40).toWellFormed()}"`);
  const [write, between, first = write] = NAMES[to];
  return (words ?? []).map((word, place) => (place ? write : first)(word)).join(between);
}

// A word with capitals inside (iPhone, NASA) stays as it is, unless the whole line is in capitals.
function title(line) {
  const shouted = line === upper(line), last = [...line.matchAll(TEXT_WORD)].at(-1)?.index;
  let starts = true;
  return line.replace(/[:.!?—]|[\p{L}\p{N}][\p{L}\p{N}\p{M}'’]*/gu, (part, at) => {
    if (!/^[\p{L}\p{N}]/u.test(part)) return (starts = true), part;
    const keeps = !shouted && /\p{Lu}/u.test(part.slice(1)), word = keeps ? part : lower(part), small = SMALL.has(word) && !starts && at !== last;
    starts = false;
    return keeps || small ? word : capital(word);
  });
}

const sentence = (line) => lower(line).replace(/(^|[.!?…]\s+)([^\p{L}\p{N}\s]*)(\p{L})/gu, (_, end, signs, first) => end + signs + upper(first));

const whole = { upper, lower, title, sentence };
return text.split("\n").map(whole[to] ?? named).join("\n");

// What a reader calls a character is a cluster of code points, and Chinese and Japanese put no spaces between words: there a character
// counts as a word, as word processors do it.
const IDEOGRAPH = String.raw`[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]&&\p{L}]`;
const PART = String.raw`[[\p{L}\p{N}]--${IDEOGRAPH}][[\p{L}\p{N}\p{M}_]--${IDEOGRAPH}]*`;
const WORD = new RegExp(String.raw`${IDEOGRAPH}|${PART}(?:['’.,\-]${PART})*`, "gv");
const ONE_IDEOGRAPH = new RegExp(`^${IDEOGRAPH}$`, "v");
// Near to the grapheme clusters of Unicode (UAX 29): flags, emoji joined by U+200D, and letters with their marks are one each.
const CLUSTER = /\r\n|\p{RI}\p{RI}|[^\p{M}\r\n](?:[\p{M}\p{EMod}\u200c\u{e0020}-\u{e007f}]|\u200d(?:\p{ExtPict})?)*|[^]/gu;
const ABBREVIATION = /\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|approx|fig)\./gi;
const SENTENCE_END = /(?<![.!?…])[.!?…]+["'”’»)\]]*(?=\s+[^\p{Ll}\s]|\s*$)|[。！？]+["'”’」』）]*/gu;
const WORDS_A_MINUTE = 238, IDEOGRAPHS_A_MINUTE = 400;

const count = (text, pattern) => (text.match(pattern) ?? []).length;

function sentencesOf(text) {
  const plain = text.replace(ABBREVIATION, (word) => word.replaceAll(".", " ")).trim();
  return plain.split(SENTENCE_END).filter((part) => /[\p{L}\p{N}]/u.test(part)).length;
}

function linesOf(text) {
  return text === "" ? 0 : text.replace(/(\r\n|[\n\r])$/, "").split(/\r\n|[\n\r]/).length;
}

function mostFrequent(words, top) {
  const counts = new Map();
  for (const word of words.map((word) => word.toLowerCase())) counts.set(word, (counts.get(word) ?? 0) + 1);
  const ranked = [...counts].sort(([, a], [, b]) => b - a).slice(0, top);
  return ranked.map(([word, count]) => ({ word: word.slice(0, 80).toWellFormed(), count }));
}

const { text, top } = input;
const words = text.match(WORD) ?? [];
const ideographs = words.filter((word) => ONE_IDEOGRAPH.test(word)).length;

return {
  words: words.length,
  characters: count(text, CLUSTER),
  characters_without_spaces: count(text.replace(/\s/g, ""), CLUSTER),
  sentences: sentencesOf(text),
  lines: linesOf(text),
  paragraphs: text.split(/(?:\r?\n[ \t]*){2,}/).filter((part) => part.trim()).length,
  reading_seconds: Math.ceil(((words.length - ideographs) / WORDS_A_MINUTE + ideographs / IDEOGRAPHS_A_MINUTE) * 60),
  top_words: mostFrequent(words, top),
};

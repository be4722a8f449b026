// Columns as a terminal counts them: East Asian wide characters and emoji take two (Unicode's UAX 11), marks and joiners none.
const WIDE = new RegExp(
  "^[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\ua960-\\ua97c\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff01-\\uff60\\uffe0-\\uffe6" +
  "\\u{1f300}-\\u{1f64f}\\u{1f680}-\\u{1f6ff}\\u{1f900}-\\u{1faff}\\u{20000}-\\u{3fffd}]", "u");
const NARROW = /^[\p{M}\u200b-\u200f\u2060\ufeff\p{EMod}]/u;
// A word is what has no white space inside; Chinese and Japanese may break after every character, but no line starts with a closing
// sign or ends with an opening one.
const CLOSING = "、。，．！？：；）」』】》〉〕”’…,.!?:;)\\]}", OPENING = "（「『【《〈〔“‘";
const CJK = "[\\u2e80-\\u2fff\\u3005-\\u3007\\u3041-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff\\uff01-\\uff60\\u{20000}-\\u{3fffd}\\u3001-\\u3011]";
const PIECE = new RegExp(`[${OPENING}]*(?:${CJK}|(?:(?!${CJK})[^\\s${OPENING}])+|[${OPENING}])\\p{M}*[${CLOSING}]*`, "gu");

const { text, width, first_indent: firstIndent, indent, keep_lines: keepLines, break_words: breakWords } = input;

const column = (char) => (NARROW.test(char) ? 0 : WIDE.test(char) ? 2 : 1);
const columns = (text) => [...text].reduce((sum, char) => sum + column(char), 0);
const room = [firstIndent, indent].map((before) => width - columns(before));
if (Math.min(...room) < 2) throw Object.assign(new Error(`a width of ${width} leaves less than two columns beside the indent`), { code: "EINVAL" });

// The pieces of a paragraph: { text, spaced: white space stands before it }.
const piecesOf = (paragraph) =>
  paragraph.trim().split(/\s+/u).flatMap((word) => (word.match(PIECE) ?? []).map((text, place) => ({ text, spaced: place === 0 })));

function wrapped(paragraph) {
  const lines = [];
  let line = "", used = 0;
  const limit = () => room[lines.length ? 1 : 0];
  const close = () => (lines.push(line), (line = ""), (used = 0));
  for (const { text, spaced } of piecesOf(paragraph)) {
    const size = columns(text), space = spaced && line ? " " : "";
    if (used + space.length + size <= limit()) {
      line += space + text;
      used += space.length + size;
      continue;
    }
    if (line) close();
    if (size <= limit() || !breakWords) [line, used] = [text, size];
    else for (const char of text) {
      if (used + column(char) > limit()) close();
      line += char;
      used += column(char);
    }
  }
  if (line) close();
  return lines.map((line, place) => (place ? indent : firstIndent) + line).join("\n");
}

const paragraphs = text.replace(/\r\n?/g, "\n").split(keepLines ? "\n" : /\n(?:[ \t]*\n)+/);
return paragraphs.map(wrapped).join(keepLines ? "\n" : "\n\n").replace(/^\n+|\n+$/g, "");

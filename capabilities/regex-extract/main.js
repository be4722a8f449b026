// The sandbox ends a pattern that runs away; here it is only read, applied and its matches counted.
const LIMIT = 1000;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

const built = (pattern, flags) => {
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    return error;
  }
};

// What Python and others write in another way. A letter that JavaScript does not know behind \ would mean itself, and match nothing.
const OTHERS = { "\\A": "(?<![^])", "\\Z": "(?![^])", "\\z": "(?![^])", "\\h": "[\\t\\p{Zs}]", "\\R": "(?:\\r\\n|[\\n\\r])" };

function translated(pattern) {
  const written = pattern.replaceAll("(?P<", "(?<").replace(/\(\?P=(\w+)\)/g, "\\k<$1>");
  return written.replace(/\\[^]|\[(?:\\[^]|[^\]\\])*\]|\{,(\d+)\}/g, (part, most) => {
    if (/^\\[a-zA-Z]$/.test(part) && !"bBcdDfknpPrsStuvwWx".includes(part[1]) && !OTHERS[part]) throw invalid(`${part} means nothing in JavaScript's regular expressions`);
    return OTHERS[part] ?? (most === undefined ? part : `{0,${most}}`);
  });
}

// With Unicode rules (\p{L}, whole emoji) where the pattern is valid under them.
function compiled(pattern, flags) {
  const [, inline = "", rest] = /^(?:\(\?([ims]+)\))?([^]*)$/.exec(pattern), written = translated(rest);
  const unique = [...new Set(flags + inline)].join("");
  const attempts = [built(written, `g${unique}u`), built(written, `g${unique}`)];
  const regex = attempts.find((attempt) => attempt instanceof RegExp);
  if (!regex) throw invalid(`the pattern is not a regular expression: ${attempts[1].message}`);
  return regex;
}

const clean = (text) => text?.toWellFormed() ?? null; // half of a character is no text

function shown(match) {
  const [whole, ...groups] = match, text = clean(whole);
  if (!groups.length) return text;
  const named = match.groups && Object.entries(match.groups).map(([name, part]) => [name, clean(part)]);
  return { match: text, groups: named ? Object.fromEntries(named) : groups.map(clean) };
}

function* matches(regex, text) {
  let found = 0;
  for (const match of text.matchAll(regex)) {
    if (++found > LIMIT) throw invalid(`more than ${LIMIT} matches: use a narrower pattern or a shorter text`);
    yield shown(match);
  }
}

const results = matches(compiled(input.pattern, input.flags), input.text);
return input.all ? [...results] : results.next().value ?? null;

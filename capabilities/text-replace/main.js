// What was found is replaced: texts as they are, or a regular expression. The sandbox ends a pattern that runs away.
const { text, find, replace, regex, flags, whole_words: wholeWords, most } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

// A word ends where no letter, digit or mark follows; \b knows ASCII alone.
const framed = (source) => (wholeWords ? String.raw`(?<![\p{L}\p{N}\p{M}_])(?:${source})(?![\p{L}\p{N}\p{M}_])` : source);

function compiled(one) {
  const written = regex ? one.replaceAll("(?P<", "(?<") : escaped(one);
  try {
    return new RegExp(framed(written), `g${[...new Set(flags)].join("")}u`);
  } catch (error) {
    throw invalid(`find is not a regular expression: ${error.message}`);
  }
}

// In a regular expression's replacement $1, $<name> and $& mean what was found, and \n a line end; elsewhere every sign is itself.
function replaced(match, replacement) {
  if (!regex) return replacement;
  return replacement.replace(/\$(?:(\$)|(&)|(\d{1,2})|<([^>]*)>)|\\([nt\\])/g, (whole, dollar, all, number, name, escape) => {
    if (escape) return { n: "\n", t: "\t", "\\": "\\" }[escape];
    if (dollar) return "$";
    if (all) return match[0];
    if (name !== undefined) return match.groups?.[name] ?? "";
    return Number(number) > 0 && Number(number) < match.length ? match[Number(number)] ?? "" : whole;
  });
}

let count = 0;
function once(text, [one, replacement]) {
  return text.replace(compiled(one), (...found) => {
    const groups = typeof found.at(-1) === "object" ? found.at(-1) : undefined, match = found.slice(0, groups ? -3 : -2);
    if (count === most) return match[0];
    count++;
    return replaced(Object.assign(match, { groups }), replacement);
  });
}

if (typeof find === "string" && replace === undefined) throw invalid("give replace: what stands there instead (an empty text removes it)");
if (typeof find !== "string" && replace !== undefined) throw invalid("an object as find says itself what replaces each of its names: leave replace out");
const pairs = typeof find === "string" ? [[find, replace]] : Object.entries(find);
if (pairs.some(([one]) => one === "")) throw invalid("find is empty: there is nothing to look for");
const result = pairs.reduce(once, text);
if (result.length > 400_000) throw Object.assign(new Error("the result is too large: at most 400,000 characters"), { code: "ELIMIT" });
return { text: result.toWellFormed(), count };

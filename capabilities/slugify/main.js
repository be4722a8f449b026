// Accents fall off in Unicode's decomposition (NFKD); what does not decompose stands in these tables. Greek and Cyrillic go by the
// simple transliterations of passports and road signs (ELOT 743 and BGN/PCGN without their special cases).
const pairs = (text) => Object.fromEntries(text.split(" ").map((pair) => [pair.slice(0, 1), pair.slice(1)]));
const LETTERS = pairs(
  "ßss æae œoe øo đd ðd þth łl ħh ıi ŋng ŧt ĸk ſs αa βv γg δd εe ζz ηi θth ιi κk λl μm νn ξx οo πp ρr σs ςs τt υy φf χch ψps ωo аa бb " +
  "вv гg дd еe жzh зz иi кk лl мm нn оo пp рr сs тt уu фf хkh цts чch шsh щshch ъ ыy ь эe юyu яya єie іi ґg ђdj јj љlj њnj ћc џdz ѓg ќk",
);
const SPELLINGS = pairs("&and @at €euro £pound ¥yen");
const GERMAN = pairs("äae öoe üue");

const { text, separator, max_length: most, lowercase, german, unicode } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

// The capital of a letter is written with a capital first: Þ is Th.
function letter(table, char) {
  const small = char.toLowerCase(), latin = table[small];
  return latin === undefined || small === char ? latin : latin.slice(0, 1).toUpperCase() + latin.slice(1);
}

function ascii(text) {
  const shaped = german ? text.replace(/[äöü]/giu, (char) => letter(GERMAN, char)) : text;
  const kept = shaped.replace(/й/g, "y").replace(/Й/g, "Y"); // it would decompose to и
  const plain = kept.normalize("NFKD").replace(/\p{M}+/gu, "");
  const latin = plain.replace(/[^\0-\x7f]/gu, (char) => letter(LETTERS, char) ?? char);
  const foreign = /[^\0-\x7f]/u.exec(latin.replace(/[^\p{L}\p{N}]/gu, ""))?.[0];
  if (foreign) throw invalid(`"${foreign}" has no ASCII spelling here: set unicode to true to keep such letters`);
  return latin;
}

// Whole words that fit; of a first word that is too long, its beginning.
function cut(words) {
  let slug = [...words[0]].slice(0, most).join("");
  for (const word of words.slice(1)) {
    if ([...slug].length + 1 + [...word].length > most) break;
    slug += separator + word;
  }
  return slug;
}

const composed = text.normalize("NFC").replace(/(?<=\p{L})['’](?=\p{L})/gu, ""); // don't is one word
const spelled = composed.replace(/[&@€£¥]/g, (sign) => ` ${SPELLINGS[sign]} `);
const cased = lowercase ? spelled.toLowerCase() : spelled;
const plain = unicode ? cased.normalize("NFKC") : ascii(cased);
const words = (lowercase ? plain.toLowerCase() : plain).match(/[\p{L}\p{N}\p{M}]+/gu);
if (!words) throw invalid("there is no letter and no digit in the text");
return most === undefined ? words.join(separator) : cut(words);

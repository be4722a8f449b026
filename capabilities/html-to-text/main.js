// A tokenizer near to the HTML standard's, without its tree: what an element means for the layout is known from its name alone.
const LATIN =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil " +
  "sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave " +
  "Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute " +
  "acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml " +
  "divide oslash ugrave uacute ucirc uuml yacute thorn yuml";
const GREEK = "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho - Sigma Tau Upsilon Phi Chi Psi Omega";
const OTHERS =
  "amp& lt< gt> quot\" apos' euro€ hellip… ndash– mdash— lsquo‘ rsquo’ sbquo‚ ldquo“ rdquo” bdquo„ lsaquo‹ rsaquo› bull• trade™ dagger† " +
  "Dagger‡ permil‰ prime′ Prime″ minus− larr← uarr↑ rarr→ darr↓ harr↔ rArr⇒ hArr⇔ infin∞ asymp≈ ne≠ equiv≡ le≤ ge≥ sum∑ prod∏ radic√ " +
  "int∫ part∂ nabla∇ isin∈ cap∩ cup∪ sub⊂ sup⊃ and∧ or∨ forall∀ exist∃ empty∅ there4∴ spades♠ clubs♣ hearts♥ diams♦ check✓ star☆ OElig " +
  "Œ oeligœ Scaron Š scaronš Yuml Ÿ fnofƒ circˆ tilde˜ zwnj\u200c zwj\u200d lrm\u200e rlm\u200f ensp\u2002 emsp\u2003 thinsp\u2009 " +
  "nbsp\u00a0 oline‾ frasl⁄ loz◊ sigmafς lang⟨ rang⟩ sdot⋅ perp⊥ ang∠ cong≅ sim∼ prop∝ alefsymℵ crarr↵ dArr⇓ imageℑ lArr⇐ lceil⌈ " +
  "lfloor⌊ lowast∗ ni∋ notin∉ nsub⊄ oplus⊕ otimes⊗ pivϖ rceil⌉ realℜ rfloor⌋ sube⊆ supe⊇ sup⊃ thetasymϑ uArr⇑ upsihϒ weierp℘";
const NAMES = new Map();
LATIN.split(" ").forEach((name, place) => NAMES.set(name, String.fromCharCode(160 + place)));
GREEK.split(" ").forEach((name, place) => {
  NAMES.set(name, String.fromCharCode(0x391 + place));
  NAMES.set(name.toLowerCase(), String.fromCharCode(0x3b1 + place));
});
for (const [, name, sign] of OTHERS.matchAll(/([A-Za-z]+\d?) ?([^A-Za-z\d ])/gu)) NAMES.set(name, sign);
// Without a semicolon only the old names count: AT&T stays, &copy 2024 does not.
const BARE = new Set([...LATIN.split(" "), "amp", "lt", "gt", "quot", "AMP", "LT", "GT", "COPY", "REG", "QUOT"]);
for (const name of ["amp", "lt", "gt", "quot", "copy", "reg"]) NAMES.set(name.toUpperCase(), NAMES.get(name));
// What the standard makes of numbers 128 to 159: windows-1252.
const WINDOWS = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

function numbered(number) {
  if (number >= 128 && number < 160) return WINDOWS[number - 128];
  const isText = number > 0 && number <= 0x10ffff && !(number >= 0xd800 && number <= 0xdfff);
  return isText ? String.fromCodePoint(number) : "\ufffd";
}

// An old name counts without its semicolon, also before other letters (&notit; begins with ¬), but in an attribute only where no letter,
// digit or = follows: ?a=1&copy=2 stays what it is.
function entity(whole, name, end, next, isValue) {
  if (end && NAMES.has(name)) return NAMES.get(name);
  if (isValue && (end || next === "=" || !BARE.has(name))) return whole;
  for (let size = name.length; size > 1; size--) if (BARE.has(name.slice(0, size))) return NAMES.get(name.slice(0, size)) + whole.slice(1 + size);
  return whole;
}

const decoded = (text, isValue = false) =>
  text.replace(/&(?:#(\d+)|#x([\da-f]+)|([a-z][a-z\d]{1,30}))(;?)/gi, (whole, decimal, hex, name, end, at) =>
    name ? entity(whole, name, end, text[at + whole.length], isValue) : numbered(decimal ? Number(decimal) : parseInt(hex, 16)));

// ---- layout: text is gathered with the number of line ends that have to stand before it

const GAPS = { p: 2, h1: 2, h2: 2, h3: 2, h4: 2, h5: 2, h6: 2, ul: 2, ol: 2, dl: 2, table: 2, blockquote: 2, pre: 2, figure: 2, hr: 2 };
const BLOCKS = "div section article header footer main nav aside form fieldset address li dt dd tr caption figcaption details summary option title body";
for (const name of BLOCKS.split(" ")) GAPS[name] = 1;
const SILENT = new Set("script style template noscript iframe object svg math select textarea video audio canvas".split(" "));
const lists = [];
let out = "", gap = 0, space = false, marker = false, pre = 0, opened = false, cells = 0, href = "";

function put(text) {
  if (!text) return;
  if (out) out += gap ? "\n".repeat(gap) : space ? " " : "";
  [gap, space, marker] = [0, false, false];
  out += text;
}

function write(text) {
  if (pre) return put(opened ? text.replace(/^\n/, "") : text), (opened &&= !text);
  const plain = text.replace(/[ \t\r\n\f]+/g, " ");
  if (plain === " " || plain.startsWith(" ")) space ||= gap === 0;
  put(plain.trim() && plain.replace(/^ | $/g, ""));
  if (plain.trim() && plain.endsWith(" ")) space = true;
}

function breakLines(count) {
  if (!marker) [gap, space] = [Math.max(gap, count), false]; // a paragraph stays beside its marker, and in its cell
}

function item() {
  const list = lists.at(-1);
  put("  ".repeat(Math.min(Math.max(lists.length - 1, 0), 20)) + (list?.ordered ? `${list.next++}.` : "-"));
  space = marker = true;
}

// The first cell keeps the line end before its row; the others follow a tab.
function cell() {
  if (cells++) ([gap, space] = [marker ? gap : 0, false]), put("\t"); // an empty cell has written nothing
  marker = true;
}

function attribute(attributes, wanted) {
  const all = attributes.matchAll(/([^\s=/"'>]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g);
  const found = all.find(([, name]) => name.toLowerCase() === wanted);
  return decoded(found?.[2] ?? found?.[3] ?? found?.[4] ?? "", true).replace(/\s+/g, " ").trim();
}

function open(name, attributes) {
  if (name === "li" || name === "tr") marker = false;
  const nested = (name === "ul" || name === "ol") && lists.length > 0;
  if (GAPS[name]) breakLines(nested ? 1 : GAPS[name]);
  if (name === "br") [gap, space] = [Math.min(gap + 1, 2), false];
  else if (name === "ul" || name === "ol") lists.push({ ordered: name === "ol", next: (name === "ol" && Number(attribute(attributes, "start"))) || 1 });
  else if (name === "li") item();
  else if (name === "tr") cells = 0;
  else if (name === "td" || name === "th") cell();
  else if (name === "pre") pre++, (opened = true);
  else if (name === "hr") put("---"), breakLines(2);
  else if (name === "img") write(attribute(attributes, "alt"));
  else if (name === "a") href = attribute(attributes, "href");
}

function close(name) {
  if (name === "li" || name === "tr") marker = false;
  if (name === "pre") pre = Math.max(0, pre - 1);
  if (name === "ul" || name === "ol") lists.pop();
  if (name === "a" && input.links && href && !/^(?:#|javascript:)/i.test(href)) (space = true), put(`(${href})`);
  if (name === "a") href = "";
  if (GAPS[name]) breakLines((name === "ul" || name === "ol") && lists.length ? 1 : GAPS[name]);
}

// ---- reading

const html = input.html.replace(/\r\n?/g, "\n").replace(/[\0-\x08\x0e-\x1f\x7f]/g, ""), lower = html.toLowerCase();
const small = lower.length === html.length ? lower : html; // İ becomes two characters
const TAG = /<(?:!--|[!?]|(\/?)([a-z][^\s/>]*))/gi, SIGN = />|=\s*(["'])/g, COMMENT_END = /--!?>/g;

// Where the tag's ">" stands; quotes count only as a value's. -1 when it never ends: then there are no more tags.
function endOfTag(from) {
  for (SIGN.lastIndex = from; ; ) {
    const match = SIGN.exec(html);
    if (!match) return -1;
    if (match[0] === ">") return match.index;
    const end = html.indexOf(match[1], SIGN.lastIndex);
    if (end < 0) return -1;
    SIGN.lastIndex = end + 1;
  }
}

// A comment that never ends hides all that follows, as it does in a browser; <!--> is a whole one.
function endOf(match) {
  if (match[0] === "<!--") {
    COMMENT_END.lastIndex = match.index + 2;
    return COMMENT_END.test(html) ? COMMENT_END.lastIndex - 1 : html.length - 1;
  }
  return match[2] ? endOfTag(TAG.lastIndex) : html.indexOf(">", TAG.lastIndex);
}

let at = 0;
for (let match; (match = TAG.exec(html)); ) {
  const end = endOf(match), name = match[2]?.toLowerCase();
  if (end < match.index) break;
  write(decoded(html.slice(at, match.index)));
  if (name) match[1] ? close(name) : open(name, html.slice(TAG.lastIndex, end));
  at = TAG.lastIndex = end + 1;
  if (SILENT.has(name) && !match[1] && html[end - 1] !== "/") {
    const closing = small.indexOf(`</${name}`, at);
    at = TAG.lastIndex = closing < 0 ? html.length : closing;
  }
}
write(decoded(html.slice(at)));
return out.replace(/^\n+|\s+$/g, "");

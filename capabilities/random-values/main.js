// Chance from the host's own generator, without a bias: a draw that would favour the small numbers is thrown away.
const { kind, count, min, max, length, symbols, dice, items } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
// Signs that people take for one another (l 1 I O 0) are not in passwords.
const CLASSES = ["abcdefghijkmnopqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", ...(symbols ? ["!#$%&*+-.:=?@_"] : [])];

// Words of 32 bits, asked for many at a time.
const words = new Uint32Array(1024);
let used = words.length;
function word() {
  if (used === words.length) (crypto.getRandomValues(words), (used = 0));
  return words[used++];
}

// A whole number from 0 to size - 1; size is at most 2^53.
function below(size) {
  const limit = Math.floor(2 ** 53 / size) * size;
  for (;;) {
    const drawn = (word() >>> 11) * 2 ** 32 + word();
    if (drawn < limit) return drawn % size;
  }
}

const one = (list) => list[below(list.length)];

// Fisher and Yates.
function shuffled(list) {
  const mixed = [...list];
  for (let i = mixed.length - 1; i > 0; i--) {
    const other = below(i + 1);
    [mixed[i], mixed[other]] = [mixed[other], mixed[i]];
  }
  return mixed;
}

// Drawn again until every class is in it: each password with all classes is as likely as any other.
function password() {
  const signs = [...CLASSES.join("")], size = length ?? 20;
  if (size < 8) throw invalid("a password has at least 8 characters");
  for (;;) {
    const drawn = Array.from({ length: size }, () => one(signs)).join("");
    if (CLASSES.every((signs) => [...signs].some((sign) => drawn.includes(sign)))) return drawn;
  }
}

function integer() {
  const low = min ?? 1, high = max ?? 100;
  if (low > high) throw invalid(`min is at most max, and ${low} is more than ${high}`);
  if (high - low >= 2 ** 53) throw invalid("min and max lie too far apart: at most 2^53");
  return low + below(high - low + 1);
}

function rolled() {
  const [, times = "1", sides, sign = "+", more = "0"] = /^\s*(\d{0,3})\s*d\s*(\d{1,4})\s*(?:([+-])\s*(\d{1,4}))?\s*$/i.exec(dice ?? "1d6") ?? [];
  if (!sides || sides < 1 || times > 100) throw invalid(`${JSON.stringify(dice)} is no dice: write 2d6 or 1d20+3, at most 100 of them`);
  return Array.from({ length: Number(times || 1) }, () => 1 + below(Number(sides))).reduce((sum, one) => sum + one, 0) + (sign === "-" ? -more : +more);
}

function several(make) {
  return Array.from({ length: count }, make);
}

function drawn() {
  if (!items) throw invalid(`${kind} needs items: what to take from`);
  if (kind === "shuffle") return shuffled(items);
  if (count > items.length) throw invalid(`${count} of ${items.length} items cannot be picked: each is taken once`);
  return shuffled(items).slice(0, count);
}

const hex = () => { const bytes = new Uint8Array(length ?? 16); crypto.getRandomValues(bytes); return bytes.toHex(); };
const kinds = { uuid: () => crypto.randomUUID(), integer, number: () => below(2 ** 53) / 2 ** 53, password, hex, dice: rolled };
return kinds[kind] ? several(kinds[kind]) : drawn();

// QR codes of ISO/IEC 18004:2015, versions 1 to 40: one segment (numeric, alphanumeric or bytes of UTF-8) in the smallest version that
// holds it, and the mask that the standard's penalties like best. The two tables are the standard's table 9.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const LEVELS = { L: 1, M: 0, Q: 3, H: 2 };
const ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
// For each level, of versions 1 to 40: the error correction codewords of a block, and the blocks.
const CORRECTION = {
  L: "7 10 15 20 26 18 20 24 30 18 20 24 26 30 22 24 28 30 28 28 28 28 30 30 26 28 30 30 30 30 30 30 30 30 30 30 30 30 30 30",
  M: "10 16 26 18 24 16 18 22 22 26 30 22 22 24 24 28 28 26 26 26 26 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28",
  Q: "13 22 18 26 18 24 18 22 20 24 28 26 24 20 30 24 28 28 26 30 28 30 30 30 30 28 30 30 30 30 30 30 30 30 30 30 30 30 30 30",
  H: "17 28 22 16 22 28 26 26 24 28 24 28 22 24 24 30 28 28 26 28 30 24 30 30 30 30 30 30 30 30 30 30 30 30 30 30 30 30 30 30",
};
const BLOCKS = {
  L: "1 1 1 1 1 2 2 2 2 4 4 4 4 4 6 6 6 6 7 8 8 9 9 10 12 12 12 13 14 15 16 17 18 19 19 20 21 22 24 25",
  M: "1 1 1 2 2 4 4 4 5 5 5 8 9 9 10 10 11 13 14 16 17 17 18 20 21 23 25 26 28 29 31 33 35 37 38 40 43 45 47 49",
  Q: "1 1 2 2 4 4 6 6 8 8 8 10 12 16 12 17 16 18 21 20 23 23 25 27 29 34 34 35 38 40 43 45 48 51 53 56 59 62 65 68",
  H: "1 1 2 4 4 4 5 6 8 8 11 11 16 16 18 16 19 21 25 25 25 34 30 32 35 37 40 42 45 48 51 54 57 60 63 66 70 74 77 81",
};
const entry = (table, version) => Number(table[input.level].split(" ")[version - 1]);

// Readers look for dark modules on a light ground; what a person hardly tells apart, they do not see at all.
function demandContrast() {
  const light = (color) => {
    const digits = color.length === 4 ? color.slice(1).replace(/./g, "$&$&") : color.slice(1);
    return digits.match(/../g).reduce((sum, pair, i) => sum + parseInt(pair, 16) * [0.299, 0.587, 0.114][i], 0);
  };
  if (light(input.light) - light(input.dark) < 100) throw invalid("light has to be much lighter than dark: readers do not see the code otherwise");
}

// ---- bits

const MODES = {
  numeric: { mark: 1, counts: [10, 12, 14], units: (text) => text.match(/\d{1,3}/g).map((run) => [Number(run), [0, 4, 7, 10][run.length]]) },
  alphanumeric: { mark: 2, counts: [9, 11, 13], units: (text) => text.match(/..?/g).map(([a, b]) => (b ? [at(a) * 45 + at(b), 11] : [at(a), 6])) },
  bytes: { mark: 4, counts: [8, 16, 16], units: (bytes) => [...bytes].map((byte) => [byte, 8]) },
};
const at = (character) => ALPHANUMERIC.indexOf(character);
const bytesOf = new TextEncoder().encode(input.text);
const mode = MODES[/^\d+$/.test(input.text) ? "numeric" : /^[0-9A-Z $%*+\-./:]+$/.test(input.text) ? "alphanumeric" : "bytes"];
const content = mode === MODES.bytes ? bytesOf : input.text;
const units = mode.units(content);

// All modules that are neither finder, timing, alignment, format nor version, in whole bytes.
function codewords(version) {
  const marks = version < 2 ? 0 : Math.floor(version / 7) + 2;
  const alignment = marks ? (25 * marks - 10) * marks - 55 : 0;
  return Math.floor(((16 * version + 128) * version + 64 - alignment - (version > 6 ? 36 : 0)) / 8);
}
const capacity = (version) => codewords(version) - entry(CORRECTION, version) * entry(BLOCKS, version);
const countBits = (version) => mode.counts[version < 10 ? 0 : version < 27 ? 1 : 2];
const needed = (version) => 4 + countBits(version) + units.reduce((sum, [, bits]) => sum + bits, 0);

function smallest() {
  for (let version = 1; version <= 40; version++) if (needed(version) <= capacity(version) * 8) return version;
  throw invalid(`the text is too long for a QR code of level ${input.level}: shorten it, or take level L (at most 2,953 bytes)`);
}

function dataOf(version) {
  const bits = [];
  const put = (value, size) => { for (let i = size - 1; i >= 0; i--) bits.push((value >> i) & 1); };
  put(mode.mark, 4);
  put(content.length, countBits(version));
  for (const [value, size] of units) put(value, size);
  const room = capacity(version) * 8;
  put(0, Math.min(4, room - bits.length));
  put(0, -bits.length & 7);
  const bytes = [];
  for (let i = 0; i < bits.length; i += 8) bytes.push(parseInt(bits.slice(i, i + 8).join(""), 2));
  for (let pad = 0xec; bytes.length < room / 8; pad ^= 0xfd) bytes.push(pad);
  return bytes;
}

// ---- error correction: Reed and Solomon's, over GF(256) with the polynomial 0x11d

const EXP = [], LOG = [];
for (let i = 0, x = 1; i < 255; i++, x = x & 0x80 ? (x << 1) ^ 0x11d : x << 1) [EXP[i], EXP[i + 255], LOG[x]] = [x, x, i];
const times = (a, b) => (a && b ? EXP[LOG[a] + LOG[b]] : 0);

function generator(degree) {
  let factors = [1];
  for (let i = 0; i < degree; i++) factors = [...factors, 0].map((one, k) => one ^ times(factors[k - 1] ?? 0, EXP[i]));
  return factors.slice(1);
}

function correction(data, divisor) {
  const rest = new Uint8Array(divisor.length);
  for (const byte of data) {
    const factor = byte ^ rest[0];
    rest.copyWithin(0, 1);
    rest[rest.length - 1] = 0;
    divisor.forEach((one, i) => (rest[i] ^= times(one, factor)));
  }
  return [...rest];
}

// Blocks take turns, byte by byte; the later ones may be one byte longer.
function interleaved(version) {
  const data = dataOf(version), count = entry(BLOCKS, version), short = Math.floor(data.length / count), longer = data.length % count;
  const divisor = generator(entry(CORRECTION, version)), blocks = [];
  for (let i = 0, from = 0; i < count; i++) {
    const size = short + (i >= count - longer ? 1 : 0);
    blocks.push(data.slice(from, from + size));
    from += size;
  }
  const checks = blocks.map((block) => correction(block, divisor)), out = [];
  for (let i = 0; i <= short; i++) for (const block of blocks) if (i < block.length) out.push(block[i]);
  for (let i = 0; i < divisor.length; i++) for (const check of checks) out.push(check[i]);
  return out;
}

// ---- the square

const version = smallest(), size = version * 4 + 17;
const dark = new Uint8Array(size * size), fixed = new Uint8Array(size * size);
const set = (x, y, value) => { dark[y * size + x] = value; fixed[y * size + x] = 1; };

// A square ring pattern; rings count from the middle.
function target(x, y, radius) {
  for (let dy = -radius; dy <= radius; dy++)
    for (let dx = -radius; dx <= radius; dx++) {
      const ring = Math.max(Math.abs(dx), Math.abs(dy)), [px, py] = [x + dx, y + dy];
      if (px >= 0 && py >= 0 && px < size && py < size) set(px, py, radius === 4 ? Number(ring !== 2 && ring !== 4) : Number(ring !== 1));
    }
}

function alignments() {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2, step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, i) => size - 7 - i * step).reverse()];
}

// `value` with the rest of its division by `polynomial` behind it (the BCH codes of format and version).
function guarded(value, polynomial, bits) {
  let rest = value;
  for (let i = 0; i < bits; i++) rest = (rest << 1) ^ ((rest >> (bits - 1)) * polynomial);
  return (value << bits) | rest;
}

function format(mask) {
  const bits = guarded((LEVELS[input.level] << 3) | mask, 0x537, 10) ^ 0x5412, bit = (i) => (bits >> i) & 1;
  for (let i = 0; i < 15; i++) {
    set(i < 8 ? size - 1 - i : 8, i < 8 ? 8 : size - 15 + i, bit(i));
    const along = i < 6 ? i : i < 8 ? i + 1 : 14 - i + (i === 8 ? 1 : 0);
    set(i < 8 ? 8 : along, i < 8 ? along : 8, bit(i));
  }
  set(8, size - 8, 1);
}

function patterns() {
  for (let i = 0; i < size; i++) [[6, i], [i, 6]].forEach(([x, y]) => set(x, y, 1 - (i % 2)));
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) target(x, y, 4);
  const places = alignments(), last = places.at(-1);
  for (const x of places) for (const y of places) if (!(x === 6 && (y === 6 || y === last)) && !(y === 6 && x === last)) target(x, y, 2);
  format(0);
  const bits = guarded(version, 0x1f25, 12);
  for (let i = 0; version > 6 && i < 18; i++) {
    const [a, b] = [size - 11 + (i % 3), Math.floor(i / 3)];
    set(a, b, (bits >> i) & 1);
    set(b, a, (bits >> i) & 1);
  }
}

// Two columns at a time from the right, up and down by turns, past the column of the timing pattern.
function fill(bytes) {
  let bit = 0;
  for (let right = size - 1, up = true; right > 0; right -= right === 8 ? 3 : 2, up = !up)
    for (let i = 0; i < size; i++)
      for (const x of [right, right - 1]) {
        const place = (up ? size - 1 - i : i) * size + x;
        if (!fixed[place] && bit < bytes.length * 8) dark[place] = (bytes[bit >> 3] >> (7 - (bit++ & 7))) & 1;
      }
}

const MASKS = [
  (x, y) => (x + y) % 2, (x, y) => y % 2, (x, y) => x % 3, (x, y) => (x + y) % 3, (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3), (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2, (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

function flip(mask) {
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) if (!fixed[y * size + x] && MASKS[mask](x, y) === 0) dark[y * size + x] ^= 1;
}

// Runs of five and more, what looks like a finder, squares of four, and too much of one colour (7.8.3).
function penalty() {
  let sum = 0, black = 0;
  for (const [row, column] of [[size, 1], [1, size]])
    for (let i = 0; i < size; i++) {
      let run = 0, seen = 0;
      for (let j = 0, before = -1; j < size; j++) {
        const one = dark[i * row + j * column];
        run = one === before ? run + 1 : 1;
        if (run >= 5) sum += run === 5 ? 3 : 1;
        before = one;
        seen = ((seen << 1) | one) & 0x7ff;
        if (j >= 10 && (seen === 0x5d0 || seen === 0x05d)) sum += 40;
      }
    }
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const place = y * size + x, one = dark[place];
      black += one;
      if (x && y && one === dark[place - 1] && one === dark[place - size] && one === dark[place - size - 1]) sum += 3;
    }
  return sum + Math.floor(Math.abs(black * 20 - size * size * 10) / (size * size)) * 10;
}

function bestMask() {
  const sums = MASKS.map((_, mask) => {
    format(mask);
    flip(mask);
    const sum = penalty();
    flip(mask);
    return sum;
  });
  return sums.indexOf(Math.min(...sums));
}

demandContrast();
patterns();
fill(interleaved(version));
const mask = bestMask();
format(mask);
flip(mask);

// ---- the picture: one path, a rectangle for each run of dark modules

const runs = [];
for (let y = 0; y < size; y++)
  for (let x = 0, from = -1; x <= size; x++) {
    const one = x < size && dark[y * size + x];
    if (one && from < 0) from = x;
    if (!one && from >= 0) [runs[runs.length], from] = [`M${from + input.border} ${y + input.border}h${x - from}v1h-${x - from}z`, -1];
  }
const side = size + 2 * input.border;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${side} ${side}" width="${input.width}" height="${input.width}" shape-rendering="crispEdges" role="img" aria-label="QR code">` +
  `<rect width="${side}" height="${side}" fill="${input.light}"/><path fill="${input.dark}" d="${runs.join("")}"/></svg>`;
return { svg, version, modules: size, level: input.level, mask };

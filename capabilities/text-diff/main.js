// Myers, "An O(ND) Difference Algorithm" (1986), on numbers that stand for lines. It takes steps by the square of the changes, so each
// attempt and all of them together are bounded; beyond that, lines that are unique on both sides divide the text (patience diff), and
// what cannot be divided is replaced as a whole. The diff is right in any case, and the shortest for up to LIMIT_CHANGES changes.
const LIMIT_CHANGES = 800, LIMIT_STEPS = 3_000_000;
const { old, new: fresh, context, old_name: oldName, new_name: newName } = input;

const linesOf = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []; // with their ends: a last line without one differs
const before = linesOf(old), after = linesOf(fresh), numbers = new Map();
const numbered = (lines) => lines.map((line) => numbers.get(line) ?? (numbers.set(line, numbers.size), numbers.size - 1));
const a = numbered(before), b = numbered(after);
const removed = new Uint8Array(a.length), added = new Uint8Array(b.length);
let steps = 0;

function replace(a0, a1, b0, b1) {
  removed.fill(1, a0, a1);
  added.fill(1, b0, b1);
}

// Marks the shortest edit of a part; false, with nothing marked, when it is longer than `most`.
function myers(a0, a1, b0, b1, most) {
  const n = a1 - a0, m = b1 - b0, ends = new Int32Array(2 * most + 3), origin = most + 1, trace = [];
  for (let d = 0; d <= most; d++) {
    if ((steps += d + 1) > LIMIT_STEPS) return false;
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && ends[origin + k - 1] < ends[origin + k + 1]);
      let x = down ? ends[origin + k + 1] : ends[origin + k - 1] + 1;
      if (x > n || x - k > m) { ends[origin + k] = x; continue; } // outside of the grid
      while (x < n && x - k < m && a[a0 + x] === b[b0 + x - k]) x++, steps++;
      ends[origin + k] = x;
      if (x >= n && x - k >= m) return walkBack(trace, d, k, a0, b0), true;
    }
    trace.push(ends.slice(origin - d, origin + d + 1)); // the ends after d changes, from diagonal -d on
  }
  return false;
}

function walkBack(trace, d, k, a0, b0) {
  for (; d > 0; d--) {
    const ends = trace[d - 1], end = (k) => (Math.abs(k) < d ? ends[k + d - 1] : -1);
    const down = k === -d || (k !== d && end(k - 1) < end(k + 1));
    k += down ? 1 : -1;
    const x = end(k);
    if (down) added[b0 + x - k] = 1;
    else removed[a0 + x] = 1;
  }
}

// Pairs of places of lines that stand once on both sides, as many as keep their order (longest increasing subsequence).
function anchors(a0, a1, b0, b1) {
  const seen = new Map(), piles = [];
  if ((steps += a1 - a0 + b1 - b0) > 2 * LIMIT_STEPS) return [];
  for (let i = a0; i < a1; i++) seen.set(a[i], seen.has(a[i]) ? null : { i, j: -1 });
  for (let j = b0; j < b1; j++) {
    const pair = seen.get(b[j]);
    if (pair) pair.j < 0 ? (pair.j = j) : seen.set(b[j], null);
  }
  for (const pair of seen.values()) {
    if (!pair || pair.j < 0) continue;
    let low = 0, high = piles.length;
    while (low < high) { const middle = (low + high) >> 1; piles[middle].j < pair.j ? (low = middle + 1) : (high = middle); }
    pair.previous = piles[low - 1];
    piles[low] = pair;
  }
  const chain = [];
  for (let pair = piles.at(-1); pair; pair = pair.previous) chain.push(pair);
  return chain.reverse();
}

const parts = [[0, a.length, 0, b.length, LIMIT_CHANGES]];
for (let part; (part = parts.pop()); ) {
  let [a0, a1, b0, b1, most] = part;
  while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) a0++, b0++;
  while (a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1]) a1--, b1--;
  if (a0 === a1 || b0 === b1) replace(a0, a1, b0, b1);
  else if (!myers(a0, a1, b0, b1, Math.min(most, a1 - a0 + b1 - b0))) {
    const chain = anchors(a0, a1, b0, b1);
    if (!chain.length) replace(a0, a1, b0, b1);
    for (const { i, j } of chain) parts.push([a0, i, b0, j, 100]), ([a0, b0] = [i + 1, j + 1]);
    if (chain.length) parts.push([a0, a1, b0, b1, 100]);
  }
}

// ---- writing: the changes in order, then hunks of those that are near each other

const changes = [];
for (let i = 0, j = 0; i < a.length || j < b.length; i++, j++) {
  const change = { a0: i, b0: j };
  while (removed[i]) i++;
  while (added[j]) j++;
  if (i > change.a0 || j > change.b0) changes.push({ ...change, a1: i, b1: j });
}
const hunks = [];
for (const change of changes) {
  if (hunks.length && change.a0 - hunks.at(-1).at(-1).a1 <= 2 * context) hunks.at(-1).push(change);
  else hunks.push([change]);
}

const marked = (sign, lines) => lines.map((line) => sign + (line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`)).join("");
const range = (start, end) => (end - start === 1 ? `${end}` : `${end > start ? start + 1 : start},${end - start}`);

function written(hunk) {
  const [first, last] = [hunk[0], hunk.at(-1)], lead = Math.min(context, first.a0), trail = Math.min(context, a.length - last.a1);
  let text = `@@ -${range(first.a0 - lead, last.a1 + trail)} +${range(first.b0 - lead, last.b1 + trail)} @@\n`, at = first.a0 - lead;
  for (const { a0, a1, b0, b1 } of hunk) {
    text += marked(" ", before.slice(at, a0)) + marked("-", before.slice(a0, a1)) + marked("+", after.slice(b0, b1));
    at = a1;
  }
  return text + marked(" ", before.slice(at, at + trail));
}

const total = (marks) => marks.reduce((sum, mark) => sum + mark, 0);
const diff = hunks.length ? `--- ${oldName}\n+++ ${newName}\n${hunks.map(written).join("")}` : "";
return { added: total(added), removed: total(removed), diff };

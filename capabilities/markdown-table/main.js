// A table of GitHub Flavored Markdown (spec 0.29, 4.10): cells are escaped so that none breaks out, and padded so that the source
// reads well, too.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const { rows, columns, align } = input;

// Characters of East Asia and emoji take two places; marks take none.
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NO_PLACE = /[\p{M}\p{Cf}\p{EMod}]/u;
const width = (text) => [...text].reduce((sum, one) => sum + (NO_PLACE.test(one) ? 0 : WIDE.test(one) ? 2 : 1), 0);

function cell(value) {
  if (value === undefined || value === null) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.trim().replaceAll("\\", "\\\\").replaceAll("|", "\\|").replace(/\r\n|[\n\r\u2028\u2029]/g, "<br>");
}

// The names of all members, in the order in which they first appear.
function headOf() {
  if (columns) return columns;
  if (rows.every(isObject)) return [...new Set(rows.flatMap(Object.keys))];
  throw invalid("rows that are lists need columns: the names that stand at the top");
}

const head = headOf();
if (!head.length) throw invalid("there are no columns: give columns, or rows with members");
if (head.length > 100) throw invalid("a table has at most 100 columns");
if (align && align.length !== head.length) throw invalid(`align has ${align.length} entries for ${head.length} columns: give one for each`);

const body = rows.map((row, i) => {
  if (isObject(row)) return head.map((name) => (Object.hasOwn(row, name) ? row[name] : undefined));
  if (row.length > head.length) throw invalid(`row ${i + 1} has ${row.length} cells for ${head.length} columns`);
  return head.map((_, at) => row[at]);
});
// Columns of nothing but numbers stand to the right unless `align` says otherwise.
const isNumber = (value) => typeof value === "number" || value === undefined || value === null;
const sides = head.map((_, at) => align?.[at] ?? (body.some((row) => typeof row[at] === "number") && body.every((row) => isNumber(row[at])) ? "right" : "left"));

const cells = [head, ...body].map((row) => row.map(cell));
const widths = head.map((_, at) => cells.reduce((most, row) => Math.max(most, Math.min(60, width(row[at]))), 3));

function padded(text, at) {
  const room = Math.max(0, widths[at] - width(text)), before = { left: 0, right: room, center: room >> 1 }[sides[at]];
  return " ".repeat(before) + text + " ".repeat(room - before);
}

const RULES = { left: (dashes) => dashes, right: (dashes) => `${dashes.slice(1)}:`, center: (dashes) => `:${dashes.slice(2)}:` };
const line = (parts) => `| ${parts.join(" | ")} |`;
const rule = line(sides.map((side, at) => RULES[side]("-".repeat(widths[at]))));
const [top, ...others] = cells.map((row) => line(row.map(padded)));
return [top, rule, ...others].join("\n");

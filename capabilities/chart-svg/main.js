// Charts as plain SVG that reads well aloud: a title, a description with every number, and the numbers again as tooltips. The colours
// are those of Okabe and Ito (2008), which people who see fewer colours tell apart.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const COLORS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D1F", "#000000"];
const LEFT = 64, RIGHT = 16, TOP = 48, BOTTOM = 72;

// XML has no control characters, not even as entities (XML 1.0, 2.2).
const escaped = (text) => String(text).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
const shown = (number) => String(Number(number.toPrecision(6)));
const place = (number) => String(Number(number.toFixed(2)));
const short = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);
const color = (i) => COLORS[i % COLORS.length];

function tag(name, attributes, ...inner) {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${typeof value === "number" ? place(value) : escaped(value)}"`).join("");
  return `<${name}${written}>${inner.join("")}</${name}>`;
}
const text = (x, y, words, more = {}) => tag("text", { x, y, ...more }, escaped(words));
const tooltip = (words) => tag("title", {}, escaped(words));

const { kind, title, labels, series, width, height } = input;
for (const { name, values } of series) {
  if (values.length !== labels.length) throw invalid(`the series ${JSON.stringify(name ?? "")} has ${values.length} values for ${labels.length} labels: give one for each`);
}

// ---- axes

// The first of 1, 2 and 5 times a power of ten that makes at most six steps.
function stepFor(span) {
  const unit = 10 ** Math.floor(Math.log10(span / 6));
  return [1, 2, 5, 10].map((times) => times * unit).find((step) => span / step <= 6.000001);
}

function scale() {
  const values = series.flatMap((one) => one.values), low = Math.min(0, ...values), high = Math.max(0, ...values);
  const step = stepFor(high - low > 1e-300 ? high - low : 1), from = Math.floor(low / step), to = Math.max(Math.ceil(high / step), from + 1);
  const y = (value) => height - BOTTOM - ((value / step - from) / (to - from)) * (height - TOP - BOTTOM);
  return { y, ticks: Array.from({ length: to - from + 1 }, (_, i) => (from + i) * step) };
}

const column = (width - LEFT - RIGHT) / labels.length, middle = (i) => LEFT + (i + 0.5) * column;

function axes({ y, ticks }) {
  const lines = ticks.map((tick) => tag("line", { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick), stroke: tick === 0 ? "#333" : "#ddd" }) +
    text(LEFT - 6, y(tick) + 4, shown(tick), { "text-anchor": "end" }));
  const every = Math.ceil(labels.length / Math.max(1, Math.floor((width - LEFT - RIGHT) / 48)));
  const names = labels.map((label, i) => (i % every ? "" : text(middle(i), height - BOTTOM + 18, short(label, Math.max(4, Math.floor((column * every) / 8))), { "text-anchor": "middle" })));
  return [...lines, ...names].join("");
}

const named = (one, i) => one.name ?? (series.length > 1 ? `series ${i + 1}` : "");
const told = (one, s, i) => `${[named(one, s), labels[i]].filter(Boolean).join(", ")}: ${shown(one.values[i])}`;

function bars({ y }) {
  const each = (column * 0.8) / series.length;
  return series.map((one, s) => one.values.map((value, i) => tag("rect", {
    x: middle(i) - column * 0.4 + s * each, width: each, y: Math.min(y(value), y(0)), height: Math.abs(y(value) - y(0)), fill: color(s),
  }, tooltip(told(one, s, i)))).join("")).join("");
}

function lines({ y }) {
  return series.map((one, s) => tag("polyline", { points: one.values.map((value, i) => `${place(middle(i))},${place(y(value))}`).join(" "), fill: "none", stroke: color(s), "stroke-width": 2 }) +
    one.values.map((value, i) => tag("circle", { cx: middle(i), cy: y(value), r: 3, fill: color(s) }, tooltip(told(one, s, i)))).join("")).join("");
}

// ---- a pie: sectors from twelve o'clock on

function pie() {
  const [{ values }] = series, total = values.reduce((sum, value) => sum + value, 0);
  if (series.length > 1) throw invalid("a pie shows one series: take bar or line for several");
  if (values.some((value) => value < 0)) throw invalid("a pie shows no negative values: take bar or line");
  if (!(total > 0)) throw invalid("a pie needs at least one value above 0");
  const radius = Math.min(width / 4, (height - TOP - 24) / 2), [cx, cy] = [width / 4 + 12, TOP + radius];
  const point = (share) => [cx + radius * Math.sin(2 * Math.PI * share), cy - radius * Math.cos(2 * Math.PI * share)].map(place).join(" ");
  let begun = 0;
  return values.map((value, i) => {
    const share = value / total, [from, to] = [begun, (begun += share)], note = tooltip(`${labels[i]}: ${shown(value)} (${shown(share * 100)} %)`);
    if (share > 0.99999) return tag("circle", { cx, cy, r: radius, fill: color(i) }, note);
    const arc = `M${place(cx)} ${place(cy)}L${point(from)}A${place(radius)} ${place(radius)} 0 ${share > 0.5 ? 1 : 0} 1 ${point(to)}Z`;
    return value === 0 ? "" : tag("path", { d: arc, fill: color(i), stroke: "#fff" }, note);
  }).join("") + legend(labels.map((label, i) => `${label} (${shown((values[i] / total) * 100)} %)`), width / 2 + 24, TOP, 1);
}

function legend(names, x, y, columns) {
  const wide = (width - x - RIGHT) / columns, rows = Math.floor((height - y) / 18) * columns;
  const listed = names.length > rows ? [...names.slice(0, rows - 1), `and ${names.length - rows + 1} more`] : names;
  return listed.map((name, i) => {
    const [left, top] = [x + (i % columns) * wide, y + Math.floor(i / columns) * 18];
    return (i < names.length && name === names[i] ? tag("rect", { x: left, y: top, width: 12, height: 12, fill: color(i) }) : "") + text(left + 18, top + 11, short(name, Math.floor((wide - 18) / 7)));
  }).join("");
}

function charted() {
  if (kind === "pie") return pie();
  const axis = scale(), names = series.map(named).filter(Boolean);
  return axes(axis) + (kind === "bar" ? bars(axis) : lines(axis)) + (names.length ? legend(names, LEFT, height - 40, Math.min(names.length, 4)) : "");
}

const numbers = series.map((one, s) => `${named(one, s) ? `${named(one, s)}: ` : ""}${labels.map((label, i) => `${label} ${shown(one.values[i])}`).join(", ")}`).join("; ");
return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="chart-title chart-desc" font-family="sans-serif" font-size="12">` +
  tag("title", { id: "chart-title" }, escaped(title || `${kind} chart`)) + tag("desc", { id: "chart-desc" }, escaped(numbers)) +
  tag("rect", { width, height, fill: "#fff" }) + (title ? text(width / 2, 26, short(title, Math.floor(width / 9)), { "text-anchor": "middle", "font-size": "16" }) : "") + charted() + "</svg>";

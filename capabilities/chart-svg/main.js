// Charts as plain SVG that reads well aloud: a title, a description with every number, and the numbers again as tooltips. The colours
// are those of Okabe and Ito (2008), which people who see fewer colours tell apart.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const COLORS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D1F", "#000000"];
const LEFT = 64, RIGHT = 16, TOP = 48, ROW = 18, WIDEST_BAR = 90, LEAST_SPACE = 16, LONGEST_LABEL = 110, SHORT_LABEL = 40;
const { kind, title, labels, series, width, height } = input;

// ---- writing

// XML has no control characters, not even as entities (XML 1.0, 2.2).
const escaped = (text) => String(text).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
const shown = (number) => String(Number(number.toPrecision(6)));
const place = (number) => String(Number(number.toFixed(2)));
const percent = (share) => `${Number((share * 100).toFixed(1))} %`;
const color = (i) => COLORS[i % COLORS.length];

function tag(name, attributes, ...inner) {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${typeof value === "number" ? place(value) : escaped(value)}"`).join("");
  return `<${name}${written}>${inner.join("")}</${name}>`;
}
const text = (x, y, words, more = {}) => tag("text", { x, y, ...more }, escaped(words));
const tooltip = (words) => tag("title", {}, escaped(words));

// How wide a text is, about: nobody here knows the font. Characters of East Asia and emoji are as wide as they are high.
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const pixels = (text) => [...text].reduce((sum, one) => sum + (WIDE.test(one) ? 12 : 7), 0);

function short(text, most) {
  if (pixels(text) <= most) return text;
  const all = [...text].slice(0, 200);
  let size = all.length - 1;
  while (size > 1 && pixels(all.slice(0, size).join("")) + 12 > most) size--;
  return `${all.slice(0, size).join("")}…`;
}

// 2500000 is 2.5M beside an axis; what stays too long is written with its power of ten.
function tickText(number) {
  const step = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1, ""]].find(([size]) => Math.abs(number) >= size) ?? [1, ""];
  const words = shown(number / step[0]) + step[1];
  return words.length > 8 ? number.toExponential(3).replace(/\.?0+e\+?/, "e") : words;
}

// ---- the legend, in as many columns as its longest name leaves room for

const named = (one, i) => one.name || (series.length > 1 ? `series ${i + 1}` : "");
const names = kind === "pie" ? [] : series.map(named).filter(Boolean);
const columns = Math.max(1, Math.min(names.length, 4, Math.floor((width - LEFT - RIGHT) / (Math.max(0, ...names.map(pixels)) + 30))));

function legend(entries, x, y, columns) {
  const wide = (width - x - RIGHT) / columns, room = Math.max(1, Math.floor((height - y) / ROW)) * columns;
  const listed = entries.length > room ? entries.slice(0, Math.max(0, room - 1)) : entries, more = entries.length - listed.length;
  const at = (i) => [x + (i % columns) * wide, y + Math.floor(i / columns) * ROW];
  const lines = listed.map(([name, end], i) => {
    const [left, top] = at(i), words = short(name, wide - 24 - pixels(end)) + end;
    return tag("rect", { x: left, y: top, width: 12, height: 12, fill: color(i) }) + text(left + 18, top + 11, words);
  });
  const [left, top] = at(listed.length);
  return lines.join("") + (more ? text(left + 18, top + 11, `and ${more} more`) : "");
}

// ---- axes

// Labels that are wider than their column stand aslant, but for short ones such as years; only as many as have room are written at all.
const column = (width - LEFT - RIGHT) / labels.length, middle = (i) => LEFT + (i + 0.5) * column;
const longest = Math.min(LONGEST_LABEL, height * 0.3, Math.max(...labels.map(pixels)));
const aslant = longest > Math.max(column - 4, SHORT_LABEL), every = Math.max(1, Math.ceil((aslant ? LEAST_SPACE : longest + 8) / column));
const legendHeight = names.length ? Math.ceil(names.length / columns) * ROW + 8 : 0;
const bottom = height - Math.min((aslant ? 16 + longest * 0.71 : 28) + legendHeight + 8, height - TOP - 40);

// The first of 1, 2 and 5 times a power of ten that makes at most six steps.
function stepFor(span) {
  const unit = 10 ** Math.floor(Math.log10(span / 6));
  return [1, 2, 5, 10].map((times) => times * unit).find((step) => span / step <= 6.000001);
}

function scale() {
  const values = series.flatMap((one) => one.values), low = Math.min(0, ...values), most = Math.max(0, ...values);
  const high = most - low > 1e-300 ? most : low + 1, step = stepFor(high - low);
  const from = Math.floor(low / step), to = Math.max(Math.ceil(high / step), from + 1);
  const y = (value) => bottom - ((value / step - from) / (to - from)) * (bottom - TOP);
  return { y, ticks: Array.from({ length: to - from + 1 }, (_, i) => (from + i) * step) };
}

function label(words, i) {
  if (i % every) return "";
  const x = middle(i), y = bottom + (aslant ? 12 : 18);
  if (!aslant) return text(x, y, short(words, column * every), { "text-anchor": "middle" });
  return text(x + 4, y, short(words, Math.min(longest, x / 0.71)), { "text-anchor": "end", transform: `rotate(-45 ${place(x + 4)} ${place(y)})` });
}

function axes({ y, ticks }) {
  const lines = ticks.map((tick) => tag("line", { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick), stroke: tick === 0 ? "#333" : "#ddd" }) +
    text(LEFT - 6, y(tick) + 4, tickText(tick), { "text-anchor": "end" }));
  return [...lines, ...labels.map(label)].join("");
}

// ---- marks

const told = (one, s, i) => `${[named(one, s), labels[i]].filter(Boolean).join(", ")}: ${shown(one.values[i])}`;

function bars({ y }) {
  const each = Math.min((column * 0.8) / series.length, WIDEST_BAR), start = (each * series.length) / 2;
  return series.map((one, s) => one.values.map((value, i) => tag("rect", {
    x: middle(i) - start + s * each, width: each, y: Math.min(y(value), y(0)), height: Math.abs(y(value) - y(0)), fill: color(s),
  }, tooltip(told(one, s, i)))).join("")).join("");
}

function lines({ y }) {
  return series.map((one, s) => tag("polyline", { points: one.values.map((value, i) => `${place(middle(i))},${place(y(value))}`).join(" "), fill: "none", stroke: color(s), "stroke-width": 2 }) +
    one.values.map((value, i) => tag("circle", { cx: middle(i), cy: y(value), r: 3, fill: color(s) }, tooltip(told(one, s, i)))).join("")).join("");
}

// Sectors from twelve o'clock on.
function pie() {
  const [{ values }] = series, total = values.reduce((sum, value) => sum + value, 0);
  if (series.length > 1) throw invalid("a pie shows one series: take bar or line for several");
  if (values.some((value) => value < 0)) throw invalid("a pie shows no negative values: take bar or line");
  if (!(total > 0)) throw invalid("a pie needs at least one value above 0");
  const radius = Math.min(width / 4, (height - TOP - 24) / 2), [cx, cy] = [width / 4 + 12, TOP + radius];
  const point = (share) => [cx + radius * Math.sin(2 * Math.PI * share), cy - radius * Math.cos(2 * Math.PI * share)].map(place).join(" ");
  let begun = 0;
  const sectors = values.map((value, i) => {
    const share = value / total, [from, to] = [begun, (begun += share)], note = tooltip(`${labels[i]}: ${shown(value)} (${percent(share)})`);
    if (share > 0.99999) return tag("circle", { cx, cy, r: radius, fill: color(i) }, note);
    const arc = `M${place(cx)} ${place(cy)}L${point(from)}A${place(radius)} ${place(radius)} 0 ${share > 0.5 ? 1 : 0} 1 ${point(to)}Z`;
    return value === 0 ? "" : tag("path", { d: arc, fill: color(i), stroke: "#fff" }, note);
  });
  return sectors.join("") + legend(labels.map((label, i) => [label, ` (${percent(values[i] / total)})`]), width / 2 + 24, TOP, 1);
}

function charted() {
  if (kind === "pie") return pie();
  const axis = scale(), marks = kind === "bar" ? bars(axis) : lines(axis);
  return axes(axis) + marks + (names.length ? legend(names.map((name) => [name, ""]), LEFT, height - legendHeight, columns) : "");
}

// ---- the picture

for (const { name, values } of series) {
  if (values.length !== labels.length) throw invalid(`the series ${JSON.stringify(name ?? "")} has ${values.length} values for ${labels.length} labels: give one for each`);
}
const numbers = series.map((one, s) => `${named(one, s) ? `${named(one, s)}: ` : ""}${labels.map((label, i) => `${label} ${shown(one.values[i])}`).join(", ")}`).join("; ");
return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="chart-title chart-desc" font-family="sans-serif" font-size="12">` +
  tag("title", { id: "chart-title" }, escaped(title || `${kind} chart`)) + tag("desc", { id: "chart-desc" }, escaped(numbers)) +
  tag("rect", { width, height, fill: "#fff" }) + (title ? text(width / 2, 26, short(title, width * 0.75), { "text-anchor": "middle", "font-size": "16" }) : "") + charted() + "</svg>";

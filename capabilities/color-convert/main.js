// A color is { r, g, b, alpha }: sRGB from 0 to 1, not rounded. Names and notations are those of CSS Color 4.
const NAMES = (
  "aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 black 000000 " +
  "blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 chocolate " +
  "d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b darkcyan 008b8b darkgoldenrod " +
  "b8860b darkgray a9a9a9 darkgreen 006400 darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid " +
  "9932cc darkred 8b0000 darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkturquoise 00ced1 " +
  "darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 " +
  "forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080 green 008000 " +
  "greenyellow adff2f honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa " +
  "lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff lightgoldenrodyellow " +
  "fafad2 lightgray d3d3d3 lightgreen 90ee90 lightpink ffb6c1 lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa " +
  "lightslategray 778899 lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon " +
  "800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371 mediumslateblue " +
  "7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585 midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 " +
  "moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid " +
  "da70d6 palegoldenrod eee8aa palegreen 98fb98 paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru " +
  "cd853f pink ffc0cb plum dda0dd powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1 " +
  "saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0 skyblue 87ceeb " +
  "slateblue 6a5acd slategray 708090 snow fffafa springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato " +
  "ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32"
).split(" ");
const BY_NAME = new Map();
for (let place = 0; place < NAMES.length; place += 2) {
  BY_NAME.set(NAMES[place], NAMES[place + 1]);
  BY_NAME.set(NAMES[place].replace("gray", "grey"), NAMES[place + 1]);
}
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const HELP = "write #rrggbb, rgb(102 51 153), hsl(270 50% 40%), oklch(0.44 0.16 303) or a CSS name";

// ---- reading

const ANGLES = { "": 1, deg: 1, grad: 0.9, rad: 180 / Math.PI, turn: 360 };

// A number from 0 to `whole`, or a percentage of it.
function part(text, whole, what, most = whole) {
  const [, number, sign] = /^\+?(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(%?)$/.exec(text) ?? (text === "none" ? [, "0", ""] : []);
  const value = sign ? (Number(number) / 100) * whole : Number(number);
  if (!(value >= 0 && value <= most)) throw invalid(`${what} "${text}" is not 0 to ${most}, nor a percentage`);
  return value;
}

function hue(text) {
  const [, number, unit] = /^\+?(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(deg|grad|rad|turn|)$/.exec(text) ?? (text === "none" ? [, "0", ""] : []);
  const angle = (Number(number) * ANGLES[unit]) % 360;
  if (!Number.isFinite(angle)) throw invalid(`hue "${text}" is no angle`);
  return (angle + 360) % 360;
}

function fromHsl(h, s, l) {
  const channel = (n) => {
    const k = (n + h / 30) % 12;
    return l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  };
  return { r: channel(0), g: channel(8), b: channel(4) };
}

// Björn Ottosson's Oklab and the transfer curve of sRGB (IEC 61966-2-1).
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const encoded = (c) => (c <= 0.0031308 ? c * 12.92 : 1.055 * c ** (1 / 2.4) - 0.055);

function fromOklch(lightness, chroma, h) {
  const a = chroma * Math.cos((h * Math.PI) / 180), b = chroma * Math.sin((h * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const rgb = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map(encoded);
  const clipped = rgb.some((c) => c < -0.0005 || c > 1.0005);
  const [red, green, blue] = rgb.map((c) => Math.min(Math.max(c, 0), 1));
  return { r: red, g: green, b: blue, ...(clipped ? { clipped } : {}) };
}

const percent = (text, what) => part(text.replace(/%?$/, "%"), 1, what);
const NOTATIONS = {
  rgb: (r, g, b) => ({ r: part(r, 255, "red") / 255, g: part(g, 255, "green") / 255, b: part(b, 255, "blue") / 255 }),
  hsl: (h, s, l) => fromHsl(hue(h), percent(s, "saturation"), percent(l, "lightness")),
  oklch: (l, c, h) => fromOklch(part(l, 1, "lightness"), part(c, 0.4, "chroma", 1), hue(h)),
};

function fromHex(digits) {
  const long = digits.length < 6 ? digits.replace(/./g, "$&$&") : digits;
  const [r, g, b, alpha = 1] = long.match(/../g).map((pair) => parseInt(pair, 16) / 255);
  return { r, g, b, alpha };
}

function read(given) {
  const text = given.trim().toLowerCase(), hex = BY_NAME.get(text.replace(/[\s_-]/g, "")) ?? /^#?((?:[\da-f]{3,4}){1,2})$/.exec(text)?.[1];
  if (hex) return fromHex(hex);
  if (text === "transparent") return { r: 0, g: 0, b: 0, alpha: 0 };
  const [, name, inner] = /^(rgb|hsl|oklch)a?\(([^()]*)\)$/.exec(text) ?? [];
  const parts = inner?.trim().split(/\s*[,/]\s*|\s+/);
  if (!parts || parts.length < 3 || parts.length > 4) throw invalid(`"${given.slice(0, 60).toWellFormed()}" is no color: ${HELP}`);
  return { ...NOTATIONS[name](...parts), alpha: parts[3] === undefined ? 1 : part(parts[3], 1, "alpha") };
}

// ---- writing

const short = (number, digits) => String(Number(number.toFixed(digits)) || 0);
const bytes = ({ r, g, b }) => [r, g, b].map((c) => Math.round(c * 255));

function hsl({ r, g, b }) {
  const most = Math.max(r, g, b), least = Math.min(r, g, b), range = most - least, l = (most + least) / 2;
  if (range < 1e-9) return [0, 0, l * 100];
  const sector = most === r ? ((g - b) / range + 6) % 6 : most === g ? (b - r) / range + 2 : (r - g) / range + 4;
  return [sector * 60, (range / (1 - Math.abs(2 * l - 1))) * 100, l * 100];
}

function oklch(color) {
  const [r, g, b] = [color.r, color.g, color.b].map(linear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const A = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, B = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  const chroma = Math.hypot(A, B), isGray = chroma < 5e-5;
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, isGray ? 0 : chroma, isGray ? 0 : ((Math.atan2(B, A) * 180) / Math.PI + 360) % 360];
}

// WCAG 2.2: relative luminance and contrast ratio, of the 8-bit colors that a screen gets.
const luminance = (color) => bytes(color).map((byte) => linear(byte / 255)).reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);

function contrast(text, ground) {
  if (ground.alpha < 1) throw invalid("against is opaque: what lies behind it is not known");
  const over = (name) => text[name] * text.alpha + ground[name] * (1 - text.alpha);
  const [light, dark] = [luminance({ r: over("r"), g: over("g"), b: over("b") }), luminance(ground)].sort((a, b) => b - a);
  const ratio = (light + 0.05) / (dark + 0.05), level = (aa, aaa) => (ratio >= aaa ? "AAA" : ratio >= aa ? "AA" : "fail");
  return { ratio: Math.floor(ratio * 100 + 1e-6) / 100, normal_text: level(4.5, 7), large_text: level(3, 4.5) };
}

const color = read(input.color), { alpha, clipped } = color, ground = input.against === undefined ? undefined : read(input.against);
const solid = bytes(color).map((byte) => byte.toString(16).padStart(2, "0")).join("");
const veil = alpha < 1 ? Math.round(alpha * 255).toString(16).padStart(2, "0") : "", end = alpha < 1 ? ` / ${short(alpha, 3)}` : "";
const [h, s, l] = hsl(color), [light, chroma, angle] = oklch(color);
const name = alpha === 1 ? [...BY_NAME].find(([, hex]) => hex === solid)?.[0] : undefined;
return {
  hex: `#${solid}${veil}`,
  rgb: `rgb(${bytes(color).join(" ")}${end})`,
  hsl: `hsl(${short(h, 2)} ${short(s, 2)}% ${short(l, 2)}%${end})`,
  oklch: `oklch(${short(light, 4)} ${short(chroma, 4)} ${short(angle, 2)}${end})`,
  alpha: Number(short(alpha, 3)), luminance: Number(short(luminance(color), 4)),
  ...(name ? { name } : {}), ...(clipped ? { clipped } : {}), ...(ground ? { contrast: contrast(color, ground) } : {}),
};

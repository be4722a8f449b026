// Each shape is a list of the measures it takes and a function of them. Surfaces of solids include their bases.
const { sqrt, sin, cos, tan, acos, atan2, PI, abs } = Math;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const degrees = (radians) => (radians * 180) / PI, radians = (degrees) => (degrees * PI) / 180;

// ---- triangles

const angleBetween = (a, b, opposite) => acos(Math.max(-1, Math.min(1, (a * a + b * b - opposite * opposite) / (2 * a * b))));

function triangleOf(a, b, c) {
  if (a + b <= c || b + c <= a || c + a <= b) throw invalid("there is no such triangle: two sides together have to be longer than the third");
  // Kahan's form of Heron's formula: it keeps its digits for needles.
  const [x, y, z] = [a, b, c].sort((p, q) => q - p);
  const area = sqrt((x + (y + z)) * (z - (x - y)) * (z + (x - y)) * (x + (y - z))) / 4;
  const angles = [angleBetween(b, c, a), angleBetween(c, a, b), angleBetween(a, b, c)].map(degrees);
  return { area, perimeter: a + b + c, sides: [a, b, c], angles, inradius: (2 * area) / (a + b + c), circumradius: (a * b * c) / (4 * area) };
}

function triangle({ a, b, c, height, angle, angle2 }) {
  if (height !== undefined) return { area: (a * height) / 2 };
  if (c !== undefined) return triangleOf(a, b, c);
  if (angle >= 180) throw invalid("there is no such triangle: each of its angles is less than 180 degrees");
  if (b !== undefined) return triangleOf(a, b, sqrt((a - b) ** 2 + 2 * a * b * (1 - cos(radians(angle)))));
  const third = 180 - angle - angle2;
  if (third <= 0) throw invalid("there is no such triangle: its angles are 180 degrees together");
  const across = a / sin(radians(third));
  return triangleOf(across * sin(radians(angle)), across * sin(radians(angle2)), a);
}

// ---- the others

// Ramanujan's second approximation (1914): nearly exact unless the ellipse is very flat.
function around(a, b) {
  const h = ((a - b) / (a + b)) ** 2;
  return PI * (a + b) * (1 + (3 * h) / (10 + sqrt(4 - 3 * h)));
}

// The shoelace formula, from the first corner on so that far-away polygons keep their digits; corners in order, sides not crossing.
function polygon({ points }) {
  const [x0, y0] = points[0];
  const corners = points.map(([x, y]) => [x - x0, y - y0]), next = [...corners.slice(1), corners[0]];
  const twice = corners.reduce((sum, [x, y], i) => sum + x * next[i][1] - next[i][0] * y, 0);
  return { area: abs(twice) / 2, perimeter: corners.reduce((sum, [x, y], i) => sum + Math.hypot(next[i][0] - x, next[i][1] - y), 0) };
}

function regular({ a, sides }) {
  return { area: (sides * a * a) / (4 * tan(PI / sides)), perimeter: sides * a, inradius: a / (2 * tan(PI / sides)), circumradius: a / (2 * sin(PI / sides)) };
}

function torus({ radius, radius2 }) {
  if (radius2 > radius) throw invalid("a torus has its large radius as radius and that of its tube as radius2, which cannot be larger");
  return { volume: 2 * PI * PI * radius * radius2 ** 2, surface: 4 * PI * PI * radius * radius2 };
}

// shape → [the sets of measures that it takes, what they make]
const SHAPES = {
  circle: [["radius"], ({ radius: r }) => ({ area: PI * r * r, perimeter: 2 * PI * r })],
  ellipse: [["radius radius2"], ({ radius: a, radius2: b }) => ({ area: PI * a * b, perimeter: around(a, b) })],
  sector: [["radius angle"], ({ radius: r, angle }) => ({ area: (radians(angle) * r * r) / 2, perimeter: r * (2 + radians(angle)) })],
  square: [["a"], ({ a }) => ({ area: a * a, perimeter: 4 * a, diagonal: a * Math.SQRT2 })],
  rectangle: [["a b"], ({ a, b }) => ({ area: a * b, perimeter: 2 * (a + b), diagonal: Math.hypot(a, b) })],
  triangle: [["a b c", "a b angle", "a angle angle2", "a height"], triangle],
  parallelogram: [["a height"], ({ a, height }) => ({ area: a * height })],
  trapezoid: [["a b height"], ({ a, b, height }) => ({ area: ((a + b) * height) / 2 })],
  "regular-polygon": [["a sides"], regular],
  polygon: [["points"], polygon],
  cube: [["a"], ({ a }) => ({ volume: a ** 3, surface: 6 * a * a, diagonal: a * sqrt(3) })],
  box: [["a b c"], ({ a, b, c }) => ({ volume: a * b * c, surface: 2 * (a * b + b * c + c * a), diagonal: Math.hypot(a, b, c) })],
  sphere: [["radius"], ({ radius: r }) => ({ volume: (4 / 3) * PI * r ** 3, surface: 4 * PI * r * r })],
  cylinder: [["radius height"], ({ radius: r, height: h }) => ({ volume: PI * r * r * h, surface: 2 * PI * r * (r + h) })],
  cone: [["radius height"], ({ radius: r, height: h }) => ({ volume: (PI * r * r * h) / 3, surface: PI * r * (r + Math.hypot(r, h)) })],
  pyramid: [["a height"], ({ a, height: h }) => ({ volume: (a * a * h) / 3, surface: a * a + 2 * a * Math.hypot(h, a / 2) })],
  torus: [["radius radius2"], torus],
};

function shown(value) {
  if (Array.isArray(value)) return value.map(shown);
  if (!Number.isFinite(value)) throw invalid("the result is too large for a number");
  return Number(value.toPrecision(12));
}

const { shape, ...measures } = input;
const [sets, make] = SHAPES[shape];
const given = Object.keys(measures).sort().join(" ");
if (!sets.some((set) => set.split(" ").sort().join(" ") === given)) {
  throw invalid(`a ${shape} takes ${sets.map((set) => set.replaceAll(" ", " and ")).join(", or ")}, not ${given || "nothing"}`);
}
return Object.fromEntries(Object.entries(make(measures)).map(([name, value]) => [name, shown(value)]));

// Great circles on a sphere of the Earth's mean radius (IUGG: 6371.0088 km), by the haversine formula (Sinnott 1984). The Earth is
// flatter than that: distances may be off by half a percent.
const RADIUS_KM = 6371.0088;
const IN_KM = { km: 1, m: 0.001, mi: 1.609344, nmi: 1.852, ft: 0.0003048 };
const WINDS = "N NNE NE ENE E ESE SE SSE S SSW SW WSW W WNW NW NNW".split(" ");
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const radians = (degrees) => (degrees * Math.PI) / 180, degrees = (radians) => (radians * 180) / Math.PI;
const rounded = (number, digits) => Number(number.toFixed(digits)) + 0;

const ANGLE = String.raw`([+-]?\d{1,3}(?:\.\d{1,20})?)\s*°?\s*(?:(\d{1,2}(?:\.\d{1,20})?)\s*[′']\s*(?:(\d{1,2}(?:\.\d{1,20})?)\s*[″"]\s*)?)?`;
const POINT = new RegExp(String.raw`^\s*${ANGLE}([NS]?)\s*[,;\s]\s*${ANGLE}([EW]?)\s*$`, "i");

// "N48.5 E2.3" and 北纬39.9度 东经116.4度 as "48.5N, 2.3E".
function arranged(text) {
  const signs = Object.entries({ 北纬: "N", 南纬: "S", 东经: "E", 西经: "W", 度: "°", 分: "'", 秒: '"' });
  const plain = signs.reduce((text, [sign, letter]) => text.replaceAll(sign, letter), text);
  return plain.replace(/^\s*([NS])([^NSEW]+?)[\s,;，]*([EW])([^NSEW]+)$/i, "$2$1, $4$3");
}

// "48.8566, 2.3522", "48.8566 N 2.3522 E" or 40°26′46″N 79°58′56″W, as { lat, lon } in radians.
function point(text, name) {
  const found = POINT.exec(arranged(text).replace(/\s+/g, " ").replaceAll("−", "-").replace(/''|”/g, '"').replaceAll("’", "'"));
  if (!found) throw invalid(`${name} is no place: write latitude and longitude in degrees, such as "48.8566, 2.3522" or "48.8566 N, 2.3522 E"`);
  const [lat, lon] = [found.slice(1, 5), found.slice(5, 9)].map(([whole, minutes = 0, seconds = 0, side]) => {
    if (side && /^[+-]/.test(whole)) throw invalid(`${name}: write a sign or ${side}, not both`);
    const size = Math.abs(whole) + minutes / 60 + seconds / 3600;
    return whole.startsWith("-") || /[SW]/i.test(side) ? -size : size;
  });
  if (Math.abs(lat) > 90) throw invalid(`${name}: a latitude is from -90 to 90, and comes first`);
  if (Math.abs(lon) > 180) throw invalid(`${name}: a longitude is from -180 to 180`);
  return { lat: radians(lat), lon: radians(lon) };
}

function centralAngle(a, b) {
  const half = Math.sin((b.lat - a.lat) / 2) ** 2 + Math.cos(a.lat) * Math.cos(b.lat) * Math.sin((b.lon - a.lon) / 2) ** 2;
  return 2 * Math.atan2(Math.sqrt(half), Math.sqrt(Math.max(0, 1 - half)));
}

// Degrees clockwise from north.
function bearing(a, b) {
  const east = Math.sin(b.lon - a.lon) * Math.cos(b.lat);
  const north = Math.cos(a.lat) * Math.sin(b.lat) - Math.sin(a.lat) * Math.cos(b.lat) * Math.cos(b.lon - a.lon);
  return (degrees(Math.atan2(east, north)) + 360) % 360;
}

function destination(a, direction, angle) {
  const lat = Math.asin(Math.max(-1, Math.min(1, Math.sin(a.lat) * Math.cos(angle) + Math.cos(a.lat) * Math.sin(angle) * Math.cos(direction))));
  const east = Math.sin(direction) * Math.sin(angle) * Math.cos(a.lat), north = Math.cos(angle) - Math.sin(a.lat) * Math.sin(lat);
  return { lat, lon: a.lon + Math.atan2(east, north) };
}

function written({ lat, lon }) {
  const turned = ((((degrees(lon) + 180) % 360) + 360) % 360) - 180;
  return { lat: rounded(degrees(lat), 6), lon: rounded(turned, 6) };
}

const { unit } = input;
const from = point(input.from, "from");
if (input.to !== undefined) {
  if (input.bearing !== undefined || input.distance !== undefined) throw invalid("give to, or bearing and distance, not both");
  const to = point(input.to, "to"), angle = centralAngle(from, to), way = bearing(from, to);
  const distance = Number(((angle * RADIUS_KM) / IN_KM[unit]).toPrecision(9));
  const middle = written(destination(from, radians(way), angle / 2));
  return { distance, unit, bearing: rounded(way, 2) % 360, compass: WINDS[Math.round(way / 22.5) % 16], midpoint: middle };
}
if (input.bearing === undefined || input.distance === undefined) throw invalid("give to, for a distance, or bearing and distance, for a destination");
return { destination: written(destination(from, radians(input.bearing), (input.distance * IN_KM[unit]) / RADIUS_KM)) };

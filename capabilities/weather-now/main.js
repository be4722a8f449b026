// The weather of a place, by name or coordinates, from open-meteo.com (which needs no key). The codes are those of WMO table 4677 as
// Open-Meteo uses them.
const PLACES = "https://geocoding-api.open-meteo.com/v1/search", WEATHER = "https://api.open-meteo.com/v1/forecast";
const CURRENT = "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m,wind_direction_10m";
const DAILY = "weather_code,temperature_2m_min,temperature_2m_max,precipitation_sum,precipitation_probability_max";
const SKY = {
  0: "clear sky", 1: "mainly clear", 2: "partly cloudy", 3: "overcast", 45: "fog", 48: "rime fog", 51: "light drizzle", 53: "drizzle", 55: "dense drizzle",
  56: "light freezing drizzle", 57: "freezing drizzle", 61: "light rain", 63: "rain", 65: "heavy rain", 66: "light freezing rain", 67: "freezing rain",
  71: "light snow", 73: "snow", 75: "heavy snow", 77: "snow grains", 80: "light rain showers", 81: "rain showers", 82: "violent rain showers",
  85: "light snow showers", 86: "heavy snow showers", 95: "thunderstorm", 96: "thunderstorm with light hail", 99: "thunderstorm with heavy hail",
};
const fails = (code, message) => Object.assign(new Error(message), { code });

async function asked(url, parameters) {
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  const response = await fetch(`${url}?${query}`), answer = await response.json().catch(() => undefined);
  if (response.status === 400) throw fails("EINVAL", `open-meteo.com refused the question: ${answer?.reason ?? "it gave no reason"}`);
  if (response.status === 429) throw fails("ENET", "open-meteo.com has been asked too often for now (429): try again later");
  if (!response.ok || typeof answer !== "object" || answer === null) throw fails("ENET", `open-meteo.com did not answer (${response.status}): try again later`);
  return answer;
}

// The service knows a name only in the language that it is asked in: 北京 is none in English.
const SCRIPTS = { zh: /\p{Script=Han}/u, ja: /[\p{Script=Hiragana}\p{Script=Katakana}]/u, ko: /\p{Script=Hangul}/u, ru: /\p{Script=Cyrillic}/u, ar: /\p{Script=Arabic}/u, el: /\p{Script=Greek}/u, he: /\p{Script=Hebrew}/u, hi: /\p{Script=Devanagari}/u, th: /\p{Script=Thai}/u };
const languageOf = (name) => Object.keys(SCRIPTS).filter((language) => SCRIPTS[language].test(name)).at(-1) ?? "en";

// Of several places with just this name the largest, because a village may come first; else the one that the service likes best.
function likeliest(name, places) {
  const plain = (text) => String(text).normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase().replace(/市$/, "");
  const same = places.filter((place) => plain(place.name) === plain(name));
  return same.sort((a, b) => (Number(b.population) || 0) - (Number(a.population) || 0))[0] ?? places[0];
}

// Coordinates are taken as they are; a name may say more behind a comma, which then has to fit the region or country.
async function placeOf(words) {
  const point = /^\s*([+-]?\d{1,2}(?:\.\d{1,12})?)\s*,\s*([+-]?\d{1,3}(?:\.\d{1,12})?)\s*$/.exec(words);
  if (point && Math.abs(point[1]) <= 90 && Math.abs(point[2]) <= 180) return { name: words.trim(), latitude: Number(point[1]), longitude: Number(point[2]) };
  const [name, ...hints] = words.split(/[,，]/).map((part) => part.trim());
  if (!name) throw fails("EINVAL", "there is no place: write a city, or latitude and longitude");
  const answer = await asked(PLACES, { name, count: 10, language: input.language ?? languageOf(name), format: "json" });
  const results = (Array.isArray(answer.results) ? answer.results : []).filter((place) => typeof place?.latitude === "number" && typeof place.longitude === "number");
  const says = (place, hint) => [place.country, place.country_code, place.admin1, place.admin2].some((part) => String(part ?? "").toLowerCase() === hint.toLowerCase());
  const found = likeliest(name, results.filter((place) => hints.every((hint) => says(place, hint))));
  const seen = [...new Set(results.map((place) => [place.name, place.admin1, place.country].filter(Boolean).join(", ")))].slice(0, 5);
  if (!found) throw fails("ENOENT", results.length ? `no ${name} there: is it one of ${seen.join("; ")}?` : `there is no place called ${JSON.stringify(name)}: write it in English, or give language (pl for Warszawa), or "latitude, longitude"`);
  return { ...found, name: [found.name, found.admin1, found.country].filter(Boolean).join(", ") };
}

const sky = (code) => SKY[code] ?? `weather code ${code}`;
const { units, days } = input, imperial = units === "imperial";
const { name, latitude, longitude } = await placeOf(input.place);
const { current, daily, timezone } = await asked(WEATHER, {
  latitude, longitude, current: CURRENT, ...(days ? { daily: DAILY, forecast_days: days } : {}), timezone: "auto",
  ...(imperial ? { temperature_unit: "fahrenheit", wind_speed_unit: "mph", precipitation_unit: "inch" } : {}),
});
if (typeof current !== "object" || current === null) throw fails("ENET", "open-meteo.com answered without the current weather: try again later");

const now = {
  place: name, latitude, longitude, time: current.time, timezone, weather: sky(current.weather_code), temperature: current.temperature_2m,
  feels_like: current.apparent_temperature, humidity: current.relative_humidity_2m, precipitation: current.precipitation,
  wind_speed: current.wind_speed_10m, wind_direction: current.wind_direction_10m,
  units: imperial ? { temperature: "°F", wind_speed: "mph", precipitation: "inch" } : { temperature: "°C", wind_speed: "km/h", precipitation: "mm" },
};
if (!days) return now;
if (!Array.isArray(daily?.time)) throw fails("ENET", "open-meteo.com answered without a forecast: try again later");
const forecast = daily.time.map((date, i) => {
  const of = (name) => daily[name]?.[i];
  return {
    date, weather: sky(of("weather_code")), low: of("temperature_2m_min"), high: of("temperature_2m_max"),
    precipitation: of("precipitation_sum"), precipitation_probability: of("precipitation_probability_max"),
  };
});
return { ...now, forecast };

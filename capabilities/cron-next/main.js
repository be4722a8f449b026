// crontab(5) as Vixie cron reads it. Times are those on the wall of the zone that `from` has: nothing here knows of daylight saving.
const MINUTE = 60_000, DAY = 1440 * MINUTE, LIMIT_DAYS = 366 * 9; // from one 29 February to the next are at most eight years
const NICKNAMES = {
  "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
};
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" "), DAYS = "sun mon tue wed thu fri sat".split(" ");
const FIELDS = [["minute", 0, 59], ["hour", 0, 23], ["day of month", 1, 31], ["month", 1, 12, MONTHS], ["day of week", 0, 7, DAYS]];
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

function numberOf(text, [name, low, high, names = []]) {
  const place = names.indexOf(text), number = place >= 0 ? place + low : /^\d{1,4}$/.test(text) ? Number(text) : NaN;
  const others = names.length ? `, nor ${names[0]} to ${names.at(-1)}` : "";
  if (!(number >= low && number <= high)) throw invalid(`${name}: "${text.slice(0, 20).toWellFormed()}" is not ${low} to ${high}${others}`);
  return number;
}

// The set of numbers that a field means.
function numbersOf(text, field) {
  const [name, low, high] = field, numbers = new Set();
  for (const part of text.split(",")) {
    const [, range, step = "1"] = /^([^/]+)(?:\/(\d{1,4}))?$/.exec(part) ?? [];
    if (!range || !Number(step)) throw invalid(`${name}: "${part.slice(0, 20)}" cannot be read: write 5, 1-5, */15 or 1,3`);
    const [first, last, ...more] = range === "*" ? [low, high === 7 ? 6 : high] : range.split("-").map((text) => numberOf(text, field));
    const end = last ?? (part.includes("/") ? high : first);
    if (more.length || end < first) throw invalid(`${name}: "${part.slice(0, 20)}" runs backwards: a range goes from the smaller to the larger`);
    for (let number = first; number <= end; number += Number(step)) numbers.add(high === 7 ? number % 7 : number);
  }
  return numbers;
}

function scheduleOf(text) {
  const plain = text.trim().toLowerCase(), fields = (NICKNAMES[plain] ?? plain).split(/\s+/);
  if (plain === "@reboot") throw invalid("@reboot has no time");
  const hint = fields.length === 6 ? ": leave the seconds or the year out" : "";
  if (fields.length !== 5) throw invalid(`a cron expression has five fields (minute hour day month weekday), not ${fields.length}${hint}`);
  const [minutes, hours, days, months, weekdays] = fields.map((field, place) => numbersOf(field, FIELDS[place]));
  // Where both kinds of day are restricted, either is enough.
  const either = !fields[2].startsWith("*") && !fields[4].startsWith("*");
  const isDay = (day, weekday) => (either ? days.has(day) || weekdays.has(weekday) : days.has(day) && weekdays.has(weekday));
  return { minutes, hours, months, isDay };
}

const two = (number) => String(number).padStart(2, "0");

function readTime(text) {
  const [, year, month, day, hour = "0", minute = "0", zone = ""] =
    /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i.exec(text.trim()) ?? [];
  const midnight = new Date(0).setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const exists = new Date(midnight).getUTCDate() === Number(day) && new Date(midnight).getUTCMonth() + 1 === Number(month) && hour < 24 && minute < 60;
  if (!exists) throw invalid("from is a time that exists, such as 2024-03-05T10:30 or 2024-03-05 (nobody here knows what time it is now)");
  return { at: midnight + (hour * 60 + Number(minute)) * MINUTE, zone: zone.toUpperCase() };
}

function* runs({ minutes, hours, months, isDay }, after) {
  for (let midnight = Math.floor(after / DAY) * DAY, idle = 0; idle < LIMIT_DAYS; midnight += DAY, idle++) {
    const date = new Date(midnight);
    if (date.getUTCFullYear() > 9999) return;
    if (!months.has(date.getUTCMonth() + 1) || !isDay(date.getUTCDate(), date.getUTCDay())) continue;
    for (let hour = 0; hour < 24; hour++) {
      for (let minute = 0; minute < 60 && hours.has(hour); minute++) {
        const at = midnight + (hour * 60 + minute) * MINUTE;
        if (minutes.has(minute) && at > after) idle = 0, yield `${date.toISOString().slice(0, 10)}T${two(hour)}:${two(minute)}`;
      }
    }
  }
}

const schedule = scheduleOf(input.cron), { at, zone } = readTime(input.from);
const found = runs(schedule, at).take(input.count).map((time) => time + zone).toArray();
if (!found.length) throw invalid("no day fits this expression: it never runs");
return found;

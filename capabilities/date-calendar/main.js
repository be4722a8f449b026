// What a wall calendar tells, of the Gregorian calendar and without a clock: every date is given. A day is a number, 1970-01-01 being 0.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAY = 86_400_000;

const dayOf = (year, month, day) => new Date(0).setUTCFullYear(year, month - 1, day) / DAY;
const weekday = (day) => (((day + 3) % 7) + 7) % 7;

function written(day) {
  const date = new Date(day * DAY);
  if (date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) throw invalid("the date lies outside of the years 1 to 9999");
  return date.toISOString().slice(0, 10);
}

function read(text, name) {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  const read = year > 0 ? dayOf(+year, +month, +day) : NaN;
  if (Number.isNaN(read) || written(read) !== text) throw invalid(`${name}: ${JSON.stringify(text)} is no date: write it as 2024-03-31`);
  return read;
}

function need(...names) {
  const missing = names.filter((name) => input[name] === undefined);
  if (missing.length) throw invalid(`${input.show} needs ${missing.join(" and ")}`);
  return names.map((name) => input[name]);
}

// ISO 8601: week 1 is the one with 4 January.
const firstMonday = (year) => { const day = dayOf(year, 1, 4); return day - weekday(day); };

function week() {
  if (input.date !== undefined) {
    const day = read(input.date, "date"), thursday = day - weekday(day) + 3, year = new Date(thursday * DAY).getUTCFullYear();
    return weekOf(year, Math.floor((thursday - firstMonday(year)) / 7) + 1);
  }
  return weekOf(...need("year", "week"));
}

function weekOf(year, number) {
  const monday = firstMonday(year) + (number - 1) * 7;
  if (monday >= firstMonday(year + 1)) throw invalid(`${year} has only 52 weeks`);
  return { week: `${String(year).padStart(4, "0")}-W${String(number).padStart(2, "0")}`, monday: written(monday), sunday: written(monday + 6), weeks_in_year: (firstMonday(year + 1) - firstMonday(year)) / 7 };
}

function month() {
  const [year, month] = need("year", "month"), first = dayOf(year, month, 1), length = dayOf(year, month + 1, 1) - first;
  const cells = [...Array(weekday(first)).fill(""), ...Array.from({ length }, (_, i) => String(i + 1))], lines = ["Mo Tu We Th Fr Sa Su"];
  for (let i = 0; i < cells.length; i += 7) lines.push(cells.slice(i, i + 7).map((cell) => cell.padStart(2)).join(" "));
  return { title: `${MONTHS[month - 1]} ${year}`, days: length, first_weekday: WEEKDAYS[weekday(first)], calendar: lines.join("\n") };
}

// The Gregorian computus by the algorithm of Meeus, Jones and Butcher (Meeus: Astronomical Algorithms, 1991).
function easterOf(year) {
  const a = year % 19, b = Math.floor(year / 100), c = year % 100, moon = b - Math.floor(b / 4) - Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3);
  const h = (19 * a + moon + 15) % 30, l = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - h - (c % 4)) % 7, m = Math.floor((a + 11 * h + 22 * l) / 451);
  const days = h + l - 7 * m + 114;
  return dayOf(year, Math.floor(days / 31), (days % 31) + 1);
}

// The Julian one (Meeus), moved to the Gregorian calendar.
function orthodoxOf(year) {
  const d = (19 * (year % 19) + 15) % 30, e = (2 * (year % 4) + 4 * (year % 7) - d + 34) % 7, days = d + e + 114;
  return dayOf(year, Math.floor(days / 31), (days % 31) + 1) + Math.floor(year / 100) - Math.floor(year / 400) - 2;
}

function easter() {
  const [year] = need("year");
  if (year < 1583) throw invalid("the Gregorian calendar, and its Easter, began in 1582: give a year from 1583 on");
  const sunday = easterOf(year), after = (days) => written(sunday + days);
  return { ash_wednesday: after(-46), good_friday: after(-2), easter: after(0), easter_monday: after(1), ascension: after(39), pentecost: after(49), orthodox_easter: written(orthodoxOf(year)) };
}

// ---- business days

const off = new Set(input.weekend.map((name) => WEEKDAYS.indexOf(name)));
const holidays = [...new Set(input.holidays.map((text, i) => read(text, `holidays.${i}`)))].filter((day) => !off.has(weekday(day))).sort((a, b) => a - b);

// Working days among the first `days` days from `from` on: whole weeks at once, then what is left over.
function working(from, days) {
  const weeks = Math.floor(days / 7);
  let count = weeks * (7 - off.size);
  for (let day = from + weeks * 7; day < from + days; day++) if (!off.has(weekday(day))) count++;
  return count - holidays.filter((day) => day >= from && day < from + days).length;
}

function businessDays() {
  const from = read(need("date")[0], "date");
  if (off.size > 6) throw invalid("a weekend of seven days leaves no business day");
  if ((input.until === undefined) === (input.days === undefined)) throw invalid("give until, to count business days, or days, to go so many ahead: one of them");
  if (input.days !== undefined) return moved(from, input.days);
  const until = read(input.until, "until"), [first, last] = from <= until ? [from, until] : [until, from];
  return { business_days: working(first, last - first + 1), days: last - first + 1 };
}

function moved(from, days) {
  const closed = new Set(holidays), step = Math.sign(days);
  let day = from;
  for (let left = Math.abs(days); left > 0; ) {
    day += step;
    if (!off.has(weekday(day)) && !closed.has(day)) left--;
  }
  return { date: written(day), weekday: WEEKDAYS[weekday(day)] };
}

function nthWeekday() {
  const [year, month, name, nth] = need("year", "month", "weekday", "nth");
  if (nth === 0) throw invalid("nth is 1 to 5 from the start of the month, or -1 to -5 from its end");
  const first = dayOf(year, month, 1), end = dayOf(year, month + 1, 1), wanted = WEEKDAYS.indexOf(name);
  const day = nth > 0 ? first + ((wanted - weekday(first) + 7) % 7) + (nth - 1) * 7 : end - 1 - ((weekday(end - 1) - wanted + 7) % 7) + (nth + 1) * 7;
  if (day < first || day >= end) throw invalid(`${MONTHS[month - 1]} ${year} has only four ${name}s`);
  return { date: written(day), weekday: name };
}

return { month, week, easter, "business-days": businessDays, "nth-weekday": nthWeekday }[input.show]();

// One grammar for everything: the dates in the words, then the durations, then what stands between them. One date alone is described,
// a date with durations is moved, two dates are compared. `add`, `subtract` and `until` are appended to the words.
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = "January February March April May June July August September October November December".split(" ");
const SMALL = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen " +
  "nineteen").split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const NUMERALS = "零一二三四五六七八九";

const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const two = (number) => String(number).padStart(2, "0");

// ---- the calendar: an instant is milliseconds since 1970 as if all the world were UTC

const midnight = (year, month, day) => new Date(0).setUTCFullYear(year, month - 1, day);
const daysInMonth = (year, month) => new Date(midnight(year, month + 1, 0)).getUTCDate();

function parts(ms) {
  const date = new Date(ms), clock = ms - Math.floor(ms / DAY) * DAY;
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate(), weekday: date.getUTCDay(), clock };
}

// The same day of another month, or that month's last day when it is shorter.
function plusMonths(ms, months) {
  const { year, month, day, clock } = parts(ms);
  const total = year * 12 + month - 1 + months, toYear = Math.floor(total / 12), toMonth = total - toYear * 12 + 1;
  return midnight(toYear, toMonth, Math.min(day, daysInMonth(toYear, toMonth))) + clock;
}

// ISO 8601: a week belongs to the year of its Thursday.
function week(ms) {
  const thursday = ms + (3 - ((parts(ms).weekday + 6) % 7)) * DAY, { year } = parts(thursday);
  return { year, number: Math.floor((thursday - midnight(year, 1, 1)) / (7 * DAY)) + 1 };
}

// ---- reading

const TIME = String.raw`(?:[T ]\s*(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:\.\d+)?)?(?:\s*(?<half>[ap])\.?m\b\.?)?\s?(?<zone>Z\b|(?:GMT|UTC)\b|[+-]\d{2}:?\d{2})?)?`;
const NAMED = String.raw`(?<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?`;
const DATES = [
  String.raw`(?<!\d)(?<year>\d{4})(?<dash>[-/.])(?<month>\d{1,2})\k<dash>(?<day>\d{1,2})(?!\d)`,
  String.raw`(?<!\d)(?<year>\d{4})\s*年\s*(?<month>\d{1,2})\s*月\s*(?<day>\d{1,2})\s*[日号]?`,
  String.raw`(?<!\d)(?<day>\d{1,2})(?:st|nd|rd|th)?(?: of)?[\s-]+${NAMED},?[\s-]+(?<year>\d{4})(?!\d)`,
  String.raw`\b${NAMED}\s+(?<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?<year>\d{4})(?!\d)`,
].map((form) => new RegExp(form + TIME, "gi"));
const ONES = `(?:${SMALL.slice(1, 10).join("|")})`;
const SIZE = String.raw`(?<amount>\d+(?:\.\d+)?)|(?<word>\b(?:an?|(?:${TENS.join("|")})(?:[- ]${ONES})?|${SMALL.join("|")})\b)|(?<numeral>[${NUMERALS}两十]+)`;
const UNIT = "(?<years>years?|yrs?|y|年)|(?<months>months?|mos?|个?月)|(?<weeks>weeks?|wks?|w|个?星期|周)|(?<days>days?|d|天|日)|" +
  "(?<hours>hours?|hrs?|h|个?小时)|(?<minutes>minutes?|mins?|分钟?)|(?<seconds>seconds?|secs?|s|秒)";
const DURATION = new RegExp(String.raw`(?<signs>(?:[-+]\s*)*)(?<![\w.])(?:${SIZE})\s*(?:${UNIT})(?![a-z])`, "gi");
const SIGNS = [[/\b(?:minus|subtract|less)\b|减去?/gi, "-"], [/\b(?:plus|add)\b|加上?/gi, "+"]];
const BACKWARDS = /\b(?:before|earlier|ago|prior)\b|前/i;
const MOVES = /\b(?:after|later|hence|before|earlier|ago|prior)\b|[前后]|[-+]/i;
const FROM = /\b(?:from|since|past)\b|从/i;
// Words that change a duration in a way that is not understood here: passed over, they would make a wrong answer.
const UNKNOWN = /\b(?:half|quarters?|hundreds?|thousands?|dozens?|couple|few|several|fortnights?|decades?|centur(?:y|ies)|business|working|workdays?|weekdays?|noon|midnight|last|next)\b|[半百千万]|季度|工作日|上午|下午|晚上/i;

function dateOf(groups) {
  const named = MONTHS.findIndex((month) => month.toLowerCase().startsWith(groups.name?.toLowerCase())) + 1;
  const [year, month, day, hour, minute, second] = ["year", "month", "day", "hour", "minute", "second"].map((part) => Number(groups[part] ?? 0));
  const ms = checked(year, groups.name ? named : month, day) + hour * HOUR + minute * MINUTE + second * SECOND;
  const isTime = minute <= 59 && second <= 59 && (groups.half ? hour >= 1 && hour <= 12 : hour <= 23);
  if (!isTime) throw invalid(`there is no such time: ${groups.hour}:${groups.minute}${groups.half ? ` ${groups.half}m` : ""}`);
  const shift = !groups.half ? 0 : (hour === 12 ? -12 : 0) + (/p/i.test(groups.half) ? 12 : 0); // 12 am is midnight
  return { ms: ms + shift * HOUR, timed: groups.hour !== undefined, zone: (groups.zone ?? "").toUpperCase().replace(/GMT|UTC/, "Z") };
}

function checked(year, month, day) {
  const exists = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
  if (!exists) throw invalid(`there is no such date: ${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`);
  return midnight(year, month, day);
}

// twenty-five, 二十五
function numberOf(word) {
  if (!word) return NaN;
  const [tens, ones] = word.split(/[- ]/), place = TENS.indexOf(tens);
  return place < 0 ? SMALL.indexOf(word) : (place + 2) * 10 + (ones ? SMALL.indexOf(ones) : 0);
}

function numeralOf(text) {
  const [, tens, ten, ones] = /^([一二三四五六七八九]?)(十?)([零一二三四五六七八九]?)$/.exec(text) ?? [];
  if (tens === undefined || (tens && ones && !ten)) throw invalid(`cannot read the number ${text}: write it in digits`);
  return ten ? (tens ? NUMERALS.indexOf(tens) : 1) * 10 + Math.max(0, NUMERALS.indexOf(ones || "零")) : NUMERALS.indexOf(tens || ones);
}

function durationOf(groups, signBefore) {
  const sign = groups.signs ? (groups.signs.replace(/[^-]/g, "").length % 2 ? -1 : 1) : signBefore;
  const word = groups.word?.toLowerCase().replace(/^an?$/, "one"), numeral = groups.numeral?.replace("两", "二");
  const size = word ? numberOf(word) : numeral ? numeralOf(numeral) : Number(groups.amount);
  const unit = ["years", "months", "weeks", "days", "hours", "minutes", "seconds"].find((unit) => groups[unit]);
  return { unit, amount: size * sign };
}

// Takes every match out of the text: [what `read` made of each, in the order of the text; what is left].
function takeOut(text, patterns, read) {
  const found = [];
  let left = text;
  for (const pattern of patterns) {
    left = left.replace(pattern, (...match) => {
      found.push({ place: match.at(-3), groups: match.at(-1) });
      return " ".repeat(match[0].length);
    });
  }
  return [found.sort((a, b) => a.place - b.place).map(({ groups }) => read(groups)), left];
}

function understood(words) {
  const [dates, rest] = takeOut(words.normalize("NFKC"), DATES, dateOf);
  const signed = SIGNS.reduce((text, [pattern, sign]) => text.replace(pattern, sign), rest);
  let sign = BACKWARDS.test(signed) ? -1 : 1;
  const [durations, left] = takeOut(signed, [DURATION], (groups) => {
    const duration = durationOf(groups, sign);
    if (groups.signs) sign = Math.sign(duration.amount) || 1;
    return duration;
  });
  const unknown = UNKNOWN.exec(rest)?.[0];
  if (unknown) throw invalid(`"${unknown}" is not understood here: write durations in digits, such as 15 days, and times as 17:30 (date-calendar counts business days)`);
  const odd = /\S*\d\S*/.exec(left)?.[0];
  if (odd) throw invalid(`cannot read "${odd.slice(0, 40)}": write dates as 2024-03-05, durations as 3 days`);
  if (!dates.length) throw invalid("there is no date: write it as 2024-03-05 (nobody here knows what day it is today)");
  const moves = MOVES.test(signed);
  if (moves && dates.length === 1 && !durations.length) throw invalid("how far from the date? Write a duration such as 3 days");
  if (!moves && durations.length && !FROM.test(signed)) throw invalid("forwards or backwards? Write a sign, or after or before the date");
  return { dates, durations };
}

// ---- answering

function moved({ ms, timed, zone }, durations) {
  const total = (unit) => durations.filter((one) => one.unit === unit).reduce((sum, one) => sum + one.amount, 0);
  const months = total("years") * 12 + total("months");
  if (!Number.isSafeInteger(months)) throw invalid("years and months are added whole");
  const precise = total("hours") * HOUR + total("minutes") * MINUTE + total("seconds") * SECOND;
  const days = (total("weeks") * 7 + total("days")) * DAY;
  const end = plusMonths(ms, months) + Math.round(days + precise);
  if (!(end >= midnight(1, 1, 1) && end < midnight(10000, 1, 1))) throw invalid("the result lies outside the years 1 to 9999");
  return { ms: end, timed: timed || precise !== 0 || days % DAY !== 0, zone };
}

const offset = (zone) => (/\d/.test(zone) ? (zone[0] === "-" ? -1 : 1) * (zone.slice(1, 3) * HOUR + zone.slice(-2) * MINUTE) : 0);

function between(first, second) {
  const [a, b] = first.zone && second.zone ? [first.ms - offset(first.zone), second.ms - offset(second.zone)] : [first.ms, second.ms];
  const [start, end] = a <= b ? [a, b] : [b, a], from = parts(start), to = parts(end);
  let months = (to.year - from.year) * 12 + to.month - from.month;
  if (plusMonths(start, months) > end) months--;
  let rest = end - plusMonths(start, months);
  const pieces = [[Math.floor(months / 12), "year"], [months % 12, "month"]];
  for (const [size, name] of [[DAY, "day"], [HOUR, "hour"], [MINUTE, "minute"], [SECOND, "second"]]) {
    pieces.push([Math.floor(rest / size), name]);
    rest %= size;
  }
  const named = pieces.filter(([count]) => count).map(([count, name]) => `${count} ${name}${count === 1 ? "" : "s"}`);
  return { days: Number(((b - a) / DAY).toFixed(6)), text: `${named.join(", ") || "0 days"}${b < a ? " earlier" : ""}` };
}

function written({ ms }, format) {
  const { year, month, day, weekday, clock } = parts(ms), iso = week(ms), hour = Math.floor(clock / HOUR), half = hour < 12 ? "AM" : "PM";
  const tokens = {
    YYYY: String(year).padStart(4, "0"), YY: two(year % 100), Q: Math.ceil(month / 3), MMMM: MONTHS[month - 1], MMM: MONTHS[month - 1].slice(0, 3), MM: two(month), M: month,
    DD: two(day), D: day, dddd: WEEKDAYS[weekday], ddd: WEEKDAYS[weekday].slice(0, 3),
    HH: two(hour), H: hour, hh: two(hour % 12 || 12), h: hour % 12 || 12, A: half, a: half.toLowerCase(), mm: two(Math.floor(clock / MINUTE) % 60), ss: two(Math.floor(clock / SECOND) % 60),
    GGGG: String(iso.year).padStart(4, "0"), WW: two(iso.number), T: "T",
  };
  return format.replace(/\[([^\]]*)\]|([A-Za-z])\2*/g, (token, literal) => {
    if (literal === undefined && tokens[token] === undefined) throw invalid(`"${token}" is no part of a format: take ${Object.keys(tokens).join(" ")}, and put words in [brackets]`);
    return literal ?? tokens[token];
  });
}

const plain = (date) => (date.timed ? written(date, "YYYY-MM-DD[T]HH:mm:ss") + date.zone : written(date, "YYYY-MM-DD"));

function described(date) {
  const { year, month } = parts(date.ms);
  return {
    date: plain(date), weekday: written(date, "dddd"), iso_week: written(date, "GGGG-[W]WW"),
    day_of_year: Math.floor((date.ms - midnight(year, 1, 1)) / DAY) + 1, quarter: Math.ceil(month / 3),
    days_in_month: daysInMonth(year, month), leap_year: daysInMonth(year, 2) === 29,
  };
}

const { date, add, subtract, until, format } = input;
const { dates, durations } = understood([date, add && `+ ${add}`, subtract && `- ${subtract}`, until].filter(Boolean).join(" ; "));
if (dates.length > 2 || (dates.length === 2 && durations.length)) throw invalid("give one date, a date and durations, or two dates");
if (dates.length === 2) return between(...dates);
if (!durations.length && !format) return described(dates[0]);
const result = moved(dates[0], durations);
return format ? written(result, format) : plain(result);

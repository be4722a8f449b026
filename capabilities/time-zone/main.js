// Wall clocks of places, by the rules of the IANA time zone database, which scripts/time-zones writes to the end of this file. Times are
// minutes since 1970: local ones as if all the world were UTC.
const START = Date.UTC(2010, 0, 1) / 60_000, DAY = 1440, QUARTER = 15;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
// What people say, where the database has another name for it. An abbreviation that means several zones is not here.
const OTHERS = Object.fromEntries((
  "z UTC gmt UTC et America/New_York est America/New_York edt America/New_York ct America/Chicago cdt America/Chicago mt America/Denver " +
  "mdt America/Denver pt America/Los_Angeles pst America/Los_Angeles pdt America/Los_Angeles cest Europe/Berlin eest Europe/Athens " +
  "jst Asia/Tokyo kst Asia/Seoul hkt Asia/Hong_Kong sgt Asia/Singapore msk Europe/Moscow aest Australia/Sydney aedt Australia/Sydney " +
  "nzst Pacific/Auckland nzdt Pacific/Auckland beijing Asia/Shanghai shenzhen Asia/Shanghai guangzhou Asia/Shanghai china Asia/Shanghai " +
  "mumbai Asia/Kolkata delhi Asia/Kolkata new_delhi Asia/Kolkata bangalore Asia/Kolkata chennai Asia/Kolkata india Asia/Kolkata " +
  "osaka Asia/Tokyo munich Europe/Berlin frankfurt Europe/Berlin hamburg Europe/Berlin cologne Europe/Berlin germany Europe/Berlin " +
  "geneva Europe/Zurich bern Europe/Zurich barcelona Europe/Madrid milan Europe/Rome lyon Europe/Paris france Europe/Paris uk Europe/London " +
  "manchester Europe/London edinburgh Europe/London st_petersburg Europe/Moscow rio_de_janeiro America/Sao_Paulo boston America/New_York " +
  "washington America/New_York miami America/New_York atlanta America/New_York philadelphia America/New_York dallas America/Chicago " +
  "houston America/Chicago austin America/Chicago san_francisco America/Los_Angeles seattle America/Los_Angeles " +
  "san_diego America/Los_Angeles las_vegas America/Los_Angeles silicon_valley America/Los_Angeles montreal America/Toronto " +
  "ottawa America/Toronto calgary America/Edmonton canberra Australia/Sydney wellington Pacific/Auckland abu_dhabi Asia/Dubai " +
  "tel_aviv Asia/Jerusalem hanoi Asia/Ho_Chi_Minh cape_town Africa/Johannesburg 北京 Asia/Shanghai 上海 Asia/Shanghai 深圳 Asia/Shanghai " +
  "广州 Asia/Shanghai 中国 Asia/Shanghai 香港 Asia/Hong_Kong 澳门 Asia/Macau 台北 Asia/Taipei 东京 Asia/Tokyo 大阪 Asia/Tokyo 日本 Asia/Tokyo " +
  "首尔 Asia/Seoul 韩国 Asia/Seoul 新加坡 Asia/Singapore 曼谷 Asia/Bangkok 吉隆坡 Asia/Kuala_Lumpur 雅加达 Asia/Jakarta 孟买 Asia/Kolkata " +
  "新德里 Asia/Kolkata 迪拜 Asia/Dubai 莫斯科 Europe/Moscow 伦敦 Europe/London 英国 Europe/London 巴黎 Europe/Paris 柏林 Europe/Berlin " +
  "德国 Europe/Berlin 法国 Europe/Paris 罗马 Europe/Rome 马德里 Europe/Madrid 阿姆斯特丹 Europe/Amsterdam 苏黎世 Europe/Zurich 纽约 America/New_York " +
  "华盛顿 America/New_York 波士顿 America/New_York 芝加哥 America/Chicago 洛杉矶 America/Los_Angeles 旧金山 America/Los_Angeles " +
  "西雅图 America/Los_Angeles 多伦多 America/Toronto 温哥华 America/Vancouver 悉尼 Australia/Sydney 墨尔本 Australia/Melbourne 奥克兰 Pacific/Auckland"
).split(" ").reduce((pairs, word, i, words) => (i % 2 ? pairs : [...pairs, [word, words[i + 1]]]), []));
const SEVERAL = { cst: "America/Chicago, Asia/Shanghai or America/Havana", ist: "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem", bst: "Europe/London or Asia/Dhaka", ast: "America/Halifax or Asia/Riyadh", mst: "America/Denver or America/Phoenix" };

// ---- zones: { name, base, changes: [{ at, offset }], rule }; offsets are minutes east of Greenwich

const two = (number) => String(number).padStart(2, "0");
const shown = (offset) => `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
const fixed = (offset) => ({ name: shown(offset), base: offset, changes: [], rule: { standard: offset } });

function offsetOf(text) {
  const [, sign, hours, minutes = "0"] = /^(?:utc|gmt)?\s*([+-])(\d{1,2})(?::?(\d{2}))?$/i.exec(text) ?? [];
  if (!sign || hours > 14 || minutes > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (hours * 60 + Number(minutes));
}

// What stands behind the last change: POSIX's CST6CDT,M3.2.0,M11.1.0, where offsets are west of Greenwich.
function ruleOf(text) {
  const OFFSET = String.raw`(-?\d+(?::\d+)?)`, NAME = "(?:<[^>]+>|[A-Za-z]+)", WHEN = String.raw`M(\d+)\.(\d)\.(\d)(?:/(-?\d+(?::\d+)?))?`;
  const [, standard, daylight, ...when] = new RegExp(`^${NAME}${OFFSET}(?:${NAME}${OFFSET}?,${WHEN},${WHEN})?$`).exec(text);
  const minutes = (time) => { const [hours, rest = 0] = time.split(":"); return hours * 60 + (time.startsWith("-") ? -rest : +rest); };
  const place = ([month, week, weekday, time = "2"]) => ({ month: +month, week: +week, weekday: +weekday, time: minutes(time) });
  const plain = 0 - minutes(standard);
  if (when[0] === undefined) return { standard: plain };
  return { standard: plain, daylight: daylight === undefined ? plain + 60 : -minutes(daylight), from: place(when.slice(0, 4)), to: place(when.slice(4)) };
}

function zoneOf(line, name) {
  const [, base, changes, rule] = line.split("|");
  let at = START;
  const read = (change) => {
    const [, minutes, sign, quarters] = /^(\w+)([+-])(\w+)$/.exec(change);
    return { at: (at += parseInt(minutes, 36)), offset: (sign === "-" ? -1 : 1) * parseInt(quarters, 36) * QUARTER };
  };
  return { name, base: base * QUARTER, changes: changes ? changes.split(" ").map(read) : [], rule: ruleOf(rule) };
}

function found(text, what) {
  const plain = text.trim().toLowerCase().replace(/[\s-]+/g, "_"), other = Object.hasOwn(OTHERS, plain) ? OTHERS[plain].toLowerCase() : plain;
  const offset = offsetOf(text.trim().replace("−", "-"));
  if (other === "utc") return { ...fixed(0), name: "UTC" };
  if (offset !== undefined) return fixed(offset);
  if (Object.hasOwn(SEVERAL, plain)) throw invalid(`${what}: ${text} means several zones: write ${SEVERAL[plain]}`);
  for (const line of ZONES.split("\n")) {
    const names = line.slice(0, line.indexOf("|")).split(" ");
    const name = names.find((name) => `/${name.toLowerCase().replaceAll("-", "_")}`.endsWith(`/${other.replaceAll("-", "_")}`));
    if (name) return zoneOf(line, name);
  }
  throw invalid(`${what}: there is no zone ${JSON.stringify(text.slice(0, 60).toWellFormed())}: write Europe/Berlin, New York, UTC or +08:00`);
}

// ---- offsets

function dayOf(year, { month, week, weekday }) {
  const first = Date.UTC(year, month - 1, 1) / 60_000 / DAY, last = Date.UTC(year, month, 0) / 60_000 / DAY;
  const day = first + ((weekday - (first + 4) + 7 * 1e6) % 7) + (week - 1) * 7;
  return day > last ? day - 7 : day;
}

// { offset, daylight } at a moment.
function at(zone, moment) {
  const { standard, daylight, from, to } = zone.rule, last = zone.changes.findLast((change) => change.at <= moment);
  if (last !== zone.changes.at(-1)) return { offset: last?.offset ?? zone.base };
  if (daylight === undefined) return { offset: standard };
  const year = new Date((moment + standard) * 60_000).getUTCFullYear();
  const begin = dayOf(year, from) * DAY + from.time - standard, end = dayOf(year, to) * DAY + to.time - daylight;
  const isDaylight = begin < end ? moment >= begin && moment < end : moment >= begin || moment < end;
  return { offset: isDaylight ? daylight : standard };
}

// The moment at which a clock there shows `local`, and what is odd about it.
function momentOf(zone, local) {
  const [before, after] = [at(zone, local - DAY).offset, at(zone, local + DAY).offset];
  const fits = [...new Set([before, after])].filter((offset) => at(zone, local - offset).offset === offset);
  if (fits.length === 2) return [local - Math.max(...fits), `this time comes twice in ${zone.name}: the first is taken, the second is ${(Math.abs(before - after))} minutes later`];
  return fits.length ? [local - fits[0], ""] : [local - before, `this time does not exist in ${zone.name}, where clocks went forward: they showed ${written(local - before + after)}`];
}

// ---- reading and writing

const written = (minutes) => new Date(minutes * 60_000).toISOString().slice(0, 16);

function read(text) {
  const [, date, hour = "00", minute = "00", second = "00", zone] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(text.trim()) ?? [];
  const midnight = date === undefined ? NaN : Date.parse(`${date}T00:00Z`);
  const exists = new Date(midnight).toJSON()?.slice(0, 10) === date && hour < 24 && minute < 60 && second < 60;
  if (date === undefined || !exists) throw invalid("time is a date and time that exists, such as 2024-03-05T10:30, perhaps with Z or +08:00, or a Unix timestamp (nobody here knows what time it is now)");
  return { local: midnight / 60_000 + hour * 60 + Number(minute), second: Number(second), zone };
}

// { moment in minutes, second, zone it was told in, note }
function told({ time, from }) {
  if (/^\s*\d{9,13}\s*$/.test(time)) {
    const seconds = Math.floor(Number(time) / (time.trim().length > 11 ? 1000 : 1));
    return { moment: Math.floor(seconds / 60), second: seconds % 60, zone: found("UTC", "from"), note: "" };
  }
  const { local, second, zone: own } = read(time);
  if (own && from !== undefined) throw invalid("time says its own zone: leave from out, or the zone behind time");
  if (!own && from === undefined) throw invalid("give from, the zone of time: Europe/Berlin, New York or +08:00");
  const zone = found(own ?? from, "from"), [moment, note] = momentOf(zone, local);
  return { moment, second, zone, note };
}

function shownIn(zone, moment, second) {
  if (moment < START || moment >= Date.UTC(9999, 0, 1) / 60_000) throw invalid("the rules here are those from 2010 on, to the year 9998");
  const { offset } = at(zone, moment), local = moment + offset;
  return { zone: zone.name, time: `${written(local)}:${two(second)}${shown(offset)}`, weekday: WEEKDAYS[new Date(local * 60_000).getUTCDay()] };
}

function answer() {
  const { moment, second, zone, note } = told(input), wanted = [input.to].flat().flatMap((names) => names.split(/\s*[,，;]\s*/)).filter(Boolean);
  if (!wanted.length || wanted.length > 30) throw invalid("to names 1 to 30 zones");
  const from = shownIn(zone, moment, second), to = wanted.map((name) => shownIn(found(name, "to"), moment, second));
  return { utc: `${written(moment)}:${two(second)}Z`, unix: moment * 60 + second, from, to, ...(note ? { note } : {}) };
}

// ---- the database: the names of a zone, its offset at the start in quarters of an hour, what changed since (minutes after the change
// before, the new offset), and the rule that holds after the last change

const ZONES = `\
Africa/Abidjan Africa/Accra Africa/Bamako Africa/Banjul Africa/Bissau Africa/Conakry Africa/Dakar Africa/Freetown Africa/Lome Africa/Monrovia Africa/Nouakchott Africa/Ouagadougou Africa/Timbuktu America/Danmarkshavn Atlantic/Reykjavik Atlantic/St_Helena GMT GMT+0 GMT-0 GMT0 Greenwich Iceland|0||GMT0
Africa/Addis_Ababa Africa/Asmara Africa/Asmera Africa/Dar_es_Salaam Africa/Djibouti Africa/Kampala Africa/Mogadishu Africa/Nairobi Indian/Antananarivo Indian/Comoro Indian/Mayotte|12||EAT-3
Africa/Algiers Africa/Tunis|4||CET-1
Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Lagos Africa/Libreville Africa/Luanda Africa/Malabo Africa/Ndjamena Africa/Niamey Africa/Porto-Novo|4||WAT-1
Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Kigali Africa/Lubumbashi Africa/Lusaka Africa/Maputo|8||CAT-2
Africa/Cairo Egypt|8|3o4o+c 36ec+8 xdo+c nac+8 14u1o+c 1amc+8 12xo+c 1q6c+8 2osho+c|EET-2EEST,M4.5.5/0,M10.5.4/24
Africa/Casablanca Africa/El_Aaiun|0|3qg0+4 30uc+0 7cho+4 3o6c+0 8fh0+4 2j40+0 yg0+4 19k0+0 6hc0+4 25s0+0 11s0+4 2eo0+0 4r40+4 2s00+0 12w0+4 2mg0+0 4r40+4 2dk0+0 12w0+4 30w0+0 4r40+4 25s0+0 12w0+4 3gg0+0 4jc0+4 1q80+0 1ao0+4 3o80+0 4jc0+4 1ig0+0 12w0+4 43s0+4 5u00+0 12w0+4 9q00+0 1ao0+4 9q00+0 12w0+4 9q00+0 1ao0+4 9q00+0 12w0+4 9xs0+0 12w0+4 9q00+0 1ao0+4 9q00+0 12w0+4 5m6c+0|<+00>0
Africa/Ceuta Arctic/Longyearbyen Atlantic/Jan_Mayen CET Europe/Amsterdam Europe/Andorra Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels Europe/Budapest Europe/Busingen Europe/Copenhagen Europe/Gibraltar Europe/Ljubljana Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Monaco Europe/Oslo Europe/Paris Europe/Podgorica Europe/Prague Europe/Rome Europe/San_Marino Europe/Sarajevo Europe/Skopje Europe/Stockholm Europe/Tirane Europe/Vaduz Europe/Vatican Europe/Vienna Europe/Warsaw Europe/Zagreb Europe/Zurich MET Poland|8||CET-1CEST,M3.5.0,M10.5.0/3
Africa/Johannesburg Africa/Maseru Africa/Mbabane|8||SAST-2
Africa/Juba|12|3gyr0+8|CAT-2
Africa/Khartoum|12|2gar0+8|CAT-2
Africa/Sao_Tome|0|2i6po+4 b9k0+0|GMT0
Africa/Tripoli Libya|8|w800+4 4ag0+8 6hc0+8|EET-2
Africa/Windhoek|8|2vc0+4 4r5o+8 6hac+4 4r5o+8 6hac+4 4r5o+8 6p2c+4 4jdo+8 6p2c+4 4r5o+8 6hac+4 4r5o+8 6hac+4 4r5o+8 6hac+4 4r5o+8|CAT-2
America/Adak America/Atka|-36||HST10HDT,M3.2.0,M11.1.0
America/Anchorage America/Juneau America/Nome America/Sitka America/Yakutat|-32||AKST9AKDT,M3.2.0,M11.1.0
America/Anguilla America/Antigua America/Aruba America/Barbados America/Blanc-Sablon America/Curacao America/Dominica America/Grenada America/Guadeloupe America/Kralendijk America/Lower_Princes America/Marigot America/Martinique America/Montserrat America/Port_of_Spain America/Puerto_Rico America/Santo_Domingo America/St_Barthelemy America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent America/Tortola America/Virgin|-16||AST4
America/Araguaina|-12|vlx0-8 3o6c-c|<-03>3
America/Argentina/Buenos_Aires America/Argentina/Catamarca America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/La_Rioja America/Argentina/Mendoza America/Argentina/Rio_Gallegos America/Argentina/Salta America/Argentina/San_Juan America/Argentina/San_Luis America/Argentina/Tucuman America/Argentina/Ushuaia America/Belem America/Buenos_Aires America/Catamarca America/Cayenne America/Cordoba America/Fortaleza America/Jujuy America/Maceio America/Mendoza America/Paramaribo America/Recife America/Rosario America/Santarem Antarctica/Rothera|-12||<-03>3
America/Asuncion|-12|3390-g 5eho-c 5tyc-g 5eho-c 5tyc-g 5m9o-c 56mc-g 61to-c 56mc-g 61to-c 56mc-g 61to-c 5eec-g 5u1o-c 5eec-g 5u1o-c 5eec-g 61to-c 56mc-g 61to-c 56mc-g 61to-c 5eec-g 5u1o-c 5eec-g 5u1o-c 5eec-g 5u1o-c 5eec-g 61to-c 9yc-c|<-03>3
America/Atikokan America/Cayman America/Coral_Harbour America/Jamaica America/Panama EST Jamaica|-20||EST5
America/Bahia_Banderas|-28|2vr0-k 6h8o-o 4r5o-k 6hac-o 4r5o-k 6hac-o 4yxo-k 69ic-o 4yxo-k 69ic-o 4yxo-k 69ic-o 4yxo-k 6hac-o 4r5o-k 6hac-o 4r5o-k 6hac-o 4yxo-k 69ic-o 4yxo-k 69ic-o 4yxo-k 6hac-o 4r5o-k 6hac-o|CST6
America/Bahia|-12|k5p0-8 43qc-c|<-03>3
America/Belize America/Costa_Rica America/El_Salvador America/Guatemala America/Managua America/Regina America/Swift_Current America/Tegucigalpa|-24||CST6
America/Boa_Vista America/Guyana America/La_Paz America/Manaus America/Porto_Velho|-16||<-04>4
America/Bogota America/Guayaquil America/Lima|-20||<-05>5
America/Boise America/Cambridge_Bay America/Denver America/Shiprock MST7MDT Navajo|-24||MST7MDT,M3.2.0,M11.1.0
America/Campo_Grande America/Cuiaba|-12|1kt0-g 7cho-c 3vyc-g 7cho-c 43qc-g 7cho-c 3o6c-g 7k9o-c 3o6c-g 7k9o-c 3vyc-g 7cho-c 3vyc-g 7cho-c 3vyc-g 7cho-c 3vyc-g 7zto-c 38mc-g|<-04>4
America/Cancun|-24|2vpc-k 6hac-o 4r5o-k 6hac-o 4r5o-k 6hac-o 4yxo-k 69ic-o 4yxo-k 69ic-o 30xo-k|EST5
America/Caracas|-18|1zd7o-g|<-04>4
America/Chicago America/Indiana/Knox America/Indiana/Tell_City America/Knox_IN America/Menominee America/North_Dakota/Center America/North_Dakota/New_Salem America/Rankin_Inlet America/Resolute CST6CDT|-20||CST6CDT,M3.2.0,M11.1.0
America/Chihuahua|-28|2vr0-o 6hac-s 4r5o-o 6hac-s 4r5o-o 6hac-s 4yxo-o 69ic-s 4yxo-o 69ic-s 4yxo-o 69ic-s 4yxo-o 6hac-s 4r5o-o 6hac-s 4r5o-o 6hac-s 4yxo-o 69ic-s 4yxo-o 69ic-s 4yxo-o 6hac-s 4r5o-o 6hac-o|CST6
America/Ciudad_Juarez|-28|28f0-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 43to-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 43to-o 7cec-s 3w1o-o 74mc-o yco-s|MST7MDT,M3.2.0,M11.1.0
America/Coyhaique|-12|2vh0-g 5u1o-c 6hac-g 38po-c 7ryc-g 3w1o-c 7cec-g 43to-c 74mc-g 43to-c j0ec-g 2t5o-c 8fac-g 2t5o-c 8fac-g 2t5o-c 7cec-g 4r5o-c 6hac-g 4r5o-c 6hac-g 4r5o-c 6hac-g 4yxo-c 69ic-g 4r5o-c 6p2c-g 4r5o-c 5yec-c|<-03>3
America/Creston America/Dawson_Creek America/Hermosillo America/Phoenix MST|-28||MST7
America/Dawson America/Whitehorse|-32|28go-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 43to-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cb0-s|MST7
America/Detroit America/Fort_Wayne America/Indiana/Indianapolis America/Indiana/Marengo America/Indiana/Vevay America/Indiana/Winamac America/Indianapolis America/Iqaluit America/Kentucky/Louisville America/Kentucky/Monticello America/Louisville America/Montreal America/Nassau America/New_York America/Nipigon America/Pangnirtung America/Thunder_Bay America/Toronto EST5EDT|-16||EST5EDT,M3.2.0,M11.1.0
America/Edmonton America/Inuvik America/Yellowknife|-28|28f0-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 43to-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 43to-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-o|CST6
America/Eirunepe America/Porto_Acre America/Rio_Branco|-16|17hqo-k|<-05>5
America/Ensenada America/Santa_Isabel America/Tijuana|-32|dc-w|PST8PDT,M3.2.0,M11.1.0
America/Fort_Nelson|-32|28go-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s|MST7
America/Glace_Bay America/Halifax America/Thule Atlantic/Bermuda|-12||AST4ADT,M3.2.0,M11.1.0
America/Godthab America/Nuuk|-12|2nlo-8 6p40-c 4jc0-8 6p40-c 4jc0-8 6p40-c 4r40-8 6hc0-c 4r40-8 6hc0-c 4r40-8 6hc0-c 4r40-8 6p40-c 4jc0-8 6p40-c 4jc0-8 6p40-c 4r40-8 6hc0-c 4r40-8 6hc0-c 4r40-8 6p40-c 4jc0-8 6p40-c 4jc0-8 6p40-8|<-02>2<-01>,M3.5.0/-1,M10.5.0/0
America/Goose_Bay|-16|286p-c 7cec-g 3w1o-c 76ub-c|AST4ADT,M3.2.0,M11.1.0
America/Grand_Turk|-20|28bo-g 7cec-k 3w1o-g 7cec-k 3w1o-g 7cec-k 3w1o-g 7cec-k 3w1o-g 7cec-k 3w1o-g xx40-g|EST5EDT,M3.2.0,M11.1.0
America/Havana Cuba|-20|288c-g 74o0-k 4bk0-g 7cg0-k 4bk0-g 6p40-k 3w00-g 7cg0-k 3w00-g 7cg0-k 3w00-g 7cg0-k 43s0-g 7cg0-k 3w00-g 7cg0-k 3w00-g 7cg0-k 3w00-g 7cg0-k 3w00-g 7cg0-k 43s0-g 7cg0-k 3w00-g 7cg0-k 3w00-g 7cg0-k 3w00-g 7cg0-k 3w00-g 7cg0-k 3w00-g iso0-k|CST5CDT,M3.2.0/0,M11.1.0/1
America/Indiana/Petersburg America/Indiana/Vincennes|-20||EST5EDT,M3.2.0,M11.1.0
America/Los_Angeles PST8PDT|-28||PST8PDT,M3.2.0,M11.1.0
America/Matamoros|-24|a0-o|CST6CDT,M3.2.0,M11.1.0
America/Mazatlan|-28|2vr0-o 6hac-s 4r5o-o 6hac-s 4r5o-o 6hac-s 4yxo-o 69ic-s 4yxo-o 69ic-s 4yxo-o 69ic-s 4yxo-o 6hac-s 4r5o-o 6hac-s 4r5o-o 6hac-s 4yxo-o 69ic-s 4yxo-o 69ic-s 4yxo-o 6hac-s 4r5o-o 6hac-s|MST7
America/Merida America/Mexico_City America/Monterrey|-24|2vpc-k 6hac-o 4r5o-k 6hac-o 4r5o-k 6hac-o 4yxo-k 69ic-o 4yxo-k 69ic-o 4yxo-k 69ic-o 4yxo-k 6hac-o 4r5o-k 6hac-o 4r5o-k 6hac-o 4yxo-k 69ic-o 4yxo-k 69ic-o 4yxo-k 6hac-o 4r5o-k 6hac-o|CST6
America/Metlakatla|-32|1tr4o-10 43to-w 7cec-10 3w1o-w 7cec-10 3w1o-w 7cec-w 2dk0-10|AKST9AKDT,M3.2.0,M11.1.0
America/Miquelon|-8||<-03>3<-02>,M3.2.0,M11.1.0
America/Moncton|-16||AST4ADT,M3.2.0,M11.1.0
America/Montevideo|-8|286o-c 69lo-8 4yuc-c 69lo-8 4yuc-c 6hdo-8 4r2c-c 6hdo-8 4r2c-c 6hdo-8 4r2c-c|<-03>3
America/Noronha Atlantic/South_Georgia|-8||<-02>2
America/North_Dakota/Beulah|-28|28f0-o 7cec-o|CST6CDT,M3.2.0,M11.1.0
America/Ojinaga|-28|28f0-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 43to-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 3w1o-o 7cec-s 43to-o 7cec-s 3w1o-o 74mc-o yco-o|CST6CDT,M3.2.0,M11.1.0
America/Port-au-Prince|-20|op7o-g 7cec-k 3w1o-g 7cec-k 3w1o-g 7cec-k 3w1o-g 7cec-k fc9o-g|EST5EDT,M3.2.0,M11.1.0
America/Punta_Arenas Antarctica/Palmer|-12|2vh0-g 5u1o-c 6hac-g 38po-c 7ryc-g 3w1o-c 7cec-g 43to-c 74mc-g 43to-c j0ec-g 2t5o-c 3gec-c|<-03>3
America/Rainy_River America/Winnipeg|-24|28dc-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 43to-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 43to-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-o 3w1o-k 7cec-k|EST5
America/Santiago|-12|2vh0-g 5u1o-c 6hac-g 38po-c 7ryc-g 3w1o-c 7cec-g 43to-c 74mc-g 43to-c j0ec-g 2t5o-c 8fac-g 2t5o-c 8fac-g 2t5o-c 7cec-g 4r5o-c 6hac-g 4r5o-c 6hac-g 4r5o-c 6hac-g 4yxo-c 69ic-g|<-04>4<-03>,M9.1.6/24,M4.1.6/24
America/Sao_Paulo|-8|1krc-c 7cho-8 3vyc-c 7cho-8 43qc-c 7cho-8 3o6c-c 7k9o-8 3o6c-c 7k9o-8 3vyc-c 7cho-8 3vyc-c 7cho-8 3vyc-c 7cho-8 3vyc-c 7zto-8 38mc-c|<-03>3
America/Scoresbysund|-4|2nlo+0 6p40-4 4jc0+0 6p40-4 4jc0+0 6p40-4 4r40+0 6hc0-4 4r40+0 6hc0-4 4r40+0 6hc0-4 4r40+0 6p40-4 4jc0+0 6p40-4 4jc0+0 6p40-4 4r40+0 6hc0-4 4r40+0 6hc0-4 4r40+0 6p40-4 4jc0+0 6p40-4 4jc0+0 6p40-4 4r40-4|<-02>2<-01>,M3.5.0/-1,M10.5.0/0
America/St_Johns|-14|285v-a 7cec-e 3w1o-a 76ub-a|NST3:30NDT,M3.2.0,M11.1.0
America/Vancouver|-32|28go-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 43to-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 43to-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-w 3w1o-s 7cec-s|MST7
Antarctica/Casey|44|1xl0+w il10+18 3lyc+w 1glac+18 fl5o+w 6hh0+18 4ypc+w 67h0+18 4t70+w 6hc1+18 4yqz+w 69p1+18 4yqz+w 69p1+18 4vjz+w|<+08>-8
Antarctica/Davis|20|24hc+s ie6c+k 3m1o+s|<+07>-7
Antarctica/DumontDUrville Pacific/Chuuk Pacific/Port_Moresby Pacific/Truk Pacific/Yap|40||<+10>-10
Antarctica/Macquarie|44|b91o+18|AEST-10AEDT,M10.1.0,M4.1.0/3
Antarctica/Mawson Asia/Aqtau Asia/Aqtobe Asia/Ashgabat Asia/Ashkhabad Asia/Atyrau Asia/Dushanbe Asia/Oral Asia/Samarkand Asia/Tashkent Indian/Kerguelen Indian/Maldives|20||<+05>-5
Antarctica/McMurdo Antarctica/South_Pole NZ Pacific/Auckland|52||NZST-12NZDT,M9.5.0,M4.1.0/3
Antarctica/Syowa Asia/Aden Asia/Baghdad Asia/Bahrain Asia/Kuwait Asia/Qatar Asia/Riyadh|12||<+03>-3
Antarctica/Troll|0||<+00>0<+02>-2,M3.5.0/1,M10.5.0/3
Antarctica/Vostok|28|4ddbo+k|<+05>-5
Asia/Almaty Asia/Qostanay|24|4fni0+k|<+05>-5
Asia/Amman|8|2l8o+c 6p40+8 4r40+c 6hc0+8 4r40+c jfyc+8 30xo+c 6p40+8 4jc0+c 6p40+8 4r40+c 6hc0+8 4r40+c 6hc0+8 4r40+c 6hc0+8 4r40+c 6hc0+8 4r40+c 6p40+8 4jc0+c 6p40+8 3o80+c 7k80+c|<+03>-3
Asia/Anadyr Asia/Kamchatka|48|2n3c+1c 6p5o+18 4jc0+1c|<+12>-12
Asia/Baku|16|2nk0+k 6p40+g 4jc0+k 6p40+g 4jc0+k 6p40+g 4r40+k 6hc0+g 4r40+k 6hc0+g 4r40+k 6hc0+g|<+04>-4
Asia/Bangkok Asia/Ho_Chi_Minh Asia/Phnom_Penh Asia/Saigon Asia/Vientiane Indian/Christmas|28||<+07>-7
Asia/Barnaul|24|2ndc+s 6p40+o 4jc0+s 14eec+o fzlo+s|<+07>-7
Asia/Beirut|12||EET-2EEST,M3.5.0/0,M10.5.0/0
Asia/Bishkek Asia/Dacca Asia/Dhaka Asia/Kashgar Asia/Thimbu Asia/Thimphu Asia/Urumqi Indian/Chagos|24||<+06>-6
Asia/Brunei Asia/Kuala_Lumpur Asia/Kuching Asia/Singapore Singapore|32||<+08>-8
Asia/Calcutta Asia/Kolkata|22||IST-5:30
Asia/Chita|36|2n8c+14 6p40+10 4jc0+14 14eec+w fznc+10|<+09>-9
Asia/Choibalsan Asia/Ulaanbaatar Asia/Ulan_Bator|32|1n060+10 5m30+w 5md0+10 5m30+w|<+08>-8
Asia/Chongqing Asia/Chungking Asia/Harbin Asia/Macao Asia/Macau Asia/Shanghai Asia/Taipei PRC ROC|32||CST-8
Asia/Colombo|22||<+0530>-5:30
Asia/Damascus|8|2t0o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4r5o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+c|<+03>-3
Asia/Dili Pacific/Palau|36||<+09>-9
Asia/Dubai Asia/Muscat Asia/Tbilisi Indian/Mahe Indian/Mauritius Indian/Reunion|16||<+04>-4
Asia/Famagusta|8|2nlo+c 6p40+8 4jc0+c 6p40+8 4jc0+c 6p40+8 4r40+c 6hc0+8 4r40+c 6hc0+8 4r40+c 6hc0+8 4r40+c 535c+c cueo+8|EET-2EEST,M3.5.0/3,M10.5.0/4
Asia/Gaza|8|2mcp+c 486b+8 76xp+c 3rib+8 7gxo+c 5eg0+8 5u00+c 5m6c+8 5m9o+c 6hac+8 4s9o+c 6g80+8 4s9o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4q00+c 6iec+8 4r5o+c 6hc0+8 4r40+c 6o00+8 4lk0+c 6o1o+8 5m9o+c 5m6c+8 5eho+c 5tyc+8 56po+c 61qc+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4r5o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4r5o+c 69ic+8 4yxo+c 61qc+8 56po+c 5m6c+8 5m9o+c 5eec+8 5u1o+c 4yuc+8 1iho+c 7qc+8 4r5o+c 4jac+8 1apo+c nac+8 4r5o+c 4bic+8 1apo+c v2c+8 4r5o+c 3vyc+8 1iho+c 12uc+8 4r5o+c 3o6c+8 1apo+c 1q6c+8 4jdo+c 3gec+8 1apo+c 1xyc+8 4jdo+c 30uc+8 1iho+c 25qc+8 4r5o+c 2lac+8 1apo+c 2lac+8 4r5o+c 25qc+8 1iho+c 2t2c+8 4r5o+c 1xyc+8 1apo+c 3gec+8 4jdo+c 1q6c+8 1apo+c 3o6c+8 4jdo+c 1amc+8 1iho+c 3vyc+8 4r5o+c v2c+8 1apo+c 4bic+8 4r5o+c fic+8 1iho+c 4jac+8 4r5o+c 7qc+8 1iho+c 4r2c+8 61to+c 5eec+8 5m9o+c 5m6c+8 56po+c 61qc+8 4yxo+c 69ic+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4r5o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6hac+8 4yxo+c 61qc+8 56po+c 5tyc+8 5eho+c 5eec+8 5u1o+c 56mc+8 1apo+c 7qc+8 4jdo+c 4yuc+8 1apo+c fic+8 4jdo+c 4jac+8 1iho+c nac+8 4r5o+c 43qc+8 1apo+c 12uc+8 4r5o+c 3o6c+8 1iho+c 1amc+8 4r5o+c 3gec+8 1iho+c 1q6c+8 4jdo+c 38mc+8 1apo+c 25qc+8 4jdo+c 2t2c+8 1iho+c 2dic+8 4r5o+c 2dic+8 1apo+c 2t2c+8 4r5o+c 25qc+8 1apo+c 30uc+8 4r5o+c 1q6c+8 1iho+c 38mc+8 4r5o+c 1iec+8 1apo+c 3vyc+8 4jdo+c 12uc+8 1iho+c 43qc+8 4jdo+c v2c+8 1iho+c 4bic+8 4r5o+c fic+8 1apo+c 4r2c+8|EET-2EEST,M3.4.4/50,M10.4.4/50
Asia/Hebron|8|2l8o+c 49ac+8 76xp+c 3rib+8 w9o+c yec+8 5m9o+c 5eg0+8 5u00+c 5m6c+8 5m9o+c 6hac+8 4s9o+c 6g80+8 4s9o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4q00+c 6iec+8 4r5o+c 6hc0+8 4r40+c 6o00+8 4lk0+c 6o1o+8 5m9o+c 5m6c+8 5eho+c 5tyc+8 56po+c 61qc+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4r5o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4r5o+c 69ic+8 4yxo+c 61qc+8 56po+c 5m6c+8 5m9o+c 5eec+8 5u1o+c 4yuc+8 1iho+c 7qc+8 4r5o+c 4jac+8 1apo+c nac+8 4r5o+c 4bic+8 1apo+c v2c+8 4r5o+c 3vyc+8 1iho+c 12uc+8 4r5o+c 3o6c+8 1apo+c 1q6c+8 4jdo+c 3gec+8 1apo+c 1xyc+8 4jdo+c 30uc+8 1iho+c 25qc+8 4r5o+c 2lac+8 1apo+c 2lac+8 4r5o+c 25qc+8 1iho+c 2t2c+8 4r5o+c 1xyc+8 1apo+c 3gec+8 4jdo+c 1q6c+8 1apo+c 3o6c+8 4jdo+c 1amc+8 1iho+c 3vyc+8 4r5o+c v2c+8 1apo+c 4bic+8 4r5o+c fic+8 1iho+c 4jac+8 4r5o+c 7qc+8 1iho+c 4r2c+8 61to+c 5eec+8 5m9o+c 5m6c+8 56po+c 61qc+8 4yxo+c 69ic+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6p2c+8 4r5o+c 6hac+8 4r5o+c 6hac+8 4r5o+c 6p2c+8 4jdo+c 6p2c+8 4jdo+c 6hac+8 4yxo+c 61qc+8 56po+c 5tyc+8 5eho+c 5eec+8 5u1o+c 56mc+8 1apo+c 7qc+8 4jdo+c 4yuc+8 1apo+c fic+8 4jdo+c 4jac+8 1iho+c nac+8 4r5o+c 43qc+8 1apo+c 12uc+8 4r5o+c 3o6c+8 1iho+c 1amc+8 4r5o+c 3gec+8 1iho+c 1q6c+8 4jdo+c 38mc+8 1apo+c 25qc+8 4jdo+c 2t2c+8 1iho+c 2dic+8 4r5o+c 2dic+8 1apo+c 2t2c+8 4r5o+c 25qc+8 1apo+c 30uc+8 4r5o+c 1q6c+8 1iho+c 38mc+8 4r5o+c 1iec+8 1apo+c 3vyc+8 4jdo+c 12uc+8 1iho+c 43qc+8 4jdo+c v2c+8 1iho+c 4bic+8 4r5o+c fic+8 1apo+c 4r2c+8|EET-2EEST,M3.4.4/50,M10.4.4/50
Asia/Hong_Kong Hongkong|32||HKT-8
Asia/Hovd|28|1n07o+w 5m30+s 5md0+w 5m30+s|<+07>-7
Asia/Irkutsk|32|2na0+10 6p40+w 4jc0+10 14eec+w|<+08>-8
Asia/Istanbul Europe/Istanbul Turkey|8|2nlo+c 6p40+8 4kg0+c 6o00+8 4jc0+c 6p40+8 4r40+c 6hc0+8 4s80+c 6g80+8 4r40+c 6ww0+8 4bk0+c 521c+c|<+03>-3
Asia/Jakarta Asia/Pontianak|28||WIB-7
Asia/Jayapura|36||WIT-9
Asia/Jerusalem Asia/Tel_Aviv Israel|8|2lc0+c 58uc+8 67do+c 5oec+8 5k1o+c 5gmc+8 5rto+c|IST-2IDT,M3.4.4/26,M10.5.0
Asia/Kabul|18||<+0430>-4:30
Asia/Karachi|20||PKT-5
Asia/Kathmandu Asia/Katmandu|23||<+0545>-5:45
Asia/Khandyga|40|2n6o+18 6p40+14 4jc0+18 58r0+14 z5p0+10|<+09>-9
Asia/Krasnoyarsk|28|2nbo+w 6p40+s 4jc0+w 14eec+s|<+07>-7
Asia/Magadan|44|2n50+1c 6p40+18 4jc0+1c 14eec+14 gurc+18|<+11>-11
Asia/Makassar Asia/Ujung_Pandang|32||WITA-8
Asia/Manila|32||PST-8
Asia/Nicosia EET Europe/Athens Europe/Helsinki Europe/Kiev Europe/Kyiv Europe/Mariehamn Europe/Nicosia Europe/Uzhgorod Europe/Zaporozhye|12||EET-2EEST,M3.5.0/3,M10.5.0/4
Asia/Novokuznetsk|28|2nbo+s 6p5o+o 4jc0+s|<+07>-7
Asia/Novosibirsk|24|2ndc+s 6p40+o 4jc0+s 14eec+o jnto+s|<+07>-7
Asia/Omsk|24|2ndc+s 6p40+o 4jc0+s 14eec+o|<+06>-6
Asia/Pyongyang|36|1rbl0+y uog0+10|KST-9
Asia/Qyzylorda|24|2t3q0+k|<+05>-5
Asia/Rangoon Asia/Yangon Indian/Cocos|26||<+0630>-6:30
Asia/Sakhalin|40|2n6o+18 6p40+14 4jc0+18 14eec+14 fzlo+18|<+11>-11
Asia/Seoul ROK|36||KST-9
Asia/Srednekolymsk|44|2n50+1c 6p40+18 4jc0+1c 14eec+18|<+11>-11
Asia/Tehran Iran|14|2gq6+i 5oec+e 5l5o+i 5oec+e 5l5o+i 5oec+e 5m9o+i 5oec+e 5l5o+i 5oec+e 5l5o+i 5oec+e 5l5o+i 5oec+e 5m9o+i 5oec+e 5l5o+i 5oec+e 5l5o+i 5oec+e 5l5o+i 5oec+e 5m9o+i 5oec+e 5l5o+i 5oec+e|<+0330>-3:30
Asia/Tokyo Japan|36||JST-9
Asia/Tomsk|24|2ndc+s 6p40+o 4jc0+s 14eec+o hxlo+s|<+07>-7
Asia/Ust-Nera|44|2n50+1c 6p40+18 4jc0+1c 58r0+18 z5p0+14|<+10>-10
Asia/Vladivostok|40|2n6o+18 6p40+14 4jc0+18 14eec+14|<+10>-10
Asia/Yakutsk|36|2n8c+14 6p40+10 4jc0+14 14eec+10|<+09>-9
Asia/Yekaterinburg|20|2nf0+o 6p40+k 4jc0+o 14eec+k|<+05>-5
Asia/Yerevan|16|2ngo+k 6p40+g 4jc0+k 6p40+g|<+04>-4
Atlantic/Azores|0||<-01>1<+00>,M3.5.0/0,M10.5.0/1
Atlantic/Canary Atlantic/Faeroe Atlantic/Faroe Atlantic/Madeira Europe/Lisbon Portugal WET|4||WET0WEST,M3.5.0/1,M10.5.0
Atlantic/Cape_Verde|-4||<-01>1
Atlantic/Stanley|-12|3b4c-g 4blo-c|<-03>3
Australia/ACT Australia/Canberra Australia/Melbourne Australia/NSW Australia/Sydney Australia/Victoria|40||AEST-10AEDT,M10.1.0,M4.1.0/3
Australia/Adelaide Australia/Broken_Hill Australia/South Australia/Yancowinna|38||ACST-9:30ACDT,M10.1.0,M4.1.0/3
Australia/Brisbane Australia/Lindeman Australia/Queensland|40||AEST-10
Australia/Currie Australia/Hobart Australia/Tasmania|44||AEST-10AEDT,M10.1.0,M4.1.0/3
Australia/Darwin Australia/North|38||ACST-9:30
Australia/Eucla|35||<+0845>-8:45
Australia/LHI Australia/Lord_Howe|42||<+1030>-10:30<+11>-11,M10.1.0,M4.1.0
Australia/Perth Australia/West|32||AWST-8
Eire Europe/Dublin|4||IST-1GMT0,M10.5.0,M3.5.0/1
Europe/Astrakhan Europe/Ulyanovsk|12|2nic+g 6p40+c 4jc0+g 14eec+c fzlo+g|<+04>-4
Europe/Belfast Europe/Guernsey Europe/Isle_of_Man Europe/Jersey Europe/London GB GB-Eire|0||GMT0BST,M3.5.0/1,M10.5.0
Europe/Bucharest Europe/Riga Europe/Sofia Europe/Tallinn Europe/Vilnius|8||EET-2EEST,M3.5.0/3,M10.5.0/4
Europe/Chisinau Europe/Tiraspol|8|2nk0+c 6p40+8 4jc0+c 6p40+8 4jc0+c 6p40+8 4r40+c 6hc0+8 4r40+c 6hc0+8 4r40+c 6hc0+8 4r40+c 6p40+8 4jc0+c 6p40+8 4jc0+c 6p40+8 4r40+c 6hc0+8 4r40+c 6hc0+8 4r40+c 6p40+8 1wso+8|EET-2EEST,M3.5.0/3,M10.5.0/4
Europe/Kaliningrad|8|2nk0+c 6p40+8 4jc0+c 14eec+8|EET-2
Europe/Kirov Europe/Moscow W-SU|12|2nic+g 6p40+c 4jc0+g 14eec+c|MSK-3
Europe/Minsk|8|2nk0+c 6p40+8 4jc0+c|<+03>-3
Europe/Samara|16|2ngo+g 6p5o+c 4jc0+g|<+04>-4
Europe/Saratov|12|2nic+g 6p40+c 4jc0+g 14eec+c nrlo+g|<+04>-4
Europe/Simferopol|8|2nlo+c 6p40+8 4jc0+c 6p40+8 4jc0+c 6p40+8 4r40+c 6hc0+8 4r2c+g 6h8o+c|MSK-3
Europe/Volgograd|12|2nic+g 6p40+c 4jc0+g 14eec+c 195lo+g oeuc+c|MSK-3
HST Pacific/Honolulu Pacific/Johnston|-40||HST10
Kwajalein Pacific/Funafuti Pacific/Kwajalein Pacific/Majuro Pacific/Nauru Pacific/Tarawa Pacific/Wake Pacific/Wallis|48||<+12>-12
NZ-CHAT Pacific/Chatham|55||<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45
Pacific/Apia|-44|8aac-14 5t10-18 5eg0-14 2zlc+1k 2ueo+1g 5m80+1k 5u00+1g 5eg0+1k 5u00+1g 5eg0+1k 5u00+1g 5eg0+1k 5u00+1g 5eg0+1k 5u00+1g 5eg0+1k 5u00+1g 5m80+1k 5u00+1g 5eg0+1k 5u00+1g 5eg0+1k 5u00+1g|<+13>-13
Pacific/Bougainville|40|1k82o+18|<+11>-11
Pacific/Easter|-20|2vh0-o 5u1o-k 6hac-o 38po-k 7ryc-o 3w1o-k 7cec-o 43to-k 74mc-o 43to-k j0ec-o 2t5o-k 8fac-o 2t5o-k 8fac-o 2t5o-k 7cec-o 4r5o-k 6hac-o 4r5o-k 6hac-o 4r5o-k 6hac-o 4yxo-k 69ic-o|<-06>6<-05>,M9.1.6/22,M4.1.6/22
Pacific/Efate Pacific/Guadalcanal Pacific/Kosrae Pacific/Noumea Pacific/Pohnpei Pacific/Ponape|44||<+11>-11
Pacific/Enderbury Pacific/Kanton|52||<+13>-13
Pacific/Fakaofo|-44|mhec+1g|<+13>-13
Pacific/Fiji|52|2n3c+1c 6hc0+1g 43s0+1c 74o0+1g 2t40+1c 8fc0+1g 2t40+1c 8n40+1g 2lac+1c 8uxo+1g 2dk0+1c 8uw0+1g 2dk0+1c 92o0+1g 25s0+1c 92o0+1g 25s0+1c 92o0+1g 25s0+1c 9ag0+1g 1y00+1c al40+1g v40+1c|<+12>-12
Pacific/Galapagos|-24||<-06>6
Pacific/Gambier|-36||<-09>9
Pacific/Guam Pacific/Saipan|40||ChST-10
Pacific/Kiritimati|56||<+14>-14
Pacific/Marquesas|-38||<-0930>9:30
Pacific/Midway Pacific/Pago_Pago Pacific/Samoa|-44||SST11
Pacific/Niue|-44||<-11>11
Pacific/Norfolk|46|1sv46+18 165pi+18|<+11>-11<+12>,M10.1.0,M4.1.0/3
Pacific/Pitcairn|-32||<-08>8
Pacific/Rarotonga Pacific/Tahiti|-40||<-10>10
Pacific/Tongatapu|52|256do+1k 25s0+1g|<+13>-13
UCT UTC Universal Zulu|0||UTC0`;

return answer();

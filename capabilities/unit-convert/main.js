// A unit is a factor to its quantity's base unit and its other names; for temperatures also the offset of its zero, in its own degrees;
// "per" where it counts the other way round, as L/100km does.
const QUANTITIES = {
  length: {
    m: [1, "meter metre 米 公尺"], km: [1000, "kilometer kilometre 公里 千米"], dm: [0.1, "decimeter decimetre 分米"],
    cm: [0.01, "centimeter centimetre 厘米 公分"], mm: [0.001, "millimeter millimetre 毫米"], "µm": [1e-6, "um micrometer micrometre micron 微米"],
    nm: [1e-9, "nanometer nanometre 纳米"], in: [0.0254, "inch inches 英寸"], ft: [0.3048, "foot feet 英尺"], yd: [0.9144, "yard 码"],
    mi: [1609.344, "mile 英里"], nmi: [1852, "nauticalmile 海里"], au: [149597870700, "astronomicalunit 天文单位"],
    ly: [9460730472580800, "lightyear 光年"],
    "里": [500, "市里"], "尺": [1 / 3, "市尺"], "寸": [1 / 30, "市寸"],
  },
  mass: {
    kg: [1, "kilogram kilogramme kilo 公斤 千克"], g: [0.001, "gram gramme 克"], mg: [1e-6, "milligram 毫克"], "µg": [1e-9, "ug mcg microgram 微克"],
    t: [1000, "tonne metricton 吨 公吨"], lb: [0.45359237, "lbs pound 磅"], oz: [0.028349523125, "ounce 盎司"], st: [6.35029318, "stone 英石"],
    "short ton": [907.18474, "uston"], "long ton": [1016.0469088, "ukton imperialton"], ct: [0.0002, "carat 克拉"], "斤": [0.5, "市斤"],
    "两": [0.05, "市两"],
  },
  temperature: {
    C: [1, "°c celsius centigrade degc degreecelsius degreescelsius 摄氏度 摄氏", 273.15],
    F: [5 / 9, "°f fahrenheit degf degreefahrenheit degreesfahrenheit 华氏度 华氏", 459.67],
    K: [1, "kelvin °k 开尔文 开氏度", 0], R: [5 / 9, "°r rankine degr", 0],
  },
  volume: {
    L: [1, "liter litre 升 公升"], mL: [0.001, "milliliter millilitre cc 毫升"], cL: [0.01, "centiliter centilitre"],
    dL: [0.1, "deciliter decilitre"],
    m3: [1000, "cubicmeter cubicmetre cbm 立方米"], cm3: [0.001, "cubiccentimeter cubiccentimetre 立方厘米"],
    in3: [0.016387064, "cubicinch cubicinches"],
    ft3: [28.316846592, "cubicfoot cubicfeet 立方英尺"], gal: [3.785411784, "gallon usgallon 加仑"], qt: [0.946352946, "quart"],
    pt: [0.473176473, "pint"],
    cup: [0.2365882365, "uscup 杯"], "fl oz": [0.0295735295625, "fluidounce 液量盎司"], tbsp: [0.01478676478125, "tablespoon 汤匙"],
    tsp: [0.00492892159375, "teaspoon 茶匙"], "imp gal": [4.54609, "imperialgallon ukgallon ukgal"],
    "imp pt": [0.56826125, "imperialpint ukpint"], bbl: [158.987294928, "barrel 桶"],
  },
  area: {
    m2: [1, "sqm squaremeter squaremetre 平方米 平米"], km2: [1e6, "sqkm squarekilometer squarekilometre 平方公里 平方千米"],
    cm2: [1e-4, "sqcm squarecentimeter squarecentimetre 平方厘米"], mm2: [1e-6, "sqmm squaremillimeter squaremillimetre"],
    ha: [10000, "hectare 公顷"],
    acre: [4046.8564224, "ac 英亩"], ft2: [0.09290304, "sqft squarefoot squarefeet 平方英尺"],
    in2: [0.00064516, "sqin squareinch squareinches 平方英寸"],
    yd2: [0.83612736, "sqyd squareyard"], mi2: [2589988.110336, "sqmi squaremile 平方英里"], "亩": [2000 / 3, "mu"],
  },
  speed: {
    "m/s": [1, "mps meterpersecond meterspersecond metrepersecond metrespersecond 米每秒 米/秒"],
    "km/h": [1 / 3.6, "kmh kph kmph kilometerperhour kilometersperhour kilometreperhour kilometresperhour 公里每小时 公里/小时 千米每小时 时速"],
    mph: [0.44704, "mi/h mileperhour milesperhour 英里每小时 英里/小时"], "ft/s": [0.3048, "fps footpersecond feetpersecond"],
    kn: [1852 / 3600, "kt knot 节"], "km/s": [1000, "kilometerpersecond kilometerspersecond 公里每秒"], "speed of light": [299792458, "光速"],
  },
  time: {
    s: [1, "sec second 秒"], ms: [0.001, "millisecond 毫秒"], "µs": [1e-6, "us microsecond 微秒"], ns: [1e-9, "nanosecond 纳秒"],
    min: [60, "minute 分钟"],
    h: [3600, "hr hour 小时"], d: [86400, "day 天 日"], week: [604800, "wk 周 星期"], fortnight: [1209600, ""], month: [2629746, "mo 月 个月"],
    year: [31556952, "yr 年"],
    decade: [315569520, ""], century: [3155695200, "centuries 世纪"],
  },
  data: {
    B: [8, "byte 字节"], kB: [8e3, "kilobyte"], MB: [8e6, "megabyte 兆字节 兆"], GB: [8e9, "gigabyte"], TB: [8e12, "terabyte"],
    PB: [8e15, "petabyte"],
    KiB: [8192, "kibibyte"], MiB: [8 * 2 ** 20, "mebibyte"], GiB: [8 * 2 ** 30, "gibibyte"], TiB: [8 * 2 ** 40, "tebibyte"],
    PiB: [8 * 2 ** 50, "pebibyte"],
    bit: [1, "b 比特 位"], kbit: [1e3, "kilobit"], Mbit: [1e6, "Mb megabit"], Gbit: [1e9, "Gb gigabit"], Tbit: [1e12, "Tb terabit"],
    Kibit: [1024, "kibibit"], Mibit: [2 ** 20, "mebibit"],
    Gibit: [2 ** 30, "gibibit"],
  },
  pressure: {
    Pa: [1, "pascal 帕 帕斯卡"], hPa: [100, "hectopascal 百帕"], kPa: [1000, "kilopascal 千帕"], MPa: [1e6, "megapascal 兆帕"], bar: [1e5, "巴"],
    mbar: [100, "millibar 毫巴"],
    atm: [101325, "atmosphere 大气压"], psi: [6894.757293168361, "poundpersquareinch poundspersquareinch"],
    mmHg: [133.322387415, "millimeterofmercury 毫米汞柱"],
    torr: [101325 / 760, ""], inHg: [3386.389, "inchofmercury inchesofmercury"],
  },
  energy: {
    J: [1, "joule 焦 焦耳"], kJ: [1000, "kilojoule 千焦"], MJ: [1e6, "megajoule 兆焦"], cal: [4.184, "calorie 卡 卡路里"],
    kcal: [4184, "kilocalorie foodcalorie 大卡 千卡"],
    Wh: [3600, "watthour 瓦时"], kWh: [3.6e6, "kilowatthour 千瓦时 度电"], MWh: [3.6e9, "megawatthour 兆瓦时"],
    BTU: [1055.05585262, "britishthermalunit"],
    eV: [1.602176634e-19, "electronvolt 电子伏"], "ft-lb": [1.3558179483314004, "footpound ftlbf"],
  },
  power: {
    W: [1, "watt 瓦 瓦特"], mW: [0.001, "milliwatt 毫瓦"], kW: [1000, "kilowatt 千瓦"], MW: [1e6, "megawatt 兆瓦"], GW: [1e9, "gigawatt 吉瓦"],
    hp: [745.6998715822702, "horsepower 英制马力"], PS: [735.49875, "metrichorsepower 马力 公制马力"],
  },
  force: {
    N: [1, "newton 牛 牛顿"], kN: [1000, "kilonewton 千牛"], lbf: [4.4482216152605, "poundforce"], kgf: [9.80665, "kilogramforce kp 千克力 公斤力"],
    dyn: [1e-5, "dyne 达因"],
  },
  frequency: {
    Hz: [1, "hertz 赫 赫兹"], kHz: [1000, "kilohertz 千赫"], MHz: [1e6, "megahertz 兆赫"], GHz: [1e9, "gigahertz 吉赫"],
    rpm: [1 / 60, "revolutionperminute revolutionsperminute 转每分钟 转/分"],
  },
  "fuel economy": {
    "km/L": [1, "kmpl kilometerperliter kilometersperliter kilometreperlitre kilometresperlitre 公里每升 公里/升"],
    "L/100km": [100, "literper100km litersper100km litreper100km litresper100km 升每百公里 百公里油耗 升/百公里", "per"],
    mpg: [0.425143707430272, "milepergallon milespergallon"], "imp mpg": [0.354006189934647, "ukmpg"],
  },
  angle: {
    deg: [1, "° degree 度"], rad: [180 / Math.PI, "radian 弧度"], mrad: [0.18 / Math.PI, "milliradian"], grad: [0.9, "gon gradian"],
    arcmin: [1 / 60, "arcminute minuteofarc 角分"], arcsec: [1 / 3600, "arcsecond secondofarc 角秒"], turn: [360, "revolution rev 圈"],
  },
};

const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

// How a name is compared: without spaces, dots and hyphens, m² as m2.
const squeezed = (name) => name.normalize("NFKC").replace(/μ/g, "µ").replace(/[\s._-]/g, "").replace(/\^/g, "");

// The exact spelling first, because Mb is not MB; then without regard to case, where the first unit keeps a name.
const exact = new Map(), loose = new Map();
for (const [quantity, members] of Object.entries(QUANTITIES)) {
  for (const [symbol, [factor, others, zero = 0]] of Object.entries(members)) {
    const unit = { quantity, symbol, factor, zero };
    for (const name of `${symbol.replace(/[ -]/g, "")} ${others}`.trim().split(" ")) {
      exact.set(name, unit);
      if (!loose.has(name.toLowerCase())) loose.set(name.toLowerCase(), unit);
    }
  }
}

function find(name) {
  const spelling = squeezed(name), plain = spelling.toLowerCase();
  return exact.get(spelling) ?? loose.get(plain) ?? (/..s$/.test(plain) ? loose.get(plain.slice(0, -1)) : undefined);
}

function unknown(name, other) {
  const [what, table] = other ? [`units of ${other.quantity}`, QUANTITIES[other.quantity]] : ["quantities", QUANTITIES];
  return invalid(`unknown unit "${name.slice(0, 40)}"; ${what}: ${Object.keys(table).join(" ")}`);
}

function converted(value, from, to) {
  if ((from.zero === "per") !== (to.zero === "per")) {
    if (value <= 0) throw invalid(`${value} ${from.symbol} has no counterpart: give a number above 0`);
    return Number((from.zero === "per" ? from.factor / value / to.factor : to.factor / (value * from.factor)).toPrecision(12));
  }
  if (from.zero === "per") return value;
  const base = (value + from.zero) * from.factor;
  if (from.quantity === "temperature" && base < 0) throw invalid(`${value} ${from.symbol} is below absolute zero`);
  const result = base / to.factor - to.zero;
  const tidy = Number(result.toPrecision(12));
  return from.zero || to.zero ? Number(tidy.toFixed(10)) : tidy; // the difference of two offsets leaves noise
}

const [from, to] = [find(input.from), find(input.to)];
if (!from) throw unknown(input.from, to);
if (!to) throw unknown(input.to, from);
if (from.quantity !== to.quantity) {
  throw invalid(`${from.symbol} is a unit of ${from.quantity} and ${to.symbol} one of ${to.quantity}: they do not convert`);
}
const value = converted(input.value, from, to);
if (!Number.isFinite(value)) throw invalid("the result is too large");
return { value, unit: to.symbol };

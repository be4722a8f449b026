// What money becomes with compound interest, what payments of other years are worth now (net present value), and the rate at which
// they are worth nothing (internal rate of return). A payment stands at the end of its period; the first flow stands at the start.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const TAKES = { growth: ["principal", "rate", "years", "contribution", "per_year"], npv: ["rate", "flows"], irr: ["flows"] };
const NEEDS = { growth: ["rate", "years"], npv: ["rate", "flows"], irr: ["flows"] };

function shown(value) {
  if (!Number.isFinite(value)) throw invalid("the result is too large for a number");
  return Number(value.toFixed(2)) + 0;
}
const percent = (share) => Number((share * 100).toFixed(6)) + 0;

function growth({ principal = 0, rate, years, contribution = 0, per_year = 12 }) {
  const each = rate / 100 / per_year, periods = years * per_year;
  if (Math.abs(periods - Math.round(periods)) > 1e-9) throw invalid("years have to be whole periods: with per_year = 12, 2.5 years are 30 months");
  const factor = Math.exp(periods * Math.log1p(each)), sum = each === 0 ? periods : Math.expm1(periods * Math.log1p(each)) / each;
  const value = principal * factor + contribution * sum, paid = principal + contribution * periods;
  const effective = percent(Math.expm1(per_year * Math.log1p(each)));
  return { value: shown(value), contributed: shown(paid), gain: shown(value - paid), effective_rate: effective };
}

// Horner's scheme from the last payment on.
const present = (flows, factor) => flows.reduceRight((sum, flow) => sum / factor + flow, 0);

// Every rate from -99.99 % on at which the present value changes its sign, on a fine grid of factors, each narrowed by halving.
function rates(flows) {
  const found = [], value = (step) => present(flows, Math.exp(step));
  let low = Math.log(0.0001), before = value(low);
  for (let i = 1; i <= 400; i++) {
    const high = Math.log(0.0001) + (i * Math.log(1e7)) / 400, after = value(high);
    if (after === 0 || before * after < 0 || (Math.sign(before) !== Math.sign(after) && before !== 0)) found.push(narrowed(value, low, high, Math.sign(before)));
    [low, before] = [high, after];
  }
  return found.map((step) => percent(Math.expm1(step)));
}

function narrowed(value, low, high, sign) {
  for (let i = 0; i < 80; i++) {
    const middle = (low + high) / 2;
    if (Math.sign(value(middle)) === sign) low = middle;
    else high = middle;
  }
  return high;
}

function irr({ flows }) {
  if (!flows.some((flow) => flow > 0) || !flows.some((flow) => flow < 0)) throw invalid("flows need money paid (negative) and money received (positive)");
  const [first, ...others] = rates(flows);
  if (first === undefined) throw invalid("there is no rate of return between -99.99 % and 99900 % a period");
  if (others.length) throw invalid(`there is no single rate of return: ${[first, ...others].join(" %, ")} % all fit; use npv with a rate of your own`);
  return { irr: first };
}

const { calculate, ...given } = input;
const lacking = NEEDS[calculate].find((name) => given[name] === undefined), extra = Object.keys(given).find((name) => !TAKES[calculate].includes(name));
if (lacking) throw invalid(`${calculate} needs ${NEEDS[calculate].join(" and ")}`);
if (extra) throw invalid(`${calculate} takes ${TAKES[calculate].join(", ")}, not ${extra}`);
if (calculate === "growth" && given.principal === undefined && given.contribution === undefined) throw invalid("growth needs principal or contribution: the money that grows");
if (calculate === "growth") return growth(given);
if (calculate === "irr") return irr(given);
return { npv: shown(present(given.flows, 1 + given.rate / 100)) };

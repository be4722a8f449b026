// A loan that is paid back in equal months. Interest of a month is rounded to cents, as banks book it, and the last payment takes what
// is left; so the payments add up to the cent. Money is counted in whole cents.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const cents = (money) => Math.round(money * 100), money = (cents) => Number((cents / 100).toFixed(2));
const MOST_MONTHS = 1200;

const { amount, rate, months, payment, extra, schedule } = input;
const monthly = rate / 1200, owed = cents(amount);
if ((months === undefined) === (payment === undefined)) throw invalid("give months, to get the payment, or payment, to get the months: one of them");

// The annuity: what, paid at the end of each month, pays everything back in that many months.
function annuity() {
  if (monthly === 0) return Math.ceil(owed / months);
  return Math.max(1, Math.round((owed * monthly) / -Math.expm1(-months * Math.log1p(monthly))));
}

const regular = payment === undefined ? annuity() : cents(payment);
const first = Math.round(owed * monthly);
if (regular + cents(extra) <= first) throw invalid(`a payment of ${money(regular + cents(extra))} never pays it back: the first month's interest alone is ${money(first)}`);

const rows = [];
let balance = owed, interest = 0, paid = 0, last = 0;
while (balance > 0) {
  if (rows.length === MOST_MONTHS) throw invalid("it takes more than 100 years: pay more a month");
  const due = Math.round(balance * monthly), final = rows.length + 1 === months;
  last = final ? balance + due : Math.min(balance + due, regular + cents(extra));
  balance += due - last;
  interest += due;
  paid += last;
  rows.push({ month: rows.length + 1, payment: last, interest: due, principal: last - due, balance });
}

// Twelve months as one row; the last year may be shorter.
function yearly() {
  const years = [];
  for (let at = 0; at < rows.length; at += 12) {
    const year = rows.slice(at, at + 12), sum = (name) => year.reduce((total, row) => total + row[name], 0);
    years.push({ year: at / 12 + 1, payment: sum("payment"), interest: sum("interest"), principal: sum("principal"), balance: year.at(-1).balance });
  }
  return years;
}

const inMoney = (row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, /month|year/.test(name) ? value : money(value)]));
const answer = { payment: money(regular), months: rows.length, last_payment: money(last), total_paid: money(paid), total_interest: money(interest) };
if (schedule === "none") return answer;
return { ...answer, schedule: (schedule === "yearly" ? yearly() : rows).map(inMoney) };

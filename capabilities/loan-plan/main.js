// A loan that is paid back in equal months. Interest of a month is rounded to cents, as banks book it, and the last payment takes what
// is left; so the payments add up to the cent. Money is counted in whole cents.
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
const cents = (money) => Math.round(money * 100), money = (cents) => Number((cents / 100).toFixed(2));
const MOST_MONTHS = 1200;

const { amount, rate, months, payment, extra, schedule } = input;
const monthly = rate / 1200, owed = cents(amount);
if ((months === undefined) === (payment === undefined)) throw invalid("give months, to get the payment, or payment, to get the months: one of them");

// The annuity: what, paid at the end of each month, pays everything back in that many months; to the nearest cent.
function annuity() {
  if (monthly === 0) return Math.ceil(owed / months);
  return Math.max(1, Math.round((owed * monthly) / -Math.expm1(-months * Math.log1p(monthly))));
}

// Every month with what is paid then, the last of `months` with all that is left.
function repaid(regular) {
  const rows = [];
  for (let balance = owed; balance > 0; ) {
    if (rows.length === MOST_MONTHS) throw invalid("it takes more than 100 years: pay more a month");
    const due = Math.round(balance * monthly), final = rows.length + 1 === months;
    const paid = final ? balance + due : Math.min(balance + due, regular + cents(extra));
    balance += due - paid;
    rows.push({ month: rows.length + 1, payment: paid, interest: due, principal: paid - due, balance });
  }
  return rows;
}

const given = payment === undefined ? annuity() : cents(payment), first = Math.round(owed * monthly);
// Over many months what rounding took from the annuity may grow to more than a payment: then a cent more is paid each month.
const isShort = payment === undefined && repaid(given).at(-1).payment > 2 * given, regular = isShort ? given + 1 : given;
if (regular + cents(extra) <= first) throw invalid(`a payment of ${money(regular + cents(extra))} never pays it back: the first month's interest alone is ${money(first)}`);
const rows = repaid(regular), sum = (name, rows) => rows.reduce((total, row) => total + row[name], 0);

// Twelve months as one row; the last year may be shorter.
function yearly() {
  const years = [];
  for (let at = 0; at < rows.length; at += 12) {
    const year = rows.slice(at, at + 12);
    years.push({ year: at / 12 + 1, payment: sum("payment", year), interest: sum("interest", year), principal: sum("principal", year), balance: year.at(-1).balance });
  }
  return years;
}

const inMoney = (row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, /month|year/.test(name) ? value : money(value)]));
const answer = { payment: money(regular), months: rows.length, last_payment: money(rows.at(-1).payment), total_paid: money(sum("payment", rows)), total_interest: money(sum("interest", rows)) };
if (schedule === "none") return answer;
return { ...answer, schedule: (schedule === "yearly" ? yearly() : rows).map(inMoney) };

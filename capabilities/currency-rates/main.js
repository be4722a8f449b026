// Reference rates of the European Central Bank, one set each working day, from frankfurter.dev (which needs no key).
const BASE = "https://api.frankfurter.dev/v1/";
const fails = (code, message) => Object.assign(new Error(message), { code });
const rounded = (number) => Number(number.toPrecision(10));

const { amount, date } = input, from = input.from.toUpperCase();
const wanted = [...new Set(input.to.toUpperCase().split(/[\s,]+/).filter(Boolean))];
const odd = [from, ...wanted].find((code) => !/^[A-Z]{3}$/.test(code));
if (odd !== undefined) throw fails("EINVAL", `${JSON.stringify(odd)} is no currency: write codes of three letters, such as EUR, USD or CNY`);
if (date !== undefined && new Date(date).toJSON()?.slice(0, 10) !== date) throw fails("EINVAL", `${date} is no date: write it as 2024-03-28`);
const others = wanted.filter((code) => code !== from);

const same = wanted.includes(from) ? { [from]: { rate: 1, value: amount } } : {};
if (wanted.length && !others.length) return { from, amount, to: same };

const response = await fetch(`${BASE}${date ?? "latest"}?base=${from}${others.length ? `&symbols=${others.join(",")}` : ""}`);
if (response.status === 404 || response.status === 422) throw fails("ENOENT", `there is no rate from ${from} to ${others.join(", ") || "others"}${date ? ` on ${date}` : ""}: the ECB has about 30 currencies, from 1999-01-04 on`);
if (response.status === 429) throw fails("ENET", "frankfurter.dev has been asked too often for now (429): try again later");
if (!response.ok) throw fails("ENET", `frankfurter.dev answered ${response.status}: try again later`);
const { date: day, rates } = (await response.json().catch(() => null)) ?? {};
if (typeof rates !== "object" || rates === null || typeof day !== "string") throw fails("ENET", "frankfurter.dev answered something else than rates: try again later");
const isRate = (code) => /^[A-Z]{3}$/.test(code) && Object.hasOwn(rates, code) && typeof rates[code] === "number" && rates[code] > 0;
const missing = others.filter((code) => !isRate(code));
if (missing.length) throw fails("ENOENT", `there is no rate for ${missing.join(", ")}`);

const converted = Object.keys(rates).filter(isRate).map((code) => [code, { rate: rates[code], value: rounded(amount * rates[code]) }]);
return { from, amount, date: day, to: { ...same, ...Object.fromEntries(converted) } };

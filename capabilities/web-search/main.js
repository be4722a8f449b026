// Results of the first search engine that is set up and answers: SearXNG, Brave, Tavily, Bocha. Without any of them: Wikipedia's and GDELT's own
// searches, which need no key and are not the whole web; the answer says so.
const AGENT = "Mozilla/5.0 (compatible; Uncaged)";
const TITLE = 200, SNIPPET = 400, ADDRESS = 1_000, PROBLEM = 160;
const { query, count, recent, language } = input;
const fails = (code, message) => Object.assign(new Error(message), { code });
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", "#39": "'", "#039": "'", "#x27": "'" };

function plain(value, most) {
  const text = typeof value === "string" ? value.slice(0, 5_000) : "";
  return text.replace(/<\/?[a-z][^<>]{0,200}>/gi, "").replace(/&(#?\w{2,6});/g, (whole, name) => ENTITIES[name] ?? whole).replace(/\s+/g, " ").trim().slice(0, most);
}

// What a service sent is looked at like any other text from outside: only web addresses, once each, and nothing long.
function resultsOf(items, read) {
  const results = new Map();
  for (const item of Array.isArray(items) ? items : []) {
    if (typeof item !== "object" || item === null || results.size >= count) continue;
    const { title, url, snippet, published, source } = read(item);
    if (typeof url !== "string" || url.length > ADDRESS || !/^https?:\/\/[^\s]+$/i.test(url) || results.has(url)) continue;
    const result = { title: plain(title, TITLE) || url, url, snippet: plain(snippet, SNIPPET) };
    if (typeof published === "string" && published) result.published = plain(published, 40);
    if (source) result.source = source;
    results.set(url, result);
  }
  return [...results.values()];
}

async function ask(name, url, options) {
  const response = await fetch(url, options);
  const body = await response.text();
  if (response.status === 401 || (response.status === 403 && name !== "SearXNG")) throw fails("EACCES", `${name} refused the key (${response.status})`);
  if (response.status === 403) throw fails("EACCES", "SearXNG does not answer in JSON (403): its settings.yml has to list json under search.formats");
  if (response.status === 402 || response.status === 429) throw fails("ENET", `${name} has been asked too often, or its allowance is used up (${response.status})`);
  if (!response.ok) throw fails("ENET", `${name} did not answer (${response.status})`);
  try {
    return JSON.parse(body);
  } catch {
    throw fails("ENET", `${name} answered with something else than results`);
  }
}

const address = (base, parameters) => `${base}?${Object.entries(parameters).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
const sent = (value, key) => ({ method: "POST", headers: { "Content-Type": "application/json", "User-Agent": AGENT, Authorization: `Bearer ${key}` }, body: JSON.stringify(value) });
const since = (names) => (recent === "any" ? undefined : names[recent]);

const ENGINES = {
  async SearXNG() {
    const time_range = since({ day: "day", week: "week", month: "month", year: "year" });
    const { results } = await ask("SearXNG", address("https://searxng.invalid/search", { q: query, format: "json", time_range, language }));
    return resultsOf(results, ({ title, url, content, publishedDate }) => ({ title, url, snippet: content, published: publishedDate }));
  },
  async Brave() {
    const freshness = since({ day: "pd", week: "pw", month: "pm", year: "py" });
    const url = address("https://api.search.brave.com/res/v1/web/search", { q: query, count, freshness, search_lang: language });
    const { web } = await ask("Brave", url, { headers: { Accept: "application/json", "User-Agent": AGENT, "X-Subscription-Token": "{{BRAVE_API_KEY}}" } });
    return resultsOf(web?.results, ({ title, url, description, page_age }) => ({ title, url, snippet: description, published: page_age }));
  },
  async Tavily() {
    const body = { query, max_results: count, time_range: since({ day: "day", week: "week", month: "month", year: "year" }) };
    const { results } = await ask("Tavily", "https://api.tavily.com/search", sent(body, "{{TAVILY_API_KEY}}"));
    return resultsOf(results, ({ title, url, content, published_date }) => ({ title, url, snippet: content, published: published_date }));
  },
  async Bocha() {
    const body = { query, count, summary: true, freshness: since({ day: "oneDay", week: "oneWeek", month: "oneMonth", year: "oneYear" }) ?? "noLimit" };
    const answer = await ask("Bocha", "https://api.bochaai.com/v1/web-search", sent(body, "{{BOCHA_API_KEY}}"));
    const pages = (answer.data ?? answer).webPages?.value;
    return resultsOf(pages, ({ name, url, snippet, summary, datePublished }) => ({ title: name, url, snippet: summary || snippet, published: datePublished }));
  },
};

// ---- without an engine

const SCRIPTS = { zh: /\p{Script=Han}/u, ja: /[\p{Script=Hiragana}\p{Script=Katakana}]/u, ko: /\p{Script=Hangul}/u, ru: /\p{Script=Cyrillic}/u, ar: /\p{Script=Arabic}/u };
const spoken = language ?? Object.keys(SCRIPTS).filter((each) => SCRIPTS[each].test(query)).at(-1) ?? "en";

async function askWikipedia() {
  const base = `https://${spoken}.wikipedia.org`;
  const answer = await ask("Wikipedia", address(`${base}/w/api.php`, { action: "query", list: "search", srsearch: query, srlimit: count, format: "json", utf8: 1 }));
  const page = (title) => `${base}/wiki/${encodeURIComponent(String(title).replaceAll(" ", "_"))}`;
  return resultsOf(answer.query?.search, ({ title, snippet, timestamp }) => ({ title, url: page(title), snippet, published: timestamp, source: "Wikipedia" }));
}

async function askNews() {
  const timespan = { day: "1d", week: "1w", month: "1m" }[recent] ?? "3months";
  const { articles } = await ask("GDELT", address("https://api.gdeltproject.org/api/v2/doc/doc", { query, mode: "artlist", format: "json", sort: "datedesc", maxrecords: count, timespan }));
  const dayOf = (seen) => String(seen ?? "").replace(/^(\d{4})(\d\d)(\d\d)T.*$/, "$1-$2-$3");
  return resultsOf(articles, ({ title, url, seendate, domain }) => ({ title, url, snippet: domain, published: dayOf(seendate), source: "news" }));
}

const problems = [];
const isMissing = ({ code, message }) => code === "ENOENT" || (code === "EPERM" && /is not set/.test(message));

async function tryAsking(search) {
  try {
    return await search();
  } catch (problem) {
    // What waits for an owner, and a day that is used up, are for the caller to know; another engine would not help.
    if (problem.code === "ERATE" || (problem.code === "EPERM" && !isMissing(problem))) throw problem;
    if (!isMissing(problem)) problems.push(String(problem.message ?? problem).slice(0, PROBLEM));
    return null;
  }
}

const told = () => (problems.length ? ` Not asked with success: ${problems.join("; ")}.` : "");

for (const [engine, search] of Object.entries(ENGINES)) {
  const results = await tryAsking(search);
  if (!results) continue;
  const shown = { query, engine, results };
  const note = `${results.length ? "" : "Nothing was found."}${told()}`.trim();
  return note ? { ...shown, note } : shown;
}

const news = await tryAsking(askNews), articles = recent === "any" || recent === "year" ? await tryAsking(askWikipedia) : [];
if (!news && !articles?.length) throw fails("ENET", `no search engine is set up, and the keyless searches did not answer: ${problems.join("; ")}`.slice(0, 290));
const half = Math.max(count - (articles ?? []).length, Math.ceil(count / 2));
const results = [...(news ?? []).slice(0, half), ...(articles ?? [])].slice(0, count);
const scope = "No search engine is set up, so these are news of at most three months (GDELT) and Wikipedia articles, not the whole web; much is missing.";
const way = "An owner can add one: SIGIL_SEARXNG, or `sigil secret set BRAVE_API_KEY` (or TAVILY_API_KEY, BOCHA_API_KEY).";
return { query, engine: "none", results, note: `${scope} ${way}${results.length ? "" : " Nothing was found."}${told()}` };

// URLs as the WHATWG standard reads them: the engine's own URL does it.
const PORTS = { http: 80, https: 443, ws: 80, wss: 443, ftp: 21 };
const { url: text, base, query = {}, keep_query: keepQuery, set = {} } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });

function parsed() {
  try {
    return base === undefined ? new URL(text) : new URL(text, base);
  } catch {
    const isRelative = base === undefined && !/^[a-z][a-z\d+.-]*:/i.test(text.trim());
    if (isRelative) throw invalid("this is no whole URL: write its scheme (https://…), or give base, which it is relative to");
    throw invalid("this is no URL: look at its host, port and percent signs");
  }
}

const isUsual = (url, port) => Number(port) === PORTS[url.protocol.slice(0, -1)];

// A setter of URL passes over what it cannot take; whoever asked for it has to know.
const LANDED = {
  protocol: (url, value) => ((url.protocol = value), url.protocol.slice(0, -1) === value.toLowerCase().replace(/:$/, "")),
  host: (url, value) => !/[/?#@\\]/.test(value) && ((url.hostname = value), url.hostname === new URL(`${url.protocol}//${value}`).host),
  port: (url, value) => ((url.port = value), url.port === (value === "" || isUsual(url, value) ? "" : String(Number(value)))),
  path: (url, value) => ((url.pathname = value), url.pathname !== "/" || /^\/?(\.{0,2}\/?)*$/.test(value)),
  fragment: (url, value) => ((url.hash = value), true),
  username: (url, value) => ((url.username = value), (url.username === "") === (value === "")),
  password: (url, value) => ((url.password = value), (url.password === "") === (value === "")),
};

function change(url, part, value) {
  try {
    if (LANDED[part](url, value)) return;
  } catch {
    // a host that is none
  }
  throw invalid(`${part} cannot be ${JSON.stringify(value.slice(0, 40).toWellFormed())} in ${url.protocol} URLs`);
}

function changeQuery(url) {
  if (!keepQuery) url.search = "";
  for (const [name, value] of Object.entries(query)) {
    const values = value === null ? [] : [value].flat().map(String), all = url.searchParams;
    if (values.length) all.set(name, values[0]);
    else all.delete(name);
    for (const more of values.slice(1)) all.append(name, more);
  }
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that starts no UTF-8
  }
}

function grouped(pairs) {
  const found = new Map();
  for (const [name, value] of pairs) found.has(name) ? found.get(name).push(value) : found.set(name, [value]);
  return Object.fromEntries([...found].map(([name, values]) => [name, values.length > 1 ? values : values[0]]));
}

const url = parsed();
for (const [part, value] of Object.entries(set)) change(url, part, value);
changeQuery(url);
const protocol = url.protocol.slice(0, -1), port = Number(url.port) || PORTS[protocol];
return {
  url: url.href, protocol, host: url.hostname, ...(port ? { port } : {}),
  path: url.pathname, segments: url.pathname.split("/").filter(Boolean).map(decoded),
  query: grouped(url.searchParams), fragment: decoded(url.hash.slice(1)),
  ...(url.username ? { username: decoded(url.username) } : {}), ...(url.password ? { password: decoded(url.password) } : {}),
};

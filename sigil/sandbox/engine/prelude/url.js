// URL and URLSearchParams (WHATWG URL) over the records of address.js.

function formDecode(text) {
  return percentDecode(text.replaceAll("+", " "));
}

function formEncode(value) {
  const text = unicode(value);
  if (/^[*\-._0-9A-Za-z]*$/.test(text)) return text;
  let out = "";
  for (const byte of encodeText(text)) {
    const c = String.fromCharCode(byte);
    out += byte === 0x20 ? "+" : /[*\-._0-9A-Za-z]/.test(c) ? c : hexByte(byte);
  }
  return out;
}

function parseForm(text) {
  return text.split("&").filter(Boolean).map((pair) => {
    const at = pair.indexOf("=");
    return at < 0 ? [formDecode(pair), ""] : [formDecode(pair.slice(0, at)), formDecode(pair.slice(at + 1))];
  });
}

function formPairs(init) {
  if (init === undefined || init === null) return [];
  if (typeof init !== "object") return parseForm(`${init}`.replace(/^\?/, ""));
  if (typeof init[Symbol.iterator] !== "function") return entries(init).map(([name, value]) => [unicode(name), unicode(value)]);
  return Array.from(init, (pair) => {
    const both = [...pair];
    if (both.length !== 2) throw new TypeError("a parameter is a pair of name and value");
    return both.map(unicode);
  });
}

class URLSearchParams {
  #pairs;
  #changed = () => {};

  constructor(init) {
    this.#pairs = formPairs(init);
  }

  // Those of a URL tell it what changes.
  static of(text, changed) {
    const made = new URLSearchParams(text);
    made.#changed = () => changed(made.toString());
    return made;
  }

  static refresh(params, text) {
    params.#pairs = parseForm(text);
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    this.#pairs.push([unicode(name), unicode(value)]);
    this.#changed();
  }

  delete(name, value) {
    this.#pairs = this.#pairs.filter(([n, v]) => n !== unicode(name) || (value !== undefined && v !== unicode(value)));
    this.#changed();
  }

  get(name) {
    return this.#pairs.find(([n]) => n === unicode(name))?.[1] ?? null;
  }

  getAll(name) {
    return this.#pairs.filter(([n]) => n === unicode(name)).map(([, value]) => value);
  }

  has(name, value) {
    return this.#pairs.some(([n, v]) => n === unicode(name) && (value === undefined || v === unicode(value)));
  }

  set(name, value) {
    const first = this.#pairs.findIndex(([n]) => n === unicode(name));
    if (first < 0) return this.append(name, value);
    this.#pairs[first][1] = unicode(value);
    this.#pairs = this.#pairs.filter(([n], i) => i <= first || n !== unicode(name));
    this.#changed();
  }

  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed();
  }

  forEach(visit, self) {
    for (const [name, value] of this) apply(visit, self, [value, name, this]);
  }

  *entries() {
    for (let i = 0; i < this.#pairs.length; i++) yield [...this.#pairs[i]];
  }

  *keys() {
    for (const [name] of this) yield name;
  }

  *values() {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    return this.#pairs.map(([name, value]) => `${formEncode(name)}=${formEncode(value)}`).join("&");
  }
}

const { of: linkedParams, refresh: refreshParams } = URLSearchParams;
delete URLSearchParams.of;
delete URLSearchParams.refresh;

function recordOf(text, base) {
  const from = base === undefined ? null : parseUrl(`${base}`, null);
  return base !== undefined && from === null ? null : parseUrl(`${text}`, from);
}

class URL {
  #url;
  #params = null;

  constructor(text, base) {
    const record = recordOf(text, base);
    if (!record) throw new TypeError(`Invalid URL: ${stringify(`${text}`)}`);
    this.#url = record;
  }

  static canParse(text, base) {
    return recordOf(text, base) !== null;
  }

  static parse(text, base) {
    return URL.canParse(text, base) ? new URL(text, base) : null;
  }

  get href() {
    return urlText(this.#url);
  }

  set href(text) {
    this.#url = new URL(text).#url;
    this.#refresh();
  }

  get origin() {
    const { scheme, path } = this.#url;
    if (scheme === "blob") return /^https?:/i.test(path) && URL.canParse(path) ? new URL(path).origin : "null";
    return isSpecial(this.#url) && scheme !== "file" ? `${scheme}://${hostText(this.#url)}` : "null";
  }

  get protocol() {
    return `${this.#url.scheme}:`;
  }

  set protocol(text) {
    const scheme = /^([A-Za-z][A-Za-z0-9+.-]*)(:|$)/.exec(`${text}`)?.[1].toLowerCase();
    const url = this.#url;
    if (!scheme || isSpecial({ scheme }) !== isSpecial(url) || (scheme === "file" && (url.username || url.password || url.port !== null))) return;
    if (url.scheme === "file" && url.host === "") return;
    url.scheme = scheme;
    if (url.port === PORTS[scheme]) url.port = null;
  }

  get username() {
    return this.#url.username;
  }

  set username(text) {
    if (this.#url.host && this.#url.scheme !== "file") this.#url.username = percentEncode(`${text}`, USERINFO);
  }

  get password() {
    return this.#url.password;
  }

  set password(text) {
    if (this.#url.host && this.#url.scheme !== "file") this.#url.password = percentEncode(`${text}`, USERINFO);
  }

  get host() {
    return hostText(this.#url);
  }

  set host(text) {
    const url = this.#url, end = isSpecial(url) ? /[/\\?#].*$/s : /[/?#].*$/s;
    const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?/.exec(`${text}`.replace(/[\t\n\r]/g, "").replace(end, ""));
    const busy = url.username !== "" || url.password !== "" || url.port !== null;
    if (typeof url.path === "string" || (host === "" && (isSpecial(url) || busy))) return;
    const parsed = host === "" ? "" : parseHost(host, isSpecial(url)), number = parsePort(port ?? "", url);
    if (parsed === null) return;
    url.host = parsed;
    if (port && number !== undefined && url.scheme !== "file") url.port = number;
  }

  get hostname() {
    return this.#url.host ?? "";
  }

  set hostname(text) {
    if (/^(\[[^\]]*\]|[^:]*)$/.test(`${text}`)) this.host = text;
  }

  get port() {
    return this.#url.port === null ? "" : `${this.#url.port}`;
  }

  set port(text) {
    const url = this.#url, port = parsePort(/^\d*/.exec(`${text}`)[0], url);
    if (url.host && url.scheme !== "file" && port !== undefined && /^(\d|$)/.test(`${text}`)) url.port = port;
  }

  get pathname() {
    return pathText(this.#url);
  }

  set pathname(text) {
    if (typeof this.#url.path === "string") return;
    const path = `${text}`.replace(/[\t\n\r]/g, "");
    this.#url.path = [];
    if (path !== "" || isSpecial(this.#url) || this.#url.host === null) parsePath(this.#url, path);
  }

  get search() {
    return this.#url.query ? `?${this.#url.query}` : "";
  }

  set search(text) {
    const query = `${text}`.replace(/^\?/, "");
    this.#url.query = `${text}` === "" ? null : percentEncode(query, isSpecial(this.#url) ? SPECIAL_QUERY : QUERY);
    this.#refresh();
  }

  get searchParams() {
    this.#params ??= linkedParams(`?${this.#url.query ?? ""}`, (query) => {
      this.#url.query = query === "" ? null : query;
    });
    return this.#params;
  }

  get hash() {
    return this.#url.fragment ? `#${this.#url.fragment}` : "";
  }

  set hash(text) {
    this.#url.fragment = `${text}` === "" ? null : percentEncode(`${text}`.replace(/^#/, ""), FRAGMENT);
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }

  #refresh() {
    if (this.#params) refreshParams(this.#params, this.#url.query ?? "");
  }
}

defineClass(URLSearchParams);
defineClass(URL);

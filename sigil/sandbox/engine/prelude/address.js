// The URL parser (WHATWG URL, "basic URL parser"), as functions from text to records:
// { scheme, username, password, host, port, path, query, fragment }; host null: none; path a string: opaque.

const PORTS = { "http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "file": null };
const FRAGMENT = ' "<>`', QUERY = ' "#<>', SPECIAL_QUERY = `${QUERY}'`, PATH = `${QUERY}?^\`{}`, USERINFO = `${PATH}/:;=@[\\]|`;
const DRIVE = /^[A-Za-z][:|]$/, STARTS_WITH_DRIVE = /^[A-Za-z][:|]([/\\]|$)/;

function isSpecial(url) {
  return Object.hasOwn(PORTS, url.scheme);
}

// A port number, null for the scheme's own or none, undefined for what is no port.
function parsePort(text, url) {
  if (!/^\d*$/.test(text)) return undefined;
  const port = Number(text);
  if (port > 65535) return undefined;
  return text === "" || port === PORTS[url.scheme] ? null : port;
}

function parseHostAndPort(url, text) {
  const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text) ?? [];
  if (host === undefined || (host === "" && (isSpecial(url) || text !== ""))) return false;
  url.host = host === "" ? "" : parseHost(host, isSpecial(url));
  url.port = parsePort(port, url);
  return url.host !== null && url.port !== undefined;
}

// Reads user:password@host:port from `text`, which begins behind the slashes; answers the path behind it, or null.
function parseAuthority(url, text) {
  const end = text.search(isSpecial(url) ? /[/\\]/ : /\//), authority = end < 0 ? text : text.slice(0, end);
  const at = authority.lastIndexOf("@"), host = authority.slice(at + 1);
  if (at >= 0) {
    const [, username, password = ""] = /^([^:]*)(?::(.*))?$/s.exec(authority.slice(0, at));
    url.username = percentEncode(username, USERINFO);
    url.password = percentEncode(password, USERINFO);
    if (host === "") return null;
  }
  return parseHostAndPort(url, host) ? text.slice(authority.length) : null;
}

function shorten(url) {
  if (url.scheme === "file" && url.path.length === 1 && /^[A-Za-z]:$/.test(url.path[0])) return;
  url.path.pop();
}

// Goes on from url.path with `text`, one leading slash left out.
function parsePath(url, text) {
  const special = isSpecial(url), rest = text[0] === "/" || (special && text[0] === "\\") ? text.slice(1) : text;
  const segments = rest.split(special ? /[/\\]/ : "/");
  segments.forEach((segment, i) => {
    const last = i === segments.length - 1, dots = segment.replace(/%2e/gi, ".");
    if (dots === "..") shorten(url);
    if (dots === ".." || dots === ".") {
      if (last) url.path.push("");
      return;
    }
    const drive = url.scheme === "file" && !url.path.length && DRIVE.test(segment);
    url.path.push(drive ? `${segment[0]}:` : percentEncode(segment, PATH));
  });
}

function parseFile(url, text, base) {
  const from = base?.scheme === "file" ? base : null;
  url.host = "";
  if (/^[/\\]{2}/.test(text)) return parseFileHost(url, text.slice(2));
  if (/^[/\\]/.test(text)) {
    if (from) {
      url.host = from.host;
      if (!STARTS_WITH_DRIVE.test(text.slice(1)) && /^[A-Za-z]:$/.test(from.path[0])) url.path = [from.path[0]];
    }
    parsePath(url, text);
    return true;
  }
  if (from) {
    Object.assign(url, { host: from.host, path: [...from.path] });
    if (text === "") return inheritQuery(url, from);
    if (STARTS_WITH_DRIVE.test(text)) url.path = [];
    else shorten(url);
  }
  parsePath(url, text);
  return true;
}

function parseFileHost(url, text) {
  const end = text.search(/[/\\]/), host = end < 0 ? text : text.slice(0, end);
  if (DRIVE.test(host)) {
    parsePath(url, text);
    return true;
  }
  url.host = host === "" ? "" : parseHost(host, true);
  if (url.host === null) return false;
  if (url.host === "localhost") url.host = "";
  parsePath(url, text.slice(host.length));
  return true;
}

function inheritQuery(url, base) {
  url.query ??= base.query;
  return true;
}

function parseRelative(url, text, base) {
  const special = isSpecial(base), slashes = special ? /^[/\\]/ : /^\//;
  url.scheme = base.scheme;
  if ((special ? /^[/\\]{2}/ : /^\/\//).test(text)) return parseHierarchy(url, text);
  const { username, password, host, port } = base;
  Object.assign(url, { username, password, host, port });
  if (slashes.test(text)) {
    parsePath(url, text);
    return true;
  }
  url.path = [...base.path];
  if (text === "") return inheritQuery(url, base);
  shorten(url);
  parsePath(url, text);
  return true;
}

// What follows "scheme:" or stands for it: an authority and a path.
function parseHierarchy(url, text) {
  const special = isSpecial(url);
  const path = parseAuthority(url, special ? text.replace(/^[/\\]*/, "") : text.slice(2));
  if (path === null) return false;
  if (special || path !== "") parsePath(url, path);
  return true;
}

function parseRest(url, text, base) {
  if (url.scheme === "file") return parseFile(url, text, base);
  if (isSpecial(url)) {
    if (base?.scheme === url.scheme && !text.startsWith("//")) return parseRelative(url, text, base);
    return parseHierarchy(url, text);
  }
  if (text.startsWith("//")) return parseHierarchy(url, text);
  if (text[0] === "/") parsePath(url, text);
  else url.path = percentEncode(text, "").replace(/ $/, "%20");
  return true;
}

function parseWithoutScheme(url, text, base, bare) {
  if (!base) return false;
  if (typeof base.path === "string") {
    Object.assign(url, { scheme: base.scheme, path: base.path, query: base.query });
    return bare;
  }
  if (base.scheme !== "file") return parseRelative(url, text, base);
  url.scheme = "file";
  return parseFile(url, text, base);
}

// The record of a URL, or null. `base` is a record.
function parseUrl(input, base) {
  const text = unicode(input).replace(/^[\0-\x20]+|[\0-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  const [, whole, query, fragment] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
  const url = { scheme: "", username: "", password: "", host: null, port: null, path: [], query: null, fragment: null };
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(whole)?.[0];
  if (scheme) url.scheme = scheme.slice(0, -1).toLowerCase();
  const special = scheme ? isSpecial(url) : base && isSpecial(base);
  if (query !== undefined) url.query = percentEncode(query, special ? SPECIAL_QUERY : QUERY);
  if (fragment !== undefined) url.fragment = percentEncode(fragment, FRAGMENT);
  const bare = whole === "" && query === undefined && fragment !== undefined;
  const good = scheme ? parseRest(url, whole.slice(scheme.length), base) : parseWithoutScheme(url, whole, base, bare);
  return good ? url : null;
}

function pathText(url) {
  return typeof url.path === "string" ? url.path : url.path.map((segment) => `/${segment}`).join("");
}

function hostText(url) {
  return url.host === null ? "" : url.port === null ? url.host : `${url.host}:${url.port}`;
}

function urlText(url) {
  const secret = url.password === "" ? "" : `:${url.password}`;
  const user = url.username === "" && secret === "" ? "" : `${url.username}${secret}@`;
  const rooted = typeof url.path !== "string" && url.path.length > 1 && url.path[0] === "";
  const authority = url.host === null ? (rooted ? "/." : "") : `//${user}${hostText(url)}`;
  const query = url.query === null ? "" : `?${url.query}`, fragment = url.fragment === null ? "" : `#${url.fragment}`;
  return `${url.scheme}:${authority}${pathText(url)}${query}${fragment}`;
}

// fetch, Headers and Response (WHATWG Fetch), as much as a capability needs. The host decides which requests are granted:
// http.fetch takes { url, method, headers: [[name, value]], body: base64 or null } and gives { url, status, headers, body }.

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const NO_BODY = [101, 204, 205, 304];

function headerName(name) {
  if (!TOKEN.test(`${name}`)) throw new TypeError(`${stringify(`${name}`)} is no header name`);
  return `${name}`.toLowerCase();
}

function headerValue(value) {
  const text = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\r\n]/.test(text) || /[^\0-\xff]/.test(text)) throw new TypeError(`${stringify(text)} is no header value`);
  return text;
}

class Headers {
  #values = new Map();

  constructor(init) {
    if (init === undefined || init === null) return;
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }

  append(name, value) {
    const key = headerName(name);
    this.#values.set(key, [...(this.#values.get(key) ?? []), headerValue(value)]);
  }

  set(name, value) {
    this.#values.set(headerName(name), [headerValue(value)]);
  }

  get(name) {
    return this.#values.get(headerName(name))?.join(", ") ?? null;
  }

  getSetCookie() {
    return [...(this.#values.get("set-cookie") ?? [])];
  }

  has(name) {
    return this.#values.has(headerName(name));
  }

  delete(name) {
    this.#values.delete(headerName(name));
  }

  forEach(visit, self) {
    for (const [name, value] of this) apply(visit, self, [value, name, this]);
  }

  *entries() {
    for (const name of [...this.#values.keys()].sort()) {
      const values = this.#values.get(name);
      if (name === "set-cookie") for (const value of values) yield [name, value];
      else yield [name, values.join(", ")];
    }
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
}

// [bytes, content type that goes with them] of what may be a body; [null, null] of none.
function bodyOf(body) {
  if (body === undefined || body === null) return [null, null];
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return [bytesOf(body).slice(), null];
  const type = body instanceof URLSearchParams ? "application/x-www-form-urlencoded;charset=UTF-8" : "text/plain;charset=UTF-8";
  return [encodeText(unicode(body)), type];
}

class Response {
  #bytes;
  #used = false;

  constructor(body, { status = 200, statusText = "", headers } = {}) {
    if (!(status >= 200 && status <= 599)) throw new RangeError(`${status} is no status of a response`);
    const [bytes, type] = bodyOf(body);
    if (bytes && NO_BODY.includes(status)) throw new TypeError(`a response with status ${status} has no body`);
    this.#bytes = bytes;
    this.status = floor(status);
    this.statusText = `${statusText}`;
    this.headers = new Headers(headers);
    this.url = "";
    this.redirected = false;
    this.type = "default";
    if (type && !this.headers.has("content-type")) this.headers.set("content-type", type);
  }

  static json(value, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(stringify(value), { ...init, headers });
  }

  get ok() {
    return this.status >= 200 && this.status <= 299;
  }

  get bodyUsed() {
    return this.#used;
  }

  #take() {
    if (this.#used) throw new TypeError("the body was read already");
    this.#used = this.#bytes !== null;
    return this.#bytes ?? new Uint8Array(0);
  }

  async bytes() {
    return this.#take().slice();
  }

  async arrayBuffer() {
    return this.#take().slice().buffer;
  }

  async text() {
    return new TextDecoder().decode(this.#take());
  }

  async json() {
    return parse(new TextDecoder().decode(this.#take()));
  }

  clone() {
    if (this.#used) throw new TypeError("the body was read already");
    const { status, statusText, headers, url } = this;
    return Object.assign(new Response(this.#bytes, { status, statusText, headers }), { url });
  }

  // A response that a capability returns is its body: JSON when it says so, else text.
  toJSON() {
    const text = new TextDecoder().decode(this.#take());
    return /^application\/([\w.-]+\+)?json\b/i.test(this.headers.get("content-type") ?? "") ? parse(text) : text;
  }
}

function requestOf(resource, init) {
  const [body, type] = bodyOf(init.body);
  const method = `${init.method ?? "GET"}`;
  if (!TOKEN.test(method)) throw new TypeError(`${stringify(method)} is no method`);
  if (body && /^(get|head)$/i.test(method)) throw new TypeError(`a ${method} request has no body`);
  const headers = new Headers(init.headers);
  if (type && !headers.has("content-type")) headers.set("content-type", type);
  const upper = /^(delete|get|head|options|patch|post|put)$/i.test(method) ? method.toUpperCase() : method;
  return { url: new URL(resource).href, method: upper, headers: [...headers], body: body && body.toBase64() };
}

async function fetch(resource, init = {}) {
  const { url, status, headers, body } = ask("http.fetch", requestOf(resource, init));
  const bytes = NO_BODY.includes(status) ? null : Uint8Array.fromBase64(body ?? "");
  return Object.assign(new Response(bytes, { status, headers }), { url, type: "basic" });
}

defineClass(Headers);
defineClass(Response);
define("fetch", fetch);

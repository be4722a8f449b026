// Headers (WHATWG Fetch): names in lower case, values joined, sorted when they are listed.

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

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
    if (typeof init === "object" && #values in init) {
      for (const [name, values] of init.#values) this.#values.set(name, [...values]);
      return;
    }
    const pairs = typeof init[Symbol.iterator] === "function" ? init : entries(init);
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

defineClass(Headers);

// The author's `env`: a store of texts and other capabilities, each answered by the host where it is granted.

const { freeze } = Object;

function textOf(value) {
  if (typeof value === "string") return value;
  throw new TypeError("KV.put stores a string: JSON.stringify what is not one, or take its base64");
}

function ttlOf(options) {
  if (options?.expiration !== undefined) throw new TypeError("KV.put takes expirationTtl, in seconds from now, and no expiration");
  return options?.expirationTtl === undefined ? {} : { ttl: options.expirationTtl };
}

function kvValue(value, as) {
  const kind = typeof as === "object" ? as?.type ?? "text" : as;
  if (kind !== "text" && kind !== "json") throw new TypeError(`KV.get gives "text" or "json", not ${stringify(kind)}`);
  return value === null || kind === "text" ? value : parse(value);
}

const KV = {
  async get(key, as = "text") {
    return kvValue(ask("kv.get", { key: `${key}` }).value, as);
  },
  async getWithMetadata(key, as = "text") {
    return { value: await KV.get(key, as), metadata: null };
  },
  async put(key, value, options) {
    ask("kv.put", { key: `${key}`, value: textOf(value), ...ttlOf(options) });
  },
  async list(options) {
    const { prefix, limit, cursor } = options ?? {};
    const page = ask("kv.list", { prefix, limit, cursor: cursor ?? undefined });
    const complete = page.cursor === null;
    return { keys: page.keys, list_complete: complete, ...(complete ? {} : { cursor: page.cursor }) };
  },
  async delete(key) {
    ask("kv.delete", { key: `${key}` });
  },
};

async function call(name, input = {}) {
  return ask("call", { name: `${name}`, input });
}

const env = freeze({ KV: freeze(KV), call });

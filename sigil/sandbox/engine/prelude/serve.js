// A module as a capability: `export default { async fetch(request, env, ctx) { … } }`, or a function that is called as a body would be.

const NO_HANDLER = "what is exported is neither a function nor an object with a fetch method";

const EMPTY = new Request("https://capability/", { method: "POST", headers: { "content-type": "application/json" } });
const LONGEST_PARAMETER = 1000; // a longer one is in the body alone

function queryOf(input) {
  const pairs = [];
  for (const [name, value] of entries(input ?? {}))
    for (const item of isArray(value) ? value : [value])
      if (item !== null && typeof item !== "object" && `${item}`.length <= LONGEST_PARAMETER) pairs.push(`${formEncode(name)}=${formEncode(item)}`);
  return pairs.length ? `?${pairs.join("&")}` : "";
}

// The request that stands for an input: a POST of it as JSON, with what fits into a query there as well.
function requestOf(input) {
  const request = new Request(EMPTY, { body: new Typed(encodeText(stringify(input)), null) });
  request.url += queryOf(input);
  return request;
}

async function answered(handler, input) {
  const waiting = [];
  const ctx = { waitUntil: (promise) => void waiting.push(promise), passThroughOnException() {} };
  const response = await apply(handler.fetch, handler, [requestOf(input), env, ctx]);
  for (let i = 0; i < waiting.length; i++) {
    try {
      await waiting[i];
    } catch {} // it is not what was asked for
  }
  return response;
}

// The hook of shim.c: `loaded` settles when the module has run, `exported` is its namespace.
async function serve(loaded, exported, input) {
  await loaded;
  const handler = exported.default ?? exported[keys(exported)[0]];
  if (typeof handler === "object" && typeof handler?.fetch === "function") return answered(handler, input);
  const entry = entryOf(handler, true);
  if (!entry) throw failure("EMODULE", NO_HANDLER);
  return enter(entry, input);
}

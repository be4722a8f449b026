// fetch, Request and Response (WHATWG Fetch), as much as a capability needs. The host decides which requests are granted: http.fetch takes
// { url, method, headers: [[name, value]], body: base64 or null, redirect }, gives { url, redirected, status, statusText, headers, body }.

const NO_BODY = [101, 204, 205, 304];
const JSON_TYPE = /^application\/([\w.-]+\+)?json\b/i;

class Response extends Body {
  constructor(body, init) {
    const { status = 200, statusText = "", headers } = init ?? {};
    if (!(status >= 200 && status <= 599)) throw new RangeError(`${status} is no status of a response`);
    const [bytes, type] = bodyOf(body);
    if (bytes && NO_BODY.includes(status)) throw new TypeError(`a response with status ${status} has no body`);
    super(bytes);
    this.status = floor(status);
    this.statusText = `${statusText}`;
    this.headers = new Headers(headers);
    this.url = "";
    this.redirected = false;
    this.type = "default";
    if (type && !this.headers.has("content-type")) this.headers.set("content-type", type);
  }

  static json(value, init) {
    const said = isPlain(value) ? value : render(value), text = stringify(said);
    if (text === undefined) throw new TypeError("the value is not JSON");
    if (typeof said?.then === "function") throw refused("result", "has a promise in the body of its response: await it");
    return new Response(new Typed(encodeText(unicode(text)), "application/json"), init);
  }

  static error() {
    throw failure("ENOSYS", "there is no Response.error here: throw an error, or return one with a status of 400 or more");
  }

  static redirect(url, status = 302) {
    return new Response(null, { status, headers: { location: new URL(url).href } });
  }

  get ok() {
    return this.status >= 200 && this.status <= 299;
  }

  clone() {
    const { status, statusText, headers, url, redirected, type } = this;
    return Object.assign(new Response(shareBytes(this), { status, statusText, headers }), { url, redirected, type });
  }

  // A response that a capability returns is its body: JSON when it says so, else text. That of an error is the failure.
  toJSON() {
    const none = shareBytes(this) === null, text = textBody(takeBytes(this), this.status < 300);
    if (this.status >= 300) throw responseFailure(this.status, text);
    return none ? null : JSON_TYPE.test(this.headers.get("content-type") ?? "") ? parse(text) : text;
  }
}

// What is refused is an answer; what is not is the capability's own failure.
function statusCode(status) {
  if (status < 400 || status > 499) return "EGUEST";
  return { 401: "EACCES", 403: "EACCES", 404: "ENOENT", 410: "ENOENT" }[status] ?? "EINVAL";
}

function textBody(bytes, whole) {
  if (whole && decodeText(bytes, true) === null)
    throw failure("EOUTPUT", "the response is not text: return bytes as text, with their toBase64()");
  return decodeBody(bytes);
}

// Its words are those of the body: { error: { code, message } }, { error }, { message }, or text.
function responseFailure(status, text) {
  let said = text;
  try {
    said = parse(text);
    said = said?.error ?? said;
  } catch {}
  const message = typeof said === "string" ? said : said?.message;
  return failure(isCode(said?.code) ? said.code : statusCode(status), typeof message === "string" && message.trim() ? message : `answered with status ${status}`);
}

class Request extends Body {
  constructor(resource, init) {
    const from = resource instanceof Request ? resource : null, given = init ?? {};
    const method = `${given.method ?? from?.method ?? "GET"}`;
    if (!TOKEN.test(method)) throw new TypeError(`${stringify(method)} is no method`);
    const [bytes, type] = given.body === undefined && from?.body ? [takeBytes(from), null] : bodyOf(given.body);
    if (bytes && /^(get|head)$/i.test(method)) throw new TypeError(`a ${method} request has no body`);
    super(bytes);
    this.url = from ? from.url : new URL(resource).href;
    this.method = /^(delete|get|head|options|patch|post|put)$/i.test(method) ? method.toUpperCase() : method;
    this.headers = new Headers(given.headers ?? from?.headers);
    this.redirect = `${given.redirect ?? from?.redirect ?? "follow"}`;
    this.signal = given.signal ?? from?.signal ?? new AbortSignal(OURS);
    if (!["follow", "manual", "error"].includes(this.redirect)) throw new TypeError(`${stringify(this.redirect)} is no way to redirect`);
    if (type && !this.headers.has("content-type")) this.headers.set("content-type", type);
  }

  clone() {
    const { method, headers, redirect, signal } = this;
    return new Request(this.url, { method, headers, redirect, signal, body: shareBytes(this) });
  }
}

async function fetch(resource, init) {
  const request = new Request(resource, init), { url, method, headers, redirect } = request;
  request.signal.throwIfAborted();
  const body = shareBytes(request) && takeBytes(request).toBase64();
  const answer = ask("http.fetch", { url, method, headers: [...headers], body, redirect }, TypeError);
  const { status, statusText, url: from } = answer, bytes = NO_BODY.includes(status) ? null : Uint8Array.fromBase64(answer.body ?? "");
  const response = new Response(bytes, { headers: answer.headers }); // its status is the server's, whatever that is
  return Object.assign(response, { status, statusText, url: from, redirected: answer.redirected === true, type: "basic" });
}

defineClass(Response);
defineClass(Request);
define("fetch", fetch);

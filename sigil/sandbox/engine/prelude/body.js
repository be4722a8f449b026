// The body of requests and responses: it is there as a whole and is read once.

const OURS = {}; // shows that a constructor is called from here

class ReadableStream {
  #body;
  #locked = false;

  constructor(key, body) {
    if (key !== OURS) throw failure("ENOSYS", "there are no streams to make here: give the whole body as text or bytes", TypeError);
    this.#body = body;
  }

  get locked() {
    return this.#locked;
  }

  getReader() {
    if (this.#locked) throw new TypeError("the stream is locked");
    this.#locked = true;
    const read = async () => {
      const bytes = this.#body.bodyUsed ? null : takeBytes(this.#body);
      return bytes?.length ? { value: bytes.slice(), done: false } : { value: undefined, done: true };
    };
    return { read, cancel: () => this.cancel(), releaseLock: () => void (this.#locked = false) };
  }

  async cancel() {
    if (!this.#body.bodyUsed) takeBytes(this.#body);
  }

  async *[Symbol.asyncIterator]() {
    const { value } = await this.getReader().read();
    if (value) yield value;
  }

  static bytes(stream) {
    if (stream.#locked) throw new TypeError("the stream is locked");
    stream.#locked = true;
    return takeBytes(stream.#body);
  }
}

class Body {
  #bytes;
  #used = false;
  #stream;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  get body() {
    return this.#bytes && (this.#stream ??= new ReadableStream(OURS, this));
  }

  get bodyUsed() {
    return this.#used;
  }

  async bytes() {
    return takeBytes(this).slice();
  }

  async arrayBuffer() {
    return takeBytes(this).slice().buffer;
  }

  async text() {
    return decodeBody(takeBytes(this));
  }

  async json() {
    return parse(decodeBody(takeBytes(this)));
  }

  async blob() {
    throw failure("ENOSYS", "there are no blobs here: read bytes() or arrayBuffer()");
  }

  async formData() {
    throw failure("ENOSYS", "there is no FormData here: read text(), and where it is a query new URLSearchParams(text)");
  }

  static take(body) {
    if (body.#used) throw new TypeError("the body was read already");
    body.#used = body.#bytes !== null;
    return body.#bytes ?? new Uint8Array(0);
  }

  // The bytes for a copy, null of none; they stay unread.
  static share(body) {
    if (body.#used) throw new TypeError("the body was read already");
    return body.#bytes;
  }
}

const { take: takeBytes, share: shareBytes } = Body;
const { bytes: streamBytes } = ReadableStream;
delete Body.take;
delete Body.share;
delete ReadableStream.bytes;

function decodeBody(bytes) {
  const text = decodeText(bytes, false);
  return text[0] === "\ufeff" ? text.slice(1) : text;
}

// A body whose content type is known.
class Typed {
  constructor(bytes, type) {
    this.both = [bytes, type];
  }
}

// [bytes, content type that goes with them] of what may be a body; [null, null] of none.
function bodyOf(body) {
  if (body === undefined || body === null) return [null, null];
  if (body instanceof Typed) return body.both;
  if (body instanceof ReadableStream) return [streamBytes(body), null];
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return [bytesOf(body, "the body").slice(), null];
  const type = body instanceof URLSearchParams ? "application/x-www-form-urlencoded;charset=UTF-8" : "text/plain;charset=UTF-8";
  return [encodeText(unicode(body)), type];
}

define("ReadableStream", ReadableStream);

// TextEncoder and TextDecoder (WHATWG Encoding, UTF-8 only).

const LABELS = ["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"];

class TextEncoder {
  get encoding() {
    return "utf-8";
  }

  encode(text = "") {
    return encodeText(unicode(text));
  }

  encodeInto(text, target) {
    if (!(target instanceof Uint8Array)) throw new TypeError("the target is not a Uint8Array");
    let read = 0, written = 0;
    for (const c of unicode(text)) {
      const bytes = encodeText(c);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += c.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

// How many bytes at the end begin a sequence that more bytes could complete.
function unfinished(bytes) {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back];
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

class TextDecoder {
  #fatal;
  #keepMark;
  #kept = new Uint8Array(0);
  #started = false;

  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!LABELS.includes(`${label}`.trim().toLowerCase())) throw new RangeError(`the encoding ${label} does not exist here: utf-8 only`);
    this.#fatal = !!fatal;
    this.#keepMark = !!ignoreBOM;
  }

  get encoding() {
    return "utf-8";
  }

  get fatal() {
    return this.#fatal;
  }

  get ignoreBOM() {
    return this.#keepMark;
  }

  decode(input, { stream = false } = {}) {
    const bytes = this.#joined(input === undefined ? new Uint8Array(0) : bytesOf(input, "the input"));
    const end = bytes.length - (stream ? unfinished(bytes) : 0);
    this.#kept = bytes.slice(end);
    let text = decodeText(bytes.subarray(0, end), this.#fatal);
    if (text === null) {
      this.#kept = new Uint8Array(0);
      this.#started = false;
      throw new TypeError("the bytes are not valid utf-8");
    }
    if (text && !this.#started && !this.#keepMark && text[0] === "\ufeff") text = text.slice(1);
    this.#started = stream && (this.#started || end > 0);
    return text;
  }

  #joined(bytes) {
    if (!this.#kept.length) return bytes;
    const all = new Uint8Array(this.#kept.length + bytes.length);
    all.set(this.#kept);
    all.set(bytes, this.#kept.length);
    return all;
  }
}

defineClass(TextEncoder);
defineClass(TextDecoder);

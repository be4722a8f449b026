// A capability in AssemblyScript: the ABI sigil/1, and JSON to read the input from and to write the answer with.
//
//     import { Json, fail } from "./sigil";
//
//     export function answer(input: Json): Json {
//       const name = input.get("name").text;
//       if (name.length == 0) return fail("EINVAL", "whom shall I greet?");
//       return Json.object().set("hello", Json.text(name));
//     }
//
// The input has passed the manifest's schema: members are there and of their types. Every call has a fresh memory, so nothing has
// to be freed.

export enum Kind { Null, Bool, Number, Text, List, Object }

const DEEPEST = 200;

/** A JSON value. What is asked of a value of another kind is empty: no text, 0, false, no members. */
export class Json {
  kind: Kind = Kind.Null;
  /** The string that it is. */
  text: string = "";
  /** The truth that it is. */
  bool: bool = false;
  private digits: string = "";
  private names: string[] = [];
  private items: Json[] = [];

  static null(): Json { return new Json(); }
  static text(value: string): Json { const made = new Json(); made.kind = Kind.Text; made.text = value; return made; }
  static bool(value: bool): Json { const made = new Json(); made.kind = Kind.Bool; made.bool = value; return made; }
  static integer(value: i64): Json { return Json.digits(value.toString()); }
  static number(value: f64): Json {
    if (!isFinite(value)) return new Json();
    return Json.digits(Math.trunc(value) == value && Math.abs(value) < 9007199254740992 ? (<i64>value).toString() : value.toString());
  }
  static list(): Json { const made = new Json(); made.kind = Kind.List; return made; }
  static object(): Json { const made = new Json(); made.kind = Kind.Object; return made; }
  /** A number as it is written. */
  static digits(written: string): Json { const made = new Json(); made.kind = Kind.Number; made.digits = written; return made; }

  /** The number that it is. */
  get number(): f64 { return this.kind == Kind.Number ? parseFloat(this.digits) : 0; }
  /** The whole number that it is, towards zero, between -2^63 and 2^63 - 1. */
  get integer(): i64 {
    if (this.kind != Kind.Number) return 0;
    for (let i = 0; i < this.digits.length; i++) {
      const c = this.digits.charCodeAt(i);
      if (c == 0x2e || c == 0x65 || c == 0x45) return <i64>parseFloat(this.digits);
    }
    return I64.parseInt(this.digits);
  }
  /** How many members or items it has. */
  get length(): i32 { return this.items.length; }
  get isNull(): bool { return this.kind == Kind.Null; }

  /** The member of this name; null when there is none. */
  get(name: string): Json {
    const at = this.names.lastIndexOf(name);
    return at < 0 ? new Json() : unchecked(this.items[at]);
  }
  has(name: string): bool { return this.names.includes(name); }
  /** The names of the members, in their order. */
  keys(): string[] { return this.names; }
  /** The item at this place, from 0; null when there is none. */
  at(place: i32): Json { return place >= 0 && place < this.items.length ? unchecked(this.items[place]) : new Json(); }

  /** Adds a member; the object itself. */
  set(name: string, value: Json): Json {
    const at = this.names.indexOf(name);
    if (at >= 0) { this.items[at] = value; return this; }
    this.names.push(name);
    this.items.push(value);
    return this;
  }
  /** Adds an item; the list itself. */
  push(value: Json): Json { this.items.push(value); return this; }

  /** The value as JSON. */
  toString(): string {
    const parts: string[] = [];
    this.write(parts);
    return parts.join("");
  }

  private write(parts: string[]): void {
    if (this.kind == Kind.Text) { parts.push(quoted(this.text)); return; }
    if (this.kind == Kind.Number) { parts.push(this.digits); return; }
    if (this.kind == Kind.Bool) { parts.push(this.bool ? "true" : "false"); return; }
    if (this.kind == Kind.Null) { parts.push("null"); return; }
    const object = this.kind == Kind.Object;
    parts.push(object ? "{" : "[");
    for (let i = 0; i < this.items.length; i++) {
      if (i) parts.push(",");
      if (object) { parts.push(quoted(this.names[i])); parts.push(":"); }
      this.items[i].write(parts);
    }
    parts.push(object ? "}" : "]");
  }
}

let failed = false;

/** Let `answer` return this, and the call fails: `code` is E and 2 to 15 capital letters or digits, `message` goes to whoever called. */
export function fail(code: string, message: string): Json {
  failed = true;
  return Json.object().set("code", Json.text(code)).set("message", Json.text(message));
}

// @ts-ignore: decorator
@external("sigil", "call") declare function hostCall(at: usize, size: usize): i32;
// @ts-ignore: decorator
@external("sigil", "take") declare function hostTake(at: usize): void;

/** Asks the host: `{"ok": …}` or `{"error": {"code", "message"}}`. What there is to ask, the ABI's page tells. */
export function call(operation: string, argument: Json): Json {
  const request = String.UTF8.encode(Json.object().set("op", Json.text(operation)).set("arg", argument).toString());
  const size = hostCall(changetype<usize>(request), request.byteLength);
  if (size < 0) return Json.object().set("error", fail("EINVAL", "not a request"));
  const answer = new ArrayBuffer(size);
  hostTake(changetype<usize>(answer));
  return parse(String.UTF8.decode(answer));
}

/** The value that a JSON text stands for; the text is one that the host gave, so it is JSON. */
export function parse(text: string): Json { return new Reader(text).value(0); }

class Reader {
  private at: i32 = 0;
  constructor(private source: string) {}

  value(depth: i32): Json {
    const c = this.next();
    if (depth > DEEPEST) unreachable();
    if (c == 0x22) return Json.text(this.string());
    if (c == 0x7b) return this.members(depth);
    if (c == 0x5b) return this.list(depth);
    if (c == 0x74) { this.at += 4; return Json.bool(true); }
    if (c == 0x66) { this.at += 5; return Json.bool(false); }
    if (c == 0x6e) { this.at += 4; return new Json(); }
    const begin = this.at;
    while (this.at < this.source.length && isDigit(this.source.charCodeAt(this.at))) this.at++;
    if (this.at == begin) unreachable();
    return Json.digits(this.source.substring(begin, this.at));
  }

  private members(depth: i32): Json {
    const made = Json.object();
    this.at++;
    while (this.next() != 0x7d) {
      if (this.next() == 0x2c) { this.at++; this.next(); }
      const name = this.string();
      this.next();
      this.at++;
      made.set(name, this.value(depth + 1));
    }
    this.at++;
    return made;
  }

  private list(depth: i32): Json {
    const made = Json.list();
    this.at++;
    while (this.next() != 0x5d) {
      if (this.next() == 0x2c) this.at++;
      made.push(this.value(depth + 1));
    }
    this.at++;
    return made;
  }

  private string(): string {
    let begin = ++this.at;
    let made = "";
    for (; ;) {
      const c = this.source.charCodeAt(this.at);
      if (c == 0x22) break;
      if (c != 0x5c) { this.at++; continue; }
      made += this.source.substring(begin, this.at) + this.escaped();
      begin = this.at;
    }
    return made + this.source.substring(begin, this.at++);
  }

  private escaped(): string {
    const c = this.source.charCodeAt(this.at + 1);
    this.at += 2;
    if (c == 0x6e) return "\n";
    if (c == 0x74) return "\t";
    if (c == 0x72) return "\r";
    if (c == 0x62) return "\b";
    if (c == 0x66) return "\f";
    if (c != 0x75) return String.fromCharCode(c);
    this.at += 4;
    return String.fromCharCode(<i32>parseInt(this.source.substring(this.at - 4, this.at), 16));
  }

  private next(): i32 {
    while (this.at < this.source.length) {
      const c = this.source.charCodeAt(this.at);
      if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) return c;
      this.at++;
    }
    return unreachable();
  }
}

function isDigit(c: i32): bool {
  return (c >= 0x30 && c <= 0x39) || c == 0x2d || c == 0x2b || c == 0x2e || c == 0x65 || c == 0x45;
}

function quoted(text: string): string {
  let made = "\"";
  let begin = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c) continue;
    made += text.substring(begin, i);
    made += c == 0x22 ? "\\\"" : c == 0x5c ? "\\\\" : "\\u00" + (c < 16 ? "0" : "") + c.toString(16);
    begin = i + 1;
  }
  return made + text.substring(begin) + "\"";
}

// ---- the ABI: what the entry exports

let output: ArrayBuffer = new ArrayBuffer(0);

export function sigil_alloc(size: i32): usize {
  return size < 0 || size > 16777216 ? 0 : changetype<usize>(new ArrayBuffer(size));
}

export function answered(at: usize, size: i32, answer: (input: Json) => Json): i32 {
  const made = answer(parse(String.UTF8.decodeUnsafe(at, size)));
  output = String.UTF8.encode(made.toString(), false, String.UTF8.ErrorMode.REPLACE);
  return failed ? 1 : 0;
}

export function sigil_out_ptr(): usize { return changetype<usize>(output); }
export function sigil_out_len(): i32 { return output.byteLength; }

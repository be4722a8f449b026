// What a capability finds in its sandbox beside the language, for editors alone: nothing here is deployed.
// `fetch` wants permissions.http, `env.KV` permissions.kv, `env.call` permissions.call, `console` permissions.log,
// `Date.now` permissions.clock, `Math.random` and `crypto.randomUUID` permissions.random.

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

interface Store {
  get(key: string): Promise<string | null>;
  get<T = any>(key: string, type: "json"): Promise<T | null>;
  getWithMetadata(key: string): Promise<{ value: string | null; metadata: null }>;
  put(key: string, value: string, options?: { expirationTtl?: number }): Promise<void>;
  list(options?: { prefix?: string; limit?: number; cursor?: string }): Promise<{ keys: { name: string }[]; list_complete: boolean; cursor?: string }>;
  delete(key: string): Promise<void>;
}

interface Env {
  /** A store of the capability's own. */
  KV: Store;
  /** Another capability's output. */
  call<T = any>(name: string, input?: object): Promise<T>;
}

interface Context {
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
}

type Bytes = ArrayBuffer | ArrayBufferView;
type BodyOf = string | Bytes | URLSearchParams | null;
type Pairs = Headers | Record<string, string> | [string, string][];

declare class Headers implements Iterable<[string, string]> {
  constructor(init?: Pairs);
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  forEach(each: (value: string, name: string, headers: Headers) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

declare class Body {
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array>;
  json<T = any>(): Promise<T>;
  text(): Promise<string>;
}

interface RequestInit {
  method?: string;
  headers?: Pairs;
  body?: BodyOf;
  redirect?: "follow" | "error" | "manual";
  signal?: AbortSignal | null;
}

declare class Request extends Body {
  constructor(input: string | URL | Request, init?: RequestInit);
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  clone(): Request;
}

declare class Response extends Body {
  constructor(body?: BodyOf, init?: { status?: number; statusText?: string; headers?: Pairs });
  static json(value: unknown, init?: { status?: number; statusText?: string; headers?: Pairs }): Response;
  static redirect(url: string | URL, status?: number): Response;
  static error(): Response;
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly redirected: boolean;
  readonly url: string;
  readonly headers: Headers;
  clone(): Response;
}

declare function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;

declare class AbortSignal {
  readonly aborted: boolean;
  readonly reason: any;
  throwIfAborted(): void;
  static abort(reason?: any): AbortSignal;
  static timeout(milliseconds: number): AbortSignal;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: any): void;
}

declare class URLSearchParams implements Iterable<[string, string]> {
  constructor(init?: string | Record<string, string> | [string, string][] | URLSearchParams);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  toString(): string;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string, base?: string): boolean;
  static parse(url: string, base?: string): URL | null;
  hash: string;
  host: string;
  hostname: string;
  href: string;
  readonly origin: string;
  password: string;
  pathname: string;
  port: string;
  protocol: string;
  search: string;
  readonly searchParams: URLSearchParams;
  username: string;
  toString(): string;
  toJSON(): string;
}

declare class TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array;
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(bytes?: Bytes): string;
}

declare const crypto: {
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  randomUUID(): string;
  subtle: {
    digest(algorithm: string | { name: string }, data: Bytes): Promise<ArrayBuffer>;
    importKey(format: "raw", key: Bytes, algorithm: { name: "HMAC"; hash: string | { name: string } }, extractable: boolean, uses: string[]): Promise<object>;
    sign(algorithm: string | { name: string }, key: object, data: Bytes): Promise<ArrayBuffer>;
    verify(algorithm: string | { name: string }, key: object, signature: Bytes, data: Bytes): Promise<boolean>;
  };
};

declare const console: Record<"debug" | "error" | "info" | "log" | "warn", (...values: unknown[]) => void>;
declare const performance: { now(): number };
declare function atob(text: string): string;
declare function btoa(text: string): string;
declare function structuredClone<T>(value: T): T;
declare function queueMicrotask(run: () => void): void;

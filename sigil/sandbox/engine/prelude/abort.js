// AbortController and AbortSignal (DOM), for code that brings them along. Nothing here can wait, so a signal is looked at when a request
// starts; the timeout of a signal is the run's own, which ends everything.

class AbortSignal {
  #listeners = new Set();
  aborted = false;
  reason = undefined;
  onabort = null;

  constructor(key) {
    if (key !== OURS) throw new TypeError("Illegal constructor");
  }

  static abort(reason) {
    const signal = new AbortSignal(OURS);
    abortSignal(signal, reason);
    return signal;
  }

  static timeout() {
    return new AbortSignal(OURS);
  }

  static any(signals) {
    const made = new AbortSignal(OURS);
    for (const signal of signals) {
      if (signal.aborted && !made.aborted) abortSignal(made, signal.reason);
      else signal.addEventListener("abort", () => abortSignal(made, signal.reason));
    }
    return made;
  }

  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }

  addEventListener(type, listener) {
    if (`${type}` === "abort" && typeof listener === "function") this.#listeners.add(listener);
  }

  removeEventListener(type, listener) {
    if (`${type}` === "abort") this.#listeners.delete(listener);
  }

  static fire(signal, reason = new DOMException("the operation was aborted", "AbortError")) {
    if (signal.aborted) return;
    Object.assign(signal, { aborted: true, reason });
    const event = { type: "abort", target: signal };
    for (const listener of [signal.onabort, ...signal.#listeners]) if (listener) apply(listener, signal, [event]);
  }
}

const { fire: abortSignal } = AbortSignal;
delete AbortSignal.fire;

class AbortController {
  signal = new AbortSignal(OURS);

  abort(reason) {
    abortSignal(this.signal, reason);
  }
}

defineClass(AbortSignal);
defineClass(AbortController);

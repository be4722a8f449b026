// The script of the pages. Without it everything can be read, and forms send; with it a chat goes on
// by itself. It makes no HTML: what it puts into the page was drawn by the server.

/**
 * @typedef {{n: number, put: [number, string][], count?: number}} Words
 * @typedef {{ids: [string, boolean][], put: Record<string, string>, busy: boolean, doubt: boolean, seq: number, first: number, title: string, words: Words, asks: number | null}} State
 * @typedef {{name: string, arguments: string, meaning: string}} Command
 */

/** @template {Element} T @param {string} id @param {new () => T} kind @returns {T | null} */
const find = (id, kind) => {
  const found = document.getElementById(id);
  return found instanceof kind ? found : null;
};

/** @param {string} name @param {string} [kind] @param {string} [text] */
const make = (name, kind = "", text = "") => {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text) made.textContent = text;
  return made;
};

/** @param {string} html */
const parse = (html) => {
  const holder = document.createElement("template");
  holder.innerHTML = html; // the server's own, which escapes
  return holder.content;
};

/** @param {string} text @param {Record<string, string | number>} values */
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));

/** @param {number} size */
const writeSize = (size) =>
  size >= 1e6 ? `${(size / 1e6).toFixed(1)} MB` : size >= 1e3 ? `${Math.round(size / 1e3)} KB` : `${size} B`;

/** Shows times in the viewer's own zone: of today the hour alone. @param {ParentNode} root */
const localize = (root) => {
  const today = new Date().toDateString();
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(time.getAttribute("datetime") ?? "");
    if (Number.isNaN(at.getTime())) continue;
    const hour = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const day = at.toLocaleDateString([], { day: "numeric", month: "short" });
    const isToday = at.toDateString() === today;
    time.setAttribute("data-local", "");
    time.setAttribute("title", at.toLocaleString());
    time.textContent = isToday ? hour : time.closest("#chats") ? day : `${day}, ${hour}`;
  }
};

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const coarse = matchMedia("(pointer: coarse)");

/** A chat that is open. */
class Chat {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.base = root.dataset.chat ?? "";
    this.says = /** @type {Record<string, string>} */ (JSON.parse(root.dataset.words ?? "{}"));
    this.seq = Number(root.dataset.seq);
    this.first = Number(root.dataset.first);
    this.busy = "busy" in root.dataset;
    this.talk = /** @type {HTMLElement} */ (find("talk", HTMLElement));
    this.pane = /** @type {HTMLElement} */ (find("scroll", HTMLElement));
    this.live = /** @type {HTMLElement} */ (find("live", HTMLElement));
    this.words = /** @type {HTMLElement} */ (find("words", HTMLElement));
    this.asks = /** @type {HTMLElement} */ (find("asks", HTMLElement));
    this.down = find("down", HTMLButtonElement);
    this.number = -1;
    /** @type {number | null} the time at which the model was asked */
    this.asked = null;
    this.field = find("text", HTMLTextAreaElement) ? new Field(this) : null;
    this.lines = new Lines(this);
    decorate(this.talk, this.says);
    this.talk.addEventListener("click", (event) => this.act(event));
    this.stays = true;
    this.pane.addEventListener("scroll", () => this.showDown(), { passive: true });
    // a picture has its height when it is there
    this.talk.addEventListener("load", () => this.stays && this.toEnd(), true);
    this.down?.addEventListener("click", () => this.toEnd(true));
    setInterval(() => this.count(), 500);
    watchChats();
    this.toEnd();
    if (!new URLSearchParams(location.search).has("before")) this.lines.look();
  }

  get isAtEnd() {
    return this.pane.scrollHeight - this.pane.scrollTop - this.pane.clientHeight < 80;
  }

  /** @param {boolean} [smooth] */
  toEnd(smooth = false) {
    this.pane.scrollTo({ top: this.pane.scrollHeight, behavior: smooth && !calm.matches ? "smooth" : "instant" });
    this.showDown();
  }

  showDown() {
    this.stays = this.isAtEnd;
    if (this.down) this.down.hidden = this.stays;
  }

  /** Changes what is shown, and stays at the end where the viewer is there. @param {() => void} change */
  keepEnd(change) {
    const stays = this.isAtEnd;
    change();
    if (stays) this.toEnd();
    else this.showDown();
  }

  /** @param {State} state */
  show(state) {
    this.keepEnd(() => {
      const wasBusy = this.busy;
      this.seq = state.seq;
      this.busy = state.busy;
      this.reconcile(state);
      this.showParts(state.put);
      this.showWords(state.words);
      this.showAsks(state.asks);
      const doubt = find("doubt", HTMLElement);
      if (doubt) doubt.hidden = !(state.busy && state.doubt);
      this.live.hidden = !state.busy;
      this.field?.showBusy();
      const title = document.title.split(" · ").slice(1);
      document.title = [state.title, ...title].join(" · ");
      if (wasBusy && !state.busy) this.tell();
    });
  }

  /** Tells those who do not see the page that an answer is there. */
  tell() {
    const told = find("told", HTMLElement);
    const last = this.talk.querySelector(":scope > .answer:last-of-type .body");
    if (told) told.textContent = (last?.textContent ?? "").trim().slice(0, 300);
  }

  /** Brings the rows to what the state says: it replaces, and never adds. @param {State} state */
  reconcile(state) {
    const wanted = new Set(state.ids.map(([id]) => id));
    for (const row of [...this.talk.children]) {
      const seq = Number(row.getAttribute("data-seq"));
      const isEarlier = this.first < state.first && seq >= this.first && seq > 0 && seq < state.first;
      const isSent = this.field?.sending.has(row.id) ?? false;
      if (!wanted.has(row.id) && !isEarlier && !isSent) row.remove();
    }
    /** @type {Element | null} */
    let before = null;
    for (const [id, isGone] of state.ids) {
      this.field?.noteArrival(id);
      if (id === "earlier" && this.first < state.first) continue;
      let row = document.getElementById(id);
      const html = state.put[id];
      if (html !== undefined && !(row && id === "earlier")) {
        const made = parse(html).firstElementChild;
        if (!made) continue;
        const wasOpen = row?.querySelector("details")?.open;
        if (row) row.replaceWith(made);
        else made.classList.add("fresh");
        if (wasOpen) made.querySelector("details")?.setAttribute("open", "");
        row = /** @type {HTMLElement} */ (made);
        localize(row);
        decorate(row, this.says);
      }
      if (!row) continue;
      row.classList.toggle("gone", isGone);
      /** @type {Element | null} */
      const place = before ? before.nextElementSibling : this.firstPlace(state);
      if (place !== row) this.talk.insertBefore(row, place);
      before = row;
    }
    for (const id of this.field?.sending ?? []) {
      const row = document.getElementById(id);
      if (row && !wanted.has(id)) this.talk.append(row);
    }
  }

  /** @param {State} state the first row that is not one of those shown beside the state's */
  firstPlace(state) {
    for (const row of this.talk.children) {
      const seq = Number(row.getAttribute("data-seq"));
      if (row.id !== "earlier" && !(seq > 0 && seq < state.first)) return row;
      if (row.id === "earlier" && this.first >= state.first) return row;
    }
    return null;
  }

  /** @param {Record<string, string>} put */
  showParts(put) {
    const rail = find("rail", HTMLElement);
    if (rail && put.rail !== undefined) glide(rail, put.rail);
    const line = find("line", HTMLElement);
    if (line && put.line !== undefined) line.textContent = put.line;
    const chats = find("chats", HTMLElement);
    if (chats && put.chats !== undefined) {
      chats.replaceChildren(parse(put.chats));
      localize(chats);
      watchChats();
    }
  }

  /** @param {Words} words */
  showWords(words) {
    this.keepEnd(() => {
      if (words.n !== this.number) {
        this.number = words.n;
        this.words.replaceChildren();
      }
      for (const [place, html] of words.put) {
        while (this.words.children.length <= place) this.words.append(make("div"));
        this.words.children[place]?.replaceChildren(parse(html));
      }
      const count = words.count ?? words.put.length;
      while (this.words.children.length > count) this.words.lastElementChild?.remove();
      if (this.words.children.length) this.live.hidden = false;
    });
  }

  /** @param {number | null} seconds */
  showAsks(seconds) {
    this.asked = seconds === null ? null : Date.now() - seconds * 1000;
    if (seconds !== null) this.live.hidden = false;
    this.count();
  }

  count() {
    const shows = this.asked !== null;
    if (shows) {
      const seconds = Math.max(Math.round((Date.now() - (this.asked ?? 0)) / 1000), 0);
      const text = fill(this.says.thinking ?? "", { seconds });
      if (this.asks.textContent !== text) this.asks.textContent = text;
    }
    if (this.asks.hidden === shows) this.keepEnd(() => (this.asks.hidden = !shows));
  }

  /** @param {Event} event */
  act(event) {
    const target = event.target instanceof Element ? event.target : null;
    const button = target?.closest("[data-act]");
    const link = target?.closest("[data-before]");
    if (link && !link.ariaBusy) {
      event.preventDefault();
      void this.showEarlier(link);
    }
    if (!(button instanceof HTMLElement)) return;
    const row = button.closest("li");
    const bubble = row?.querySelector(".bubble");
    const body = row?.querySelector(".body");
    switch (button.dataset.act) {
      case "again":
        this.field?.write(bubble?.textContent ?? "");
        break;
      case "try":
        this.field?.write(button.textContent ?? "");
        break;
      case "copy":
        void copy(button, bubble?.textContent ?? readText(body), this.says);
        break;
      case "code":
        void copy(button, button.closest("figure")?.querySelector("pre")?.textContent ?? "", this.says);
        break;
      case "table":
        void copy(button, readTable(button.closest(".wide")?.querySelector("table")), this.says);
        break;
    }
  }

  /** @param {Element} link */
  async showEarlier(link) {
    link.ariaBusy = "true";
    const answer = await fetch(`${this.base}?before=${link.getAttribute("data-before")}`, {
      headers: { accept: "text/html" },
    }).catch(() => null);
    link.ariaBusy = null;
    if (answer?.status === 401) this.field?.showSignedOut();
    if (!answer?.ok) return void location.assign(/** @type {HTMLAnchorElement} */ (link).href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const rows = page.querySelectorAll("#talk > li");
    const height = this.pane.scrollHeight;
    this.first = Number(page.getElementById("chat")?.dataset.first ?? this.first);
    link.closest("li")?.remove();
    const taken = [...rows].filter((row) => !document.getElementById(row.id) || row.id === "earlier");
    this.talk.prepend(...taken.map((row) => document.adoptNode(row)));
    localize(this.talk);
    decorate(this.talk, this.says);
    this.pane.scrollTop += this.pane.scrollHeight - height;
  }
}

/** Takes one of the places for streams in this browser, which has six connections to a server for
 * all its tabs; returns what gives it back, null where there is none.
 * @returns {Promise<(() => void) | null>} */
async function takePlace() {
  if (!navigator.locks) return () => {};
  for (const place of [1, 2, 3]) {
    /** @type {(() => void) | null} */
    const leave = await new Promise((resolve) => {
      /** @param {Lock | null} lock */
      const hold = (lock) => (lock ? new Promise((end) => resolve(() => end(null))) : resolve(null));
      navigator.locks.request(`uncaged stream ${place}`, { ifAvailable: true }, hold).catch(() => resolve(null));
    });
    if (leave) return leave;
  }
  return null;
}

/** The connection of a chat's page: a stream, or a look again and again where there is none. */
class Lines {
  /** @param {Chat} chat */
  constructor(chat) {
    this.chat = chat;
    /** @type {EventSource | null} */
    this.source = null;
    /** @type {(() => void) | null} */
    this.leave = null;
    this.opened = 0;
    this.hidden = 0;
    this.polls = chat.root.dataset.live !== "yes";
    this.wait = 1;
    this.tag = "";
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.sleep = undefined;
    document.addEventListener("visibilitychange", () => this.look());
    addEventListener("online", () => this.retry(0));
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", (event) => event.persisted && this.look());
  }

  look() {
    clearTimeout(this.sleep);
    if (document.hidden) {
      this.hidden = Date.now();
      this.sleep = setTimeout(() => this.close(), 20_000);
      // a phone that slept had no timers, and its stream may be dead though nobody told
    } else if (!this.source || Date.now() - this.hidden > 20_000) void this.open();
  }

  close() {
    this.opened += 1;
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.leave?.();
    this.leave = null;
  }

  async open() {
    this.close();
    if (this.polls) return void this.poll();
    const opened = this.opened;
    const leave = await takePlace();
    if (opened !== this.opened) return void leave?.();
    if (!leave) return void this.poll();
    this.leave = leave;
    const source = new EventSource(`${this.chat.base}/live?after=${this.chat.seq}`);
    this.source = source;
    /** @param {string} kind @param {(data: any) => void} take */
    const on = (kind, take) =>
      source.addEventListener(kind, (event) => {
        this.connected();
        take(JSON.parse(/** @type {MessageEvent} */ (event).data));
      });
    on("state", (state) => this.chat.show(state));
    on("words", (words) => this.chat.showWords(words));
    on("chats", ({ html }) => this.chat.showParts({ chats: html }));
    on("asks", ({ asks }) => this.chat.showAsks(asks));
    on("end", () => this.retry(1));
    on("problem", () => this.chat.field?.say(this.chat.says.connecting ?? "", false));
    on("full", () => {
      this.polls = true;
      void this.open();
    });
    source.onopen = () => this.connected();
    source.onerror = () => {
      this.chat.field?.say(this.chat.says.connecting ?? "", false);
      // an answer that is no stream ends it for good: what is the matter, the state tells
      if (source.readyState === EventSource.CLOSED) this.retry(this.wait, true);
    };
  }

  connected() {
    this.wait = 1;
    this.chat.field?.unsay();
  }

  /** @param {number} seconds @param {boolean} [asks] */
  retry(seconds, asks = false) {
    this.close();
    this.wait = Math.min(this.wait * 2, 30);
    this.timer = setTimeout(() => {
      if (document.hidden) return;
      if (asks) void this.ask().then((is) => (is ? this.open() : undefined));
      else void this.open();
    }, seconds * (800 + Math.random() * 400));
  }

  async poll() {
    const opened = this.opened;
    if ((await this.ask()) && opened === this.opened) {
      this.timer = setTimeout(() => !document.hidden && this.open(), this.chat.busy ? 2_000 : 10_000);
    }
  }

  /** Asks for the state once; returns whether to go on. */
  async ask() {
    try {
      const headers = { accept: "application/json", "if-none-match": this.tag };
      const answer = await fetch(`${this.chat.base}/state`, { headers, cache: "no-store" });
      if (answer.status === 401) {
        this.chat.field?.showSignedOut();
        return false;
      }
      if (answer.ok) {
        this.tag = answer.headers.get("etag") ?? "";
        this.chat.show(await answer.json());
      }
      if (answer.ok || answer.status === 304) this.connected();
      return true;
    } catch {
      this.chat.field?.say(this.chat.says.connecting ?? "", false);
      this.retry(this.wait, true);
      return false;
    }
  }
}

/** The field in which the viewer writes, with its files, its commands and its microphone. */
class Field {
  /** @param {Chat} chat */
  constructor(chat) {
    this.chat = chat;
    this.form = /** @type {HTMLFormElement} */ (find("say", HTMLFormElement));
    this.text = /** @type {HTMLTextAreaElement} */ (find("text", HTMLTextAreaElement));
    this.send = /** @type {HTMLButtonElement} */ (find("send", HTMLButtonElement));
    this.stop = /** @type {HTMLButtonElement} */ (find("stop", HTMLButtonElement));
    this.trouble = /** @type {HTMLElement} */ (find("trouble", HTMLElement));
    /** @type {Set<string>} the rows of messages of which the server has not said that it has them */
    this.sending = new Set();
    /** @type {File[]} */
    this.files = [];
    /** @type {{key: string, words: string, files: File[]} | null} what could not be sent, as far as is known */
    this.unsent = null;
    this.store = `uncaged ${location.pathname}`;
    this.menu = new Menu(this);
    this.voice = new Voice(this);
    this.recover();
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => this.press(event));
    this.text.addEventListener("paste", (event) => {
      // a sheet gives its cells as words, and a picture of them that nobody wants
      const isSheet = ["text/html", "text/plain"].every((each) => event.clipboardData?.types.includes(each));
      if (!isSheet) this.attach(event.clipboardData?.files, event);
    });
    this.form.addEventListener("submit", (event) => this.submit(event));
    this.watchFiles();
    document.addEventListener("keydown", (event) => this.pressOutside(event));
    if (!coarse.matches) this.text.focus({ preventScroll: true });
    else this.text.enterKeyHint = "enter";
    this.changed();
  }

  /** Writes what was typed, and what was on its way, when the page was left. */
  recover() {
    const typed = this.text.value || (localStorage.getItem(this.store) ?? "");
    const [key, words] = JSON.parse(localStorage.getItem(`${this.store} sent`) ?? "[]");
    if (words) this.unsent = { key, words, files: [] };
    this.text.value = [words, typed].filter(Boolean).join("\n");
  }

  /** @param {string} id the row of a message that the server has */
  noteArrival(id) {
    this.sending.delete(id);
    if (!this.unsent || id !== `p-web:${this.unsent.key}`) return;
    const { words, files } = this.unsent;
    this.unsent = null;
    localStorage.removeItem(`${this.store} sent`);
    if (this.text.value.trim() !== words.trim()) return;
    this.text.value = "";
    this.files = this.files.filter((file) => !files.includes(file));
    this.say("");
    this.showFiles();
    this.changed();
  }

  changed() {
    this.text.style.height = "auto";
    this.text.style.height = `${this.text.scrollHeight}px`;
    if (this.text.value) localStorage.setItem(this.store, this.text.value);
    else localStorage.removeItem(this.store);
    this.menu.show();
    this.showBusy();
  }

  get isEmpty() {
    return !this.text.value.trim() && !this.files.length;
  }

  showBusy() {
    const stops = this.chat.busy && this.isEmpty;
    const had = document.activeElement === (stops ? this.send : this.stop);
    this.stop.hidden = !stops;
    this.send.hidden = stops;
    if (had) (stops ? this.stop : this.send).focus();
  }

  /** @param {string} words */
  write(words) {
    this.text.value = words.trim();
    this.changed();
    this.text.focus();
    this.text.setSelectionRange(words.length, words.length);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    // Enter that ends a composition sends nothing
    if (event.isComposing || event.keyCode === 229) return;
    if (this.menu.press(event)) return event.preventDefault();
    if (event.key === "Enter" && !event.shiftKey && !event.altKey && !coarse.matches) {
      event.preventDefault();
      if (!this.isEmpty) this.form.requestSubmit(this.send);
    } else if (event.key === "ArrowUp" && !this.text.value) {
      const own = [...this.chat.talk.querySelectorAll(".own .bubble")].at(-1);
      if (own) {
        event.preventDefault();
        this.write(own.textContent ?? "");
      }
    }
  }

  /** @param {KeyboardEvent} event */
  pressOutside(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const target = event.target instanceof HTMLElement ? event.target : null;
    const writes = target?.matches("input:not([type=checkbox]), textarea, select");
    if (event.key === "Escape") {
      if (this.voice.cancel()) return;
      if (this.chat.busy) void this.halt();
    } else if (event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      if (!this.text.value) this.text.value = "/";
      this.text.focus();
      this.changed();
    }
  }

  /** @param {SubmitEvent} event */
  submit(event) {
    event.preventDefault();
    if (event.submitter === this.stop) return void this.halt();
    if (this.isEmpty) return;
    const words = this.text.value;
    const files = this.files;
    this.text.value = "";
    this.files = [];
    this.showFiles();
    this.changed();
    void this.post(words, files);
  }

  async halt() {
    this.stop.disabled = true;
    const answer = await fetch(`${this.chat.base}/stop`, {
      method: "POST",
      headers: { accept: "application/json" },
    }).catch(() => null);
    this.stop.disabled = false;
    if (answer?.status === 401) this.showSignedOut();
    else if (!answer?.ok) this.say(fill(this.chat.says.not_sent ?? "", { why: this.chat.says.again_soon ?? "" }));
  }

  /** Sends a message, which stands in the talk at once. @param {string} words @param {File[]} files */
  async post(words, files) {
    // what may have come to the server is sent again under its name, and answered once
    const was = this.unsent;
    const isAgain = was?.words === words && was.files.length === files.length && was.files.every((file) => files.includes(file));
    const random = [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
    const key = was && isAgain ? was.key : random;
    this.unsent = null;
    localStorage.setItem(`${this.store} sent`, JSON.stringify([key, words]));
    const row = make("li", "own asked");
    row.id = `p-web:${key}`;
    if (files.length) {
      const list = make("ul", "files");
      list.append(...files.map((file) => {
        const item = make("li");
        item.append(make("span", "file", file.name));
        return item;
      }));
      row.append(list);
    }
    if (words.trim()) row.append(make("div", "bubble", words));
    find("hello", HTMLElement)?.remove();
    this.sending.add(row.id);
    this.chat.talk.append(row);
    this.chat.toEnd();
    const body = new FormData();
    body.set("text", words);
    body.set("key", key);
    for (const file of files) body.append("file", file, file.name);
    let why = this.chat.says.again_soon ?? "";
    try {
      const answer = await fetch(this.chat.base, { method: "POST", body, headers: { accept: "application/json" } });
      if (answer.ok) {
        this.say("");
        localStorage.removeItem(`${this.store} sent`);
        // the next state says where it stands, and whether a turn is at work
        this.sending.delete(row.id);
        if (!this.chat.lines.source) void this.chat.lines.open();
        return;
      }
      const told = await answer.json().catch(() => ({}));
      why = [told.error?.message, told.error?.suggestion].filter(Boolean).join(": ") || why;
      if (answer.status === 401) this.showSignedOut();
    } catch {
      // the server cannot be reached: what was written goes back
    }
    localStorage.removeItem(`${this.store} sent`);
    if (!this.sending.delete(row.id)) return; // its row has come meanwhile: only the answer was lost
    row.remove();
    this.unsent = { key, words, files };
    this.files = [...files, ...this.files];
    this.showFiles();
    this.text.value = this.text.value ? `${words}\n${this.text.value}` : words;
    this.changed();
    if (this.trouble.querySelector("a") === null) this.say(fill(this.chat.says.not_sent ?? "", { why }));
  }

  /** @param {string} words @param {boolean} [lasts] what does not last goes with the next sign of life */
  say(words, lasts = true) {
    if (!this.trouble.hidden && this.trouble.dataset.lasts === "yes" && !lasts) return;
    this.trouble.dataset.lasts = lasts ? "yes" : "";
    this.trouble.textContent = words;
    this.trouble.hidden = !words;
  }

  unsay() {
    if (this.trouble.dataset.lasts !== "yes") this.trouble.hidden = true;
  }

  showSignedOut() {
    this.say(this.chat.says.signed_out ?? "");
    const link = document.createElement("a");
    link.href = `${this.chat.base.split("/chat/")[0]}/login`;
    link.textContent = this.chat.says.sign_in ?? "";
    this.trouble.append(" ", link);
  }

  watchFiles() {
    const input = /** @type {HTMLInputElement} */ (find("file", HTMLInputElement));
    input.addEventListener("change", () => {
      this.attach(input.files);
      input.value = "";
    });
    let depth = 0;
    /** @param {DragEvent} event */
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;
    addEventListener("dragenter", (event) => {
      if (hasFiles(event)) this.form.classList.toggle("drops", ++depth > 0);
    });
    addEventListener("dragleave", (event) => {
      if (hasFiles(event)) this.form.classList.toggle("drops", --depth > 0);
    });
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    addEventListener("drop", (event) => {
      depth = 0;
      this.form.classList.remove("drops");
      this.attach(event.dataTransfer?.files, event);
    });
  }

  /** @param {FileList | File[] | null | undefined} files @param {Event} [event] */
  attach(files, event) {
    if (!files?.length) return;
    event?.preventDefault();
    const most = Number(this.chat.root.dataset.files);
    const bytes = Number(this.chat.root.dataset.bytes);
    const together = Number(this.chat.root.dataset.together);
    let size = this.files.reduce((sum, file) => sum + file.size, 0);
    this.say("");
    for (const file of files) {
      if (file.size > bytes) {
        this.say(fill(this.chat.says.too_large ?? "", { name: file.name, size: writeSize(bytes) }));
      } else if (this.files.length >= most) {
        this.say(fill(this.chat.says.too_many ?? "", { count: most }));
      } else if (size + file.size > together) {
        this.say(fill(this.chat.says.too_large_together ?? "", { size: writeSize(together) }));
      } else {
        size += file.size;
        this.files.push(file);
      }
    }
    this.showFiles();
    this.showBusy();
    this.text.focus();
  }

  showFiles() {
    const list = /** @type {HTMLElement} */ (find("attached", HTMLElement));
    list.replaceChildren(...this.files.map((file) => {
      const item = make("li");
      if (file.type.startsWith("image/") && file.size < 4e6) {
        const picture = document.createElement("img");
        picture.alt = "";
        const reader = new FileReader();
        reader.onload = () => (picture.src = String(reader.result));
        reader.readAsDataURL(file);
        item.append(picture);
      }
      item.append(make("span", "", file.name), make("small", "", writeSize(file.size)));
      const back = make("button", "quiet", "×");
      back.setAttribute("type", "button");
      back.setAttribute("aria-label", fill(this.chat.says.take_back ?? "", { name: file.name }));
      back.addEventListener("click", () => {
        this.files = this.files.filter((each) => each !== file);
        this.showFiles();
        this.showBusy();
        this.text.focus();
      });
      item.append(back);
      return item;
    }));
  }
}

/** The commands that begin with what is written. */
class Menu {
  /** @param {Field} field */
  constructor(field) {
    this.field = field;
    this.list = /** @type {HTMLElement} */ (find("menu", HTMLElement));
    /** @type {Command[] | null} */
    this.commands = null;
    this.chosen = 0;
    this.closed = "";
    this.list.addEventListener("pointerdown", (event) => {
      const row = event.target instanceof Element ? event.target.closest("li") : null;
      if (!row) return;
      event.preventDefault();
      this.take([...this.list.children].indexOf(row));
    });
  }

  show() {
    const typed = this.field.text.value;
    const found = /^\/(\S*)$/.exec(typed);
    if (!found || typed === this.closed) return this.hide();
    this.closed = "";
    if (!this.commands) return void this.load();
    const wanted = (found[1] ?? "").toLowerCase();
    const begins = this.commands.filter((each) => each.name.startsWith(wanted));
    const others = this.commands.filter((each) => {
      const says = ` ${each.name} ${each.meaning}`.toLowerCase();
      return !begins.includes(each) && wanted.length > 2 && says.includes(` ${wanted}`);
    });
    const shown = [...begins, ...others];
    this.list.replaceChildren(...shown.map((each, place) => {
      const row = make("li");
      row.id = `command-${place}`;
      row.dataset.name = each.name;
      row.setAttribute("role", "option");
      row.append(make("b", "", `/${each.name}`), make("code", "", each.arguments), make("span", "", each.meaning));
      return row;
    }));
    this.list.hidden = !shown.length;
    this.choose(0);
  }

  async load() {
    this.commands = [];
    const answer = await fetch(this.field.chat.root.dataset.commands ?? "", { headers: { accept: "application/json" } }).catch(() => null);
    if (!answer?.ok) return void (this.commands = null);
    const { commands } = await answer.json();
    this.commands = commands.map((/** @type {string[]} */ row) => ({ name: row[0], arguments: row[1], meaning: row[2] }));
    this.show();
  }

  hide() {
    this.list.hidden = true;
    this.field.text.removeAttribute("aria-activedescendant");
  }

  /** @param {number} place */
  choose(place) {
    const rows = [...this.list.children];
    if (!rows.length) return this.hide();
    this.chosen = (place + rows.length) % rows.length;
    rows.forEach((row, each) => row.setAttribute("aria-selected", String(each === this.chosen)));
    rows[this.chosen]?.scrollIntoView({ block: "nearest" });
    this.field.text.setAttribute("aria-activedescendant", `command-${this.chosen}`);
  }

  /** @param {number} place */
  take(place) {
    const row = this.list.children[place];
    if (!(row instanceof HTMLElement)) return;
    const needsMore = Boolean(row.querySelector("code")?.textContent);
    this.field.write(`/${row.dataset.name}`);
    if (needsMore) this.field.text.value += " ";
    this.field.changed();
    this.closed = this.field.text.value;
    this.hide();
  }

  /** Returns whether the menu took the key. @param {KeyboardEvent} event */
  press(event) {
    if (this.list.hidden) return false;
    const row = this.list.children[this.chosen];
    const isWhole = row instanceof HTMLElement && this.field.text.value === `/${row.dataset.name}`;
    if (event.key === "ArrowDown") this.choose(this.chosen + 1);
    else if (event.key === "ArrowUp") this.choose(this.chosen - 1);
    else if (event.key === "Tab" && !event.shiftKey) this.take(this.chosen);
    else if (event.key === "Enter" && !event.shiftKey && !isWhole) this.take(this.chosen);
    else if (event.key === "Escape") {
      this.closed = this.field.text.value;
      this.hide();
      event.stopPropagation();
    } else return false;
    return true;
  }
}

/** The microphone: a tap begins and ends a recording, or it lasts as long as it is held. */
class Voice {
  /** @param {Field} field */
  constructor(field) {
    this.field = field;
    /** @type {MediaRecorder | null} */
    this.recorder = null;
    this.began = 0;
    const button = find("voice", HTMLButtonElement);
    if (!button || !navigator.mediaDevices || !("MediaRecorder" in window)) return;
    this.button = button;
    button.hidden = false;
    this.wanted = false;
    const toggle = () => (this.wanted ? this.end() : void this.begin());
    // the keyboard clicks without a pointer
    button.addEventListener("click", (event) => event.detail === 0 && toggle());
    let held = 0;
    button.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      button.setPointerCapture(event.pointerId);
      held = this.wanted ? 0 : Date.now();
      toggle();
    });
    button.addEventListener("contextmenu", (event) => event.preventDefault());
    button.addEventListener("pointerup", () => {
      if (held && Date.now() - held > 600) this.end();
      held = 0;
    });
  }

  async begin() {
    this.wanted = true;
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      // let go of before it was there
      if (!this.wanted) return stream.getTracks().forEach((track) => track.stop());
      const type = ["audio/webm;codecs=opus", "audio/mp4"].find((each) => MediaRecorder.isTypeSupported(each)) ?? "";
      const recorder = new MediaRecorder(stream, type ? { mimeType: type } : {});
      /** @type {Blob[]} */
      const parts = [];
      recorder.ondataavailable = (event) => parts.push(event.data);
      recorder.onstop = () => {
        stream.getTracks().forEach((track) => track.stop());
        this.show(false);
        if (this.recorder !== recorder) return;
        this.wanted = false;
        this.recorder = null;
        const kind = (recorder.mimeType || "audio/webm").split(";")[0] ?? "";
        const name = `voice.${kind.endsWith("mp4") ? "m4a" : "webm"}`;
        if (parts.length) void this.field.post("", [new File(parts, name, { type: kind })]);
      };
      this.recorder = recorder;
      this.began = Date.now();
      recorder.start();
      this.show(true);
    } catch (problem) {
      this.wanted = false;
      const why = problem instanceof Error ? problem.message : "";
      this.field.say(fill(this.field.chat.says.no_microphone ?? "", { why }));
    }
  }

  end() {
    this.wanted = false;
    this.recorder?.stop();
  }

  /** Drops the recording; returns whether one was wanted. */
  cancel() {
    const { recorder, wanted } = this;
    this.wanted = false;
    this.recorder = null;
    recorder?.stop();
    return wanted;
  }

  /** @param {boolean} records */
  show(records) {
    this.button?.classList.toggle("records", records);
    clearInterval(this.timer);
    if (!records) return this.field.say("");
    const tell = () => {
      const seconds = Math.round((Date.now() - this.began) / 1000);
      this.field.say(fill(this.field.chat.says.recording ?? "", { seconds }));
    };
    tell();
    this.timer = setInterval(tell, 1_000);
  }
}

/** @param {Element | null | undefined} body */
function readText(body) {
  if (!(body instanceof HTMLElement)) return "";
  return body.innerText.trim();
}

/** @param {Element | null | undefined} table */
function readTable(table) {
  const rows = [...(table?.querySelectorAll("tr") ?? [])];
  return rows.map((row) => [...row.children].map((cell) => (cell.textContent ?? "").trim().replace(/\s+/g, " ")).join("\t")).join("\n");
}

/** @param {HTMLElement} button @param {string} text @param {Record<string, string>} says */
async function copy(button, text, says) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = says.copied ?? "";
    setTimeout(() => (button.textContent = words), 1_500);
  } catch {
    const range = document.createRange();
    const body = button.closest("li")?.querySelector(".bubble, .body");
    if (body) range.selectNodeContents(body);
    getSelection()?.removeAllRanges();
    getSelection()?.addRange(range);
  }
}

/** Adds the buttons that copy code and tables. @param {ParentNode} root @param {Record<string, string>} says */
function decorate(root, says) {
  for (const caption of root.querySelectorAll("figure.code > figcaption:not(:has(button))")) {
    const button = make("button", "quiet", says.copy);
    button.dataset.act = "code";
    caption.append(button);
  }
  for (const wide of root.querySelectorAll(".body .wide:not(:has(button))")) {
    const button = make("button", "quiet", says.copy_table);
    button.dataset.act = "table";
    wide.append(button);
  }
}

/** Replaces the rail: what stays glides to its place, what comes slides in. @param {HTMLElement} rail @param {string} html */
function glide(rail, html) {
  /** @type {Map<string, DOMRect>} */
  const places = new Map();
  for (const row of rail.querySelectorAll("[data-tool]")) {
    places.set(row.getAttribute("data-tool") ?? "", row.getBoundingClientRect());
  }
  const top = rail.scrollTop;
  rail.replaceChildren(parse(html));
  rail.scrollTop = top;
  if (calm.matches || document.hidden) return;
  for (const row of rail.querySelectorAll("[data-tool]")) {
    const was = places.get(row.getAttribute("data-tool") ?? "");
    const is = row.getBoundingClientRect();
    const options = { duration: 320, easing: "cubic-bezier(.2,.7,.2,1)" };
    if (!was) row.animate([{ opacity: 0, transform: "translateX(1.5rem)" }, { opacity: 1, transform: "none" }], options);
    else if (Math.abs(was.top - is.top) > 1) row.animate([{ transform: `translateY(${was.top - is.top}px)` }, { transform: "none" }], options);
  }
}

/** Finds chats by what is typed, once there are many. */
function watchChats() {
  const field = find("find", HTMLInputElement);
  const chats = find("chats", HTMLElement);
  if (!field || !chats) return;
  field.hidden = chats.children.length < 9;
  const filter = () => {
    const wanted = field.value.trim().toLowerCase();
    for (const row of chats.children) {
      /** @type {HTMLElement} */ (row).hidden = !(row.textContent ?? "").toLowerCase().includes(wanted);
    }
  };
  field.oninput = filter;
  filter();
}

localize(document);
const root = find("chat", HTMLElement);
if (root) new Chat(root);

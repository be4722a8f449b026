// Keeps what a page shows of a run at work as it is now: every two seconds, while somebody looks.

const EVERY = 2000;

/** @param {Element} row @returns {string} what tells a row that opens from the others */
const keyOf = (row) => row.getAttribute("data-key") ?? "";

/** @param {Element} old @param {Element} fresh  Opens again what was open, and keeps the focus. */
function keepOpen(old, fresh) {
  const open = new Set([...old.querySelectorAll("details[open]")].map(keyOf));
  const focused = document.activeElement?.closest("details");
  for (const row of fresh.querySelectorAll("details")) row.open = open.has(keyOf(row));
  old.replaceWith(fresh);
  if (!focused || !old.contains(focused)) return;
  const again = [...fresh.querySelectorAll("details")].find((row) => keyOf(row) === keyOf(focused));
  again?.querySelector("summary")?.focus({ preventScroll: true });
}

/** @returns {Promise<boolean>} whether to look again */
async function look() {
  const old = document.querySelector("#live[data-live]");
  if (!old) return false;
  if (document.hidden) return true;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return answer.status >= 500;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("#live");
    if (!fresh) return false;
    keepOpen(old, document.importNode(fresh, true));
  } catch {
    // the server is away: it may come back
  }
  return true;
}

async function lookAgain() {
  if (await look()) setTimeout(lookAgain, EVERY);
}

setTimeout(lookAgain, EVERY);

// Time and chance: each asks the host, and throws EPERM where it was not granted. Nothing here ever shows a made-up value.

const TheirDate = Date;
const drawNext = Math.random;
let seeded = false;

function now() {
  return ask("clock", null);
}

function Date_(...parts) {
  if (!new.target) return new TheirDate(now()).toString();
  return construct(TheirDate, parts.length ? parts : [floor(now())], new.target);
}

Date_.prototype = TheirDate.prototype;
defineProperty(Date_, "prototype", { writable: false });
defineProperty(Date_, "name", { value: "Date" });
defineProperty(Date_, "length", { value: 7 });
define("parse", TheirDate.parse, Date_);
define("UTC", TheirDate.UTC, Date_);
define("now", { now: () => floor(now()) }.now, Date_);
define("constructor", Date_, TheirDate.prototype);
define("Date", Date_);

// Differences are what it is for: it counts from the same moment as Date, and says so.
define("performance", { now: () => now(), timeOrigin: 0 });

function randomBytes(count) {
  const bytes = Uint8Array.fromBase64(ask("random", { n: count }));
  if (bytes.length !== count) throw failure("EHOST", "the host gave too few random bytes");
  return bytes;
}

define("random", { random() {
  if (!seeded) seed(randomBytes(8));
  seeded = true;
  return drawNext();
} }.random, Math);

for (const name of ["setTimeout", "setInterval", "setImmediate"])
  define(name, () => {
    throw failure("ENOSYS", `${name} does not exist here: a capability computes and returns, it cannot wait`);
  });

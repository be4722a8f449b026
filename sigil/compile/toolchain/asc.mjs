// Compiles main.ts with sigil.ts, both in the current folder, to main.wasm: node asc.mjs PATH-OF-asc.js FLAG…
// The compiler sees these two files and its own library; whatever else a source names does not exist.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [compiler, ...flags] = process.argv.slice(2);
const asc = await import(pathToFileURL(compiler));
const ENTRY = `import { answer } from "./main";
import { Json, answered } from "./sigil";
export { sigil_alloc, sigil_out_ptr, sigil_out_len } from "./sigil";
export function sigil_run(at: usize, size: i32): i32 { return answered(at, size, (input: Json): Json => answer(input)); }
`;
const files = {
  "entry.ts": ENTRY,
  "main.ts": readFileSync("main.ts", "utf8"),
  "sigil.ts": readFileSync("sigil.ts", "utf8"),
};
const wrong = [];

const { error, stderr } = await asc.main(["entry.ts", "--outFile", "main.wasm", ...flags], {
  readFile: (name) => (Object.hasOwn(files, name) ? files[name] : null),
  writeFile: (name, content) => name === "main.wasm" && writeFileSync(name, content),
  listFiles: () => [],
  reportDiagnostic(diagnostic) {
    if (diagnostic.category === 3) wrong.push(diagnostic);
  },
});
if (error) {
  const first = wrong.find(({ range }) => range?.source.normalizedPath === "main.ts") ?? wrong[0];
  const place = first?.range && first.range.source.normalizedPath === "main.ts" ? lineAndColumn(files["main.ts"], first.range.start) : "";
  console.log(JSON.stringify({ place, file: first?.range?.source.normalizedPath ?? "", message: first?.message ?? `${error.message}` }));
  process.exitCode = 1;
}

function lineAndColumn(text, at) {
  const before = text.slice(0, at).split("\n");
  return `line ${before.length}, column ${before.at(-1).length + 1}: `;
}

// Bundles what is used of sucrase into one script: node build.mjs OUTPUT. The same packages give the same bytes.
import { build } from "esbuild";

const UNUSED =
  /(CJSImportProcessor|computeSourceMap|CJSImportTransformer|FlowTransformer|JestHoistTransformer|JSXTransformer|NumericSeparatorTransformer|OptionalCatchBindingTransformer|OptionalChainingNullishTransformer|ReactDisplayNameTransformer|ReactHotLoaderTransformer|plugins\/flow|plugins\/jsx\/.*)(\.js)?$/;
const HEAD = "// sucrase (MIT licence, see NOTICE), made by scripts/build-typescript from scripts/typescript: not written by hand.";

const unused = {
  name: "unused",
  setup(bundler) {
    bundler.onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: "unused" }));
    bundler.onLoad({ filter: /.*/, namespace: "unused" }, () => ({ contents: "module.exports = new Proxy({}, {});", loader: "js" }));
  },
};

await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: ["entry.js"],
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "typescript",
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
  banner: { js: HEAD },
  outfile: process.argv[2],
  plugins: [unused],
});

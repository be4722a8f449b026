// `answer` gets the input as JSON, checked against the schema, and returns the answer or a failure with a code.
// What there is in "./sigil", docs/abi.md tells.
import { Json, fail } from "./sigil";

export function answer(input: Json): Json {
  const text = input.get("text").text.trim();
  if (text.length == 0) return fail("EINVAL", "whom shall I greet?");
  return Json.text(`Hello, ${text}!`);
}

// The function is called with the input, checked against the schema. It returns a string or anything that JSON can say.
// To fail, it throws an error with a code. What there is beside the language, sigil.d.ts tells, and input.d.ts has the
// types of the schema: `sigil types` writes it anew.
export default function (input: Input, env: Env): string {
  const text = input.text.trim();
  if (!text) throw Object.assign(new Error("whom shall I greet?"), { code: "EINVAL" });
  return `Hello, ${text}!`;
}

// The body of `async (input, env) => {…}`: return a string or anything that JSON can say.
// `input` has been checked against the schema. To fail, throw an error with a code.
if (!input.text.trim()) throw Object.assign(new Error("whom shall I greet?"), { code: "EINVAL" });
return `Hello, ${input.text.trim()}!`;

// `answer` gets the input as JSON, checked against the schema, and returns the answer or a failure with a code.
// What there is in `crate::sigil`, docs/abi.md tells.
use crate::sigil::{fail, Failure, Json};

pub fn answer(input: Json) -> Result<Json, Failure> {
    let text = input.get("text").text().trim();
    if text.is_empty() {
        return fail("EINVAL", "whom shall I greet?");
    }
    Ok(format!("Hello, {text}!").into())
}

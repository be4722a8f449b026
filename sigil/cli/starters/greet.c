// `answer` returns 0 when what was put is the answer. `sigil.h` says what there is to read the input and to write.
#include "sigil.h"

int answer(void)
{
    sigil_text text = sigil_get_text("text");
    if (!text.size) return sigil_fail("EINVAL", "whom shall I greet?");
    char *greeting = malloc(text.size + sizeof "Hello, !");
    if (!greeting) return sigil_fail("ENOMEM", "the name is too long");
    memcpy(greeting, "Hello, ", 7);
    memcpy(greeting + 7, text.at, text.size);
    greeting[7 + text.size] = '!';
    sigil_put_text(greeting, text.size + 8);
    return 0;
}

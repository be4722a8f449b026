// The edit distance of Vladimir Levenshtein (1965), in characters of Unicode, with two rows of the table of Wagner and Fischer.
#include "sigil.h"

static size_t distance(sigil_points a, sigil_points b)
{
    uint32_t *row = malloc((b.size + 1) * sizeof(uint32_t));
    if (!row) __builtin_trap();
    for (size_t j = 0; j <= b.size; j++) row[j] = (uint32_t)j;
    for (size_t i = 1; i <= a.size; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= b.size; j++) {
            uint32_t replaced = diagonal + (a.at[i - 1] != b.at[j - 1]);
            uint32_t least = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < least ? replaced : least;
        }
    }
    return row[b.size];
}

int answer(void)
{
    sigil_points a = sigil_get_points("a"), b = sigil_get_points("b");
    size_t longest = a.size > b.size ? a.size : b.size;
    if (sigil_get_boolean("ignore_case")) { sigil_lower(a); sigil_lower(b); }
    size_t edits = distance(a, b);
    size_t percent = longest ? ((longest - edits) * 200 + longest) / (2 * longest) : 100;
    sigil_put("{\"distance\":");
    sigil_put_integer((int64_t)edits);
    sigil_put(",\"similarity\":");
    sigil_put_integer((int64_t)percent);
    sigil_put("}");
    return 0;
}

// The edit distance of Vladimir Levenshtein (1965), in characters of Unicode, with two rows of the table of Wagner and Fischer.
#include "sigil.h"

typedef struct { uint32_t *at; size_t size; } points;

static points decode(sigil_text text)
{
    points out = {malloc(text.size * sizeof(uint32_t) + 1), 0};
    if (!out.at) __builtin_trap();
    for (size_t i = 0; i < text.size;) {
        unsigned char lead = (unsigned char)text.at[i++];
        int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        uint32_t point = more ? lead & (0x3F >> more) : lead;
        while (more-- && i < text.size) point = point << 6 | (text.at[i++] & 0x3F);
        out.at[out.size++] = point;
    }
    return out;
}

static uint32_t lower(uint32_t point)
{
    if (point >= 'A' && point <= 'Z') return point + 32;
    if ((point >= 0xC0 && point <= 0xDE && point != 0xD7) || (point >= 0x410 && point <= 0x42F)) return point + 32;
    return point >= 0x391 && point <= 0x3A9 ? point + 32 : point;
}

static size_t distance(points a, points b)
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
    points a = decode(sigil_get_text("a")), b = decode(sigil_get_text("b"));
    size_t longest = a.size > b.size ? a.size : b.size;
    if (a.size > 10000 || b.size > 10000) return sigil_fail("ETOOBIG", "a text has at most 10,000 characters");
    if (sigil_get_boolean("ignore_case")) {
        for (size_t i = 0; i < a.size; i++) a.at[i] = lower(a.at[i]);
        for (size_t i = 0; i < b.size; i++) b.at[i] = lower(b.at[i]);
    }
    size_t edits = distance(a, b);
    size_t percent = longest ? ((longest - edits) * 200 + longest) / (2 * longest) : 100;
    sigil_put("{\"distance\":");
    sigil_put_integer((int64_t)edits);
    sigil_put(",\"similarity\":");
    sigil_put_integer((int64_t)percent);
    sigil_put("}");
    return 0;
}

// Three ways to say how alike two texts are, in characters of Unicode: Jaro and Winkler (1990) for names, the coefficient of Dice
// (1945) over n-grams for words that moved, and the longest common subsequence for what was kept in order.
#include "sigil.h"

typedef sigil_points points;

static void *room(size_t size)
{
    void *at = calloc(size ? size : 1, 1);
    if (!at) __builtin_trap();
    return at;
}

static double jaro(points a, points b)
{
    size_t longest = a.size > b.size ? a.size : b.size, window = longest / 2 ? longest / 2 - 1 : 0, same = 0, moved = 0;
    if (!longest) return 1;
    char *in_a = room(a.size), *in_b = room(b.size);
    for (size_t i = 0; i < a.size; i++)
        for (size_t j = i > window ? i - window : 0; j < b.size && j <= i + window; j++)
            if (!in_b[j] && a.at[i] == b.at[j]) { in_a[i] = in_b[j] = 1; same++; break; }
    if (!same) return 0;
    for (size_t i = 0, j = 0; i < a.size; i++) {
        if (!in_a[i]) continue;
        while (!in_b[j]) j++;
        moved += a.at[i] != b.at[j++];
    }
    double m = (double)same;
    return (m / (double)a.size + m / (double)b.size + (m - (double)(moved / 2)) / m) / 3;
}

// What begins alike, up to four characters, counts more: a tenth of what is missing for each.
static double winkler(points a, points b)
{
    double score = jaro(a, b);
    size_t prefix = 0;
    while (prefix < 4 && prefix < a.size && prefix < b.size && a.at[prefix] == b.at[prefix]) prefix++;
    return score + 0.1 * (double)prefix * (1 - score);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// All runs of n characters, sorted; three characters of 21 bits fit into one number.
static size_t grams(points text, size_t n, uint64_t **out)
{
    size_t size = text.size >= n ? text.size - n + 1 : 0;
    *out = room(size * sizeof(uint64_t));
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < n; k++) (*out)[i] = (*out)[i] << 21 | text.at[i + k];
    qsort(*out, size, sizeof(uint64_t), ascending);
    return size;
}

static double dice(points a, points b, size_t n)
{
    uint64_t *x, *y;
    size_t xs = grams(a, n, &x), ys = grams(b, n, &y), shared = 0;
    if (!xs || !ys) return a.size == b.size && !memcmp(a.at, b.at, a.size * sizeof(uint32_t));
    for (size_t i = 0, j = 0; i < xs && j < ys;) {
        if (x[i] == y[j]) { shared++; i++; j++; }
        else if (x[i] < y[j]) i++;
        else j++;
    }
    return 2.0 * (double)shared / (double)(xs + ys);
}

// The table of lengths two rows at a time; one bit a cell remembers whether the way back goes up.
static points common(points a, points b)
{
    size_t width = b.size + 1, n = 0;
    uint16_t *row = room(width * sizeof(uint16_t)), *above = room(width * sizeof(uint16_t)), *swap;
    unsigned char *up = room((a.size + 1) * width / 8 + 1);
    for (size_t i = 1; i <= a.size; i++, swap = row, row = above, above = swap)
        for (size_t j = 1; j < width; j++) {
            if (a.at[i - 1] == b.at[j - 1]) { row[j] = (uint16_t)(above[j - 1] + 1); continue; }
            size_t cell = i * width + j;
            if (above[j] >= row[j - 1]) up[cell / 8] |= (unsigned char)(1 << cell % 8);
            row[j] = above[j] >= row[j - 1] ? above[j] : row[j - 1];
        }
    points out = {room((a.size + 1) * sizeof(uint32_t)), above[b.size]};
    n = out.size;
    for (size_t i = a.size, j = b.size; i && j;) {
        size_t cell = i * width + j;
        if (a.at[i - 1] == b.at[j - 1]) { out.at[--n] = a.at[i - 1]; i--; j--; }
        else if (up[cell / 8] >> cell % 8 & 1) i--;
        else j--;
    }
    return out;
}

static void put(const char *name, double value)
{
    sigil_put(name);
    sigil_put("\":");
    sigil_put_number(value, 6);
}

static void put_points(points text)
{
    char *utf8 = room(text.size * 4 + 1), *to = utf8;
    for (size_t i = 0; i < text.size; i++) to = sigil_utf8(to, text.at[i]);
    sigil_put_text(utf8, (size_t)(to - utf8));
}

int answer(void)
{
    points a = sigil_get_points("a"), b = sigil_get_points("b");
    if (sigil_get_boolean("ignore_case")) { sigil_lower(a); sigil_lower(b); }
    points kept = common(a, b);
    put("{\"jaro_winkler", winkler(a, b));
    put(",\"ngram_dice", dice(a, b, (size_t)sigil_get_integer("n", 2)));
    put(",\"subsequence_ratio", a.size + b.size ? 2.0 * (double)kept.size / (double)(a.size + b.size) : 1);
    sigil_put(",\"subsequence_length\":");
    sigil_put_integer((int64_t)kept.size);
    sigil_put(",\"subsequence\":");
    put_points(kept);
    sigil_put("}");
    return 0;
}

// Small factors by trial division, large ones by the rho method of Pollard (1975) in Brent's form; primes by the test of Miller and
// Rabin with the first twelve primes as bases, which errs on no number below 2^64 (Sorenson and Webster 2015).
#include "sigil.h"

static const uint64_t BASES[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
static const uint64_t EXACT = 9007199254740991u; // 2^53 - 1: what lies beyond is a string in the answer

static uint64_t times(uint64_t a, uint64_t b, uint64_t n) { return (uint64_t)((unsigned __int128)a * b % n); }

static uint64_t power(uint64_t base, uint64_t exponent, uint64_t n)
{
    uint64_t out = 1 % n;
    for (base %= n; exponent; exponent >>= 1, base = times(base, base, n))
        if (exponent & 1) out = times(out, base, n);
    return out;
}

static int witness(uint64_t base, uint64_t n)
{
    int twos = __builtin_ctzll(n - 1);
    uint64_t x = power(base, (n - 1) >> twos, n);
    if (x == 1 || x == n - 1) return 0;
    while (--twos) if ((x = times(x, x, n)) == n - 1) return 0;
    return 1;
}

static int is_prime(uint64_t n)
{
    if (n < 2) return 0;
    for (int i = 0; i < 12; i++) if (n % BASES[i] == 0) return n == BASES[i];
    for (int i = 0; i < 12; i++) if (witness(BASES[i], n)) return 0;
    return 1;
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) { uint64_t rest = a % b; a = b; b = rest; }
    return a;
}

// A factor of the composite n, or n itself when this sequence finds none.
static uint64_t rho(uint64_t n, uint64_t add)
{
    uint64_t y = 2, x = y, saved = y, found = 1, product = 1;
    for (uint64_t length = 1; found == 1; length *= 2) {
        x = y;
        for (uint64_t done = 0; done < length && found == 1; done += 128) {
            saved = y;
            for (uint64_t i = 0; i < 128 && done + i < length; i++) {
                y = (times(y, y, n) + add) % n;
                product = times(product, x > y ? x - y : y - x, n);
            }
            found = divisor(product, n);
        }
    }
    if (found < n) return found;
    do saved = (times(saved, saved, n) + add) % n; while ((found = divisor(x > saved ? x - saved : saved - x, n)) == 1);
    return found;
}

static uint64_t primes[64];
static size_t count;

static void split(uint64_t n)
{
    if (n == 1) return;
    if (is_prime(n)) { primes[count++] = n; return; }
    uint64_t factor = n;
    for (uint64_t add = 1; factor == n; add++) factor = rho(n, add);
    split(factor);
    split(n / factor);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void put(uint64_t value)
{
    if (value > EXACT) sigil_put("\"");
    sigil_put_integer((int64_t)value);
    if (value > EXACT) sigil_put("\"");
}

// The number behind `number`, written as a JSON number or string; 0 when it is none that we take.
static uint64_t given(void)
{
    sigil_text text = sigil_get_text("number");
    if (!text.at) { int64_t value = sigil_get_integer("number", 0); return value > 0 ? (uint64_t)value : 0; }
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return 0;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(text.at[i] - '0'), &value)) return 0;
    }
    return value <= INT64_MAX ? value : 0;
}

int answer(void)
{
    uint64_t n = given(), rest = n, divisors = 1, totient = n;
    if (!n) return sigil_fail("EINVAL", "give a whole number from 1 to 9223372036854775807 (2^63 - 1), in digits alone");
    for (uint64_t small = 2; small < 1000; small++)
        for (; rest % small == 0; rest /= small) primes[count++] = small;
    split(rest);
    qsort(primes, count, sizeof *primes, ascending);
    sigil_put("{\"number\":");
    put(n);
    sigil_put(",\"prime\":");
    sigil_put(count == 1 ? "true" : "false");
    sigil_put(",\"factors\":[");
    for (size_t i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && primes[i + run] == primes[i]; run++) {}
        sigil_put(i ? ",{\"prime\":" : "{\"prime\":");
        put(primes[i]);
        sigil_put(",\"power\":");
        sigil_put_integer((int64_t)run);
        sigil_put("}");
        divisors *= run + 1;
        totient -= totient / primes[i];
    }
    sigil_put("],\"divisors\":");
    put(divisors);
    sigil_put(",\"totient\":");
    put(totient);
    sigil_put("}");
    return 0;
}

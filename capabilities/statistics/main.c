// The numbers that describe one list, or two that belong together. Deviations are taken from the mean and divided by the largest of
// them before they are squared, so that neither very large nor very small numbers lose anything. Quantiles are those of type 7 in
// Hyndman and Fan (1996), as spreadsheets, R and NumPy have them.
#include "sigil.h"
#include <math.h>

#define MOST 20000

typedef struct { double *at; size_t size; } list;
typedef struct { double *at, mean, scale, squares; } spread;

static list numbers(const char *name)
{
    sigil_text json = sigil_get(name);
    list out = {0, 0};
    if (!json.at) return out;
    out.at = malloc((json.size / 2 + 1) * sizeof(double));
    if (!out.at) __builtin_trap();
    for (const char *at = json.at, *end = json.at + json.size; at < end;) {
        char *behind;
        out.at[out.size] = strtod(at, &behind);
        out.size += behind > at;
        at = behind > at ? behind : at + 1;
    }
    return out;
}

// Neumaier's sum: what rounding loses is added up apart.
static double sum(const double *at, size_t size)
{
    double total = 0, lost = 0;
    for (size_t i = 0; i < size; i++) {
        double next = total + at[i];
        lost += fabs(total) >= fabs(at[i]) ? (total - next) + at[i] : (at[i] - next) + total;
        total = next;
    }
    return total + lost;
}

static spread spread_of(list x)
{
    spread out = {malloc((x.size + 1) * sizeof(double)), sum(x.at, x.size) / (double)x.size, 0, 0};
    if (!out.at) __builtin_trap();
    double far = 0;
    for (size_t i = 0; i < x.size; i++) {
        out.at[i] = x.at[i] - out.mean;
        out.scale = fmax(out.scale, fabs(out.at[i]));
        far = fmax(far, fabs(x.at[i]));
    }
    if (out.scale <= far * 1e-15) out.scale = 0; // all are the same but for the rounding of the mean
    for (size_t i = 0; i < x.size; i++) {
        out.at[i] = out.scale ? out.at[i] / out.scale : 0;
        out.squares += out.at[i] * out.at[i];
    }
    return out;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(list sorted, double share)
{
    double place = share * (double)(sorted.size - 1), below = floor(place);
    size_t i = (size_t)below, next = i + 1 < sorted.size ? i + 1 : i;
    return sorted.at[i] + (place - below) * (sorted.at[next] - sorted.at[i]);
}

static void put_number(double value) { sigil_put_number(value, 12); }

static void put(const char *name, double value)
{
    sigil_put(",\"");
    sigil_put(name);
    sigil_put("\":");
    put_number(value);
}

static void put_quantiles(list sorted, list shares)
{
    sigil_put(",\"quantiles\":[");
    for (size_t i = 0; i < shares.size; i++) {
        if (i) sigil_put(",");
        put_number(quantile(sorted, shares.at[i]));
    }
    sigil_put("]");
}

// The value that is there most often, when only one is.
static void put_mode(list sorted)
{
    size_t best = 1, many = 0;
    double mode = 0;
    for (size_t i = 0, run = 0; i < sorted.size; i++) {
        run = i && sorted.at[i] == sorted.at[i - 1] ? run + 1 : 1;
        if (run > best) { best = run; many = 1; mode = sorted.at[i]; }
        else if (run == best) many++;
    }
    if (many == 1 && best > 1) put("mode", mode);
}

static void put_pairs(spread x, spread y, size_t size)
{
    double shared = 0;
    for (size_t i = 0; i < size; i++) shared += x.at[i] * y.at[i];
    put("y_mean", y.mean);
    if (size > 1) put("covariance", shared * x.scale * y.scale / (double)(size - 1));
    if (!x.scale) return;
    double slope = shared / x.squares * (y.scale / x.scale);
    put("slope", slope);
    put("intercept", y.mean - slope * x.mean);
    if (!y.scale) return;
    double r = fmax(-1, fmin(1, shared / sqrt(x.squares * y.squares)));
    put("correlation", r);
    put("r_squared", r * r);
}

int answer(void)
{
    list x = numbers("x"), y = numbers("y"), shares = numbers("quantiles");
    if (!x.size) return sigil_fail("EINVAL", "x holds no numbers: give at least one");
    if (x.size > MOST) return sigil_fail("EINVAL", "a list has at most 20,000 numbers");
    if (y.at && y.size != x.size) return sigil_fail("EINVAL", "x and y belong together: give as many numbers in the one as in the other");
    for (size_t i = 0; i < x.size; i++)
        if (fabs(x.at[i]) > 1e150 || (y.at && fabs(y.at[i]) > 1e150)) return sigil_fail("EINVAL", "a number is too large: at most 1e150");
    spread s = spread_of(x);
    double total = sum(x.at, x.size);
    qsort(x.at, x.size, sizeof(double), ascending);
    sigil_put("{\"count\":");
    sigil_put_integer((int64_t)x.size);
    put("sum", total);
    put("mean", s.mean);
    put("median", quantile(x, 0.5));
    put_mode(x);
    put("min", x.at[0]);
    put("max", x.at[x.size - 1]);
    put("q1", quantile(x, 0.25));
    put("q3", quantile(x, 0.75));
    if (x.size > 1) put("stdev", s.scale * sqrt(s.squares / (double)(x.size - 1)));
    put("population_stdev", s.scale * sqrt(s.squares / (double)x.size));
    if (shares.size) put_quantiles(x, shares);
    if (y.at) put_pairs(s, spread_of(y), x.size);
    sigil_put("}");
    return 0;
}

// Small matrices of doubles. Everything but sums and products is Gaussian elimination with scaled partial pivoting; a pivot below
// 1e-13 of its row's largest number counts as zero, so that what rounding leaves of a zero is none.
#include "sigil.h"
#include <math.h>

#define MOST 60
#define ZERO 1e-13

typedef struct { int rows, columns; double at[MOST][2 * MOST]; } matrix;

static matrix a, b, out;
static double determinant;

// Reads [[1, 2], [3, 4]] or, as one column, [1, 2]; a message when it is none.
static const char *reading(const char *name, matrix *m)
{
    sigil_text json = sigil_get(name);
    int depth = 0, column = 0, flat = 1;
    for (const char *at = json.at, *end = json.at + json.size; at < end;) {
        char *behind = (char *)at + 1;
        if (*at == '[' && ++depth == 2) { flat = 0; column = 0; }
        else if (*at == ']' && depth-- == 2) {
            if (m->rows && column != m->columns) return "every row of a matrix has as many numbers as the first";
            if (!column) return "a row of a matrix has at least one number";
            m->columns = column;
            m->rows++;
        } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
            if (m->rows >= MOST || column >= MOST) return "a matrix has at most 60 rows and 60 columns";
            if (depth == 1 && !flat) return "a matrix is a list of rows";
            m->at[m->rows][column] = strtod(at, &behind);
            if (fabs(m->at[m->rows][column]) > 1e100) return "a number is too large: at most 1e100";
            if (depth == 1) { m->rows++; m->columns = 1; }
            else column++;
        }
        at = behind;
    }
    return m->rows ? 0 : "a matrix has at least one row";
}

// Reduces the first `columns` columns of `m` to those of the identity, as far as they are independent, and answers how many are.
static int reduce(matrix *m, int columns)
{
    int rank = 0;
    double scale[MOST];
    determinant = 1;
    for (int i = 0; i < m->rows; i++) {
        scale[i] = 0;
        for (int j = 0; j < columns; j++) scale[i] = fmax(scale[i], fabs(m->at[i][j]));
    }
    for (int column = 0; column < columns && rank < m->rows; column++) {
        int best = rank;
        for (int i = rank; i < m->rows; i++)
            if (scale[i] && fabs(m->at[i][column]) / scale[i] > (scale[best] ? fabs(m->at[best][column]) / scale[best] : 0)) best = i;
        if (!scale[best] || fabs(m->at[best][column]) <= ZERO * scale[best]) continue;
        for (int j = 0; best != rank && j < 2 * MOST; j++) {
            double kept = m->at[rank][j];
            m->at[rank][j] = m->at[best][j];
            m->at[best][j] = kept;
        }
        double pivot = m->at[rank][column], kept = scale[rank];
        scale[rank] = scale[best];
        scale[best] = kept;
        determinant *= best == rank ? pivot : -pivot;
        for (int j = 0; j < m->columns; j++) m->at[rank][j] /= pivot;
        for (int i = 0; i < m->rows; i++) {
            double factor = i == rank ? 0 : m->at[i][column];
            for (int j = 0; factor && j < m->columns; j++) m->at[i][j] -= factor * m->at[rank][j];
            m->at[i][column] = i == rank;
        }
        rank++;
    }
    if (rank < columns) determinant = 0;
    return rank;
}

static void put_number(double value) { sigil_put_number(value, 12); }

static int put_result(void)
{
    sigil_put("[");
    for (int i = 0; i < out.rows; i++) {
        sigil_put(i ? ",[" : "[");
        for (int j = 0; j < out.columns; j++) {
            if (!isfinite(out.at[i][j])) return sigil_fail("EINVAL", "the result is too large for a number");
            if (j) sigil_put(",");
            put_number(out.at[i][j]);
        }
        sigil_put("]");
    }
    sigil_put("]");
    return 0;
}

static int combine(int sign)
{
    if (a.rows != b.rows || a.columns != b.columns) return sigil_fail("EINVAL", "a and b need the same number of rows and columns");
    out = a;
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < a.columns; j++) out.at[i][j] += sign * b.at[i][j];
    return put_result();
}

static int multiply(void)
{
    if (a.columns != b.rows) return sigil_fail("EINVAL", "to multiply, a needs as many columns as b has rows");
    out.rows = a.rows;
    out.columns = b.columns;
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < b.columns; j++)
            for (int k = 0; k < a.columns; k++) out.at[i][j] += a.at[i][k] * b.at[k][j];
    return put_result();
}

static int transpose(void)
{
    out.rows = a.columns;
    out.columns = a.rows;
    for (int i = 0; i < out.rows; i++)
        for (int j = 0; j < out.columns; j++) out.at[i][j] = a.at[j][i];
    return put_result();
}

// The x for which a x = b, b being the identity for the inverse.
static int solve(void)
{
    int n = a.rows;
    if (n != a.columns) return sigil_fail("EINVAL", "a has to be square: as many rows as columns");
    if (n != b.rows) return sigil_fail("EINVAL", "b needs as many rows as a");
    for (int i = 0; i < n; i++)
        for (int j = 0; j < b.columns; j++) a.at[i][n + j] = b.at[i][j];
    a.columns = n + b.columns;
    if (reduce(&a, n) < n) return sigil_fail("ESINGULAR", "the matrix is singular: it has no inverse and no single solution; ask for its rank");
    out.rows = n;
    out.columns = b.columns;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < b.columns; j++) out.at[i][j] = a.at[i][n + j];
    return put_result();
}

static int is(const char *name) { return sigil_is("operation", name); }

int answer(void)
{
    int two = is("multiply") || is("add") || is("subtract") || is("solve");
    const char *wrong = reading("a", &a);
    if (wrong) return sigil_fail("EINVAL", wrong);
    if (two != !!sigil_get("b").at) return sigil_fail("EINVAL", two ? "give the second matrix as b" : "this operation takes no b");
    if (two && (wrong = reading("b", &b))) return sigil_fail("EINVAL", wrong);
    if (is("multiply")) return multiply();
    if (is("add") || is("subtract")) return combine(is("add") ? 1 : -1);
    if (is("transpose")) return transpose();
    if (is("rank")) { sigil_put_integer(reduce(&a, a.columns)); return 0; }
    if (is("inverse")) {
        b.rows = b.columns = a.rows;
        for (int i = 0; i < a.rows; i++) b.at[i][i] = 1;
    }
    if (is("solve") || is("inverse")) return solve();
    if (a.rows != a.columns) return sigil_fail("EINVAL", "a has to be square: as many rows as columns");
    reduce(&a, a.columns);
    if (!isfinite(determinant)) return sigil_fail("EINVAL", "the result is too large for a number");
    put_number(determinant);
    return 0;
}

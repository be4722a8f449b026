/* A capability in C: the ABI sigil/1, with just enough JSON for small inputs.
 *
 *     #include "sigil.h"
 *
 *     int answer(void)                        // 0: what was put is the answer; else a failure
 *     {
 *         sigil_text name = sigil_get_text("name");
 *         if (!name.size) return sigil_fail("EINVAL", "whom shall I greet?");
 *         sigil_put("{\"greeting\":");
 *         sigil_put_text(name.at, name.size);
 *         sigil_put("}");
 *         return 0;
 *     }
 *
 * The input has passed the manifest's schema: members are there and of their types. Every call has a fresh memory, so nothing has
 * to be freed. The C library is there, but for files, clocks and everything else that a sandbox has not.
 */
#ifndef SIGIL_H
#define SIGIL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGIL_EXPORT(name) __attribute__((export_name(#name), visibility("default")))
#define SIGIL_UNUSED __attribute__((unused))

int answer(void);

/* A run of bytes. `at` is null when there is none. */
typedef struct { const char *at; size_t size; } sigil_text;

static struct { const char *at, *end; } sigil_input;
static struct { char *at; size_t size, room; } sigil_output;

/* ---- the answer ------------------------------------------------------------------------------------------------------- */

SIGIL_UNUSED static void sigil_put_bytes(const char *at, size_t size)
{
    if (size > sigil_output.room - sigil_output.size) {
        size_t room = (sigil_output.size + size) * 2 + 256;
        char *moved = realloc(sigil_output.at, room);
        if (!moved) __builtin_trap();
        sigil_output.at = moved;
        sigil_output.room = room;
    }
    memcpy(sigil_output.at + sigil_output.size, at, size);
    sigil_output.size += size;
}

/* Puts JSON as it is written. */
SIGIL_UNUSED static void sigil_put(const char *json) { sigil_put_bytes(json, strlen(json)); }

/* Puts UTF-8 text as a JSON string. */
SIGIL_UNUSED static void sigil_put_text(const char *at, size_t size)
{
    static const char hex[] = "0123456789abcdef";
    sigil_put_bytes("\"", 1);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)at[i];
        char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        if (c < 0x20) sigil_put_bytes(escape, 6);
        else if (c == '"' || c == '\\') { escape[1] = (char)c; sigil_put_bytes(escape, 2); }
        else sigil_put_bytes(at + i, 1);
    }
    sigil_put_bytes("\"", 1);
}

SIGIL_UNUSED static void sigil_put_integer(int64_t value)
{
    char digits[20], *at = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do *--at = (char)('0' + rest % 10); while (rest /= 10);
    if (value < 0) sigil_put_bytes("-", 1);
    sigil_put_bytes(at, (size_t)(digits + sizeof digits - at));
}

/* Puts a number with at most so many significant digits, 1 to 17; what is no number of JSON's (NaN, an infinity) as null. */
SIGIL_UNUSED static void sigil_put_number(double value, int digits)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, value == 0 ? 0 : value);
    sigil_put(value - value == 0 ? text : "null");
}

/* Replaces whatever was put by a failure: `return sigil_fail("EINVAL", "say what is wrong");`. */
SIGIL_UNUSED static int sigil_fail(const char *code, const char *message)
{
    sigil_output.size = 0;
    sigil_put("{\"code\":");
    sigil_put_text(code, strlen(code));
    sigil_put(",\"message\":");
    sigil_put_text(message, strlen(message));
    sigil_put("}");
    return 1;
}

/* ---- the input -------------------------------------------------------------------------------------------------------- */

static const char *sigil_blank(const char *at)
{
    while (at < sigil_input.end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
    return at;
}

/* Behind the string whose opening quote is at `at`. */
static const char *sigil_past_string(const char *at)
{
    for (at++; at < sigil_input.end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < sigil_input.end ? at + 1 : sigil_input.end;
}

/* Behind the value at `at`, whatever it is. The input is valid JSON: the host has read it. */
static const char *sigil_past(const char *at)
{
    size_t depth = 0;
    do {
        at = sigil_blank(at);
        if (at >= sigil_input.end) return sigil_input.end;
        if (*at == '"') at = sigil_past_string(at);
        else if (*at == '{' || *at == '[') { depth++; at++; }
        else if (*at == '}' || *at == ']') { depth--; at++; }
        else if (*at == ',' || *at == ':') at++;
        else while (at < sigil_input.end && !strchr(",:]} \n\t\r", *at)) at++;
    } while (depth);
    return at;
}

/* The JSON of a member of the input object; `at` is null when it is not there. Names with escapes in them are not found. */
SIGIL_UNUSED static sigil_text sigil_get(const char *name)
{
    size_t size = strlen(name);
    const char *at = sigil_blank(sigil_input.at);
    if (at >= sigil_input.end || *at != '{') return (sigil_text){0, 0};
    for (at = sigil_blank(at + 1); at < sigil_input.end && *at == '"'; at = sigil_blank(at + 1)) {
        const char *key = at + 1, *behind = sigil_past_string(at);
        const char *value = sigil_blank(sigil_blank(behind) + 1), *end = sigil_past(value);
        if ((size_t)(behind - 1 - key) == size && !memcmp(key, name, size)) return (sigil_text){value, (size_t)(end - value)};
        at = sigil_blank(end);
    }
    return (sigil_text){0, 0};
}

static uint32_t sigil_hex(const char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value = value * 16 + (uint32_t)(at[i] <= '9' ? at[i] - '0' : (at[i] | 32) - 'a' + 10);
    return value;
}

static char *sigil_utf8(char *to, uint32_t point)
{
    if (point < 0x80) *to++ = (char)point;
    else if (point < 0x800) { *to++ = (char)(0xC0 | point >> 6); *to++ = (char)(0x80 | (point & 63)); }
    else {
        if (point < 0x10000) *to++ = (char)(0xE0 | point >> 12);
        else { *to++ = (char)(0xF0 | point >> 18); *to++ = (char)(0x80 | (point >> 12 & 63)); }
        *to++ = (char)(0x80 | (point >> 6 & 63));
        *to++ = (char)(0x80 | (point & 63));
    }
    return to;
}

/* A member that is a string, as UTF-8 without its escapes (it may hold zeros); `at` is null when it is missing or no string. */
SIGIL_UNUSED static sigil_text sigil_get_text(const char *name)
{
    sigil_text json = sigil_get(name);
    if (!json.at || *json.at != '"') return (sigil_text){0, 0};
    const char *at = json.at + 1, *end = json.at + json.size - 1;
    if (!memchr(at, '\\', (size_t)(end - at))) return (sigil_text){at, (size_t)(end - at)};
    char *text = malloc(json.size), *to = text;
    if (!text) __builtin_trap();
    while (at < end) {
        if (*at != '\\') { *to++ = *at++; continue; }
        const char *plain = "b\bf\fn\nr\rt\t", *found = at[1] == 'u' ? 0 : strchr(plain, at[1]);
        if (at[1] != 'u') { *to++ = found ? found[1] : at[1]; at += 2; continue; }
        uint32_t point = sigil_hex(at + 2);
        at += 6;
        if (point >= 0xD800 && point < 0xDC00 && end - at >= 6) {
            point = 0x10000 + ((point - 0xD800) << 10) + (sigil_hex(at + 2) - 0xDC00);
            at += 6;
        }
        to = sigil_utf8(to, point);
    }
    return (sigil_text){text, (size_t)(to - text)};
}

/* Whether a member is this text. */
SIGIL_UNUSED static int sigil_is(const char *name, const char *text)
{
    sigil_text given = sigil_get_text(name);
    return given.at && given.size == strlen(text) && !memcmp(given.at, text, given.size);
}

/* The characters of Unicode in a member that is a string; none when it is missing. */
typedef struct { uint32_t *at; size_t size; } sigil_points;

SIGIL_UNUSED static sigil_points sigil_get_points(const char *name)
{
    sigil_text text = sigil_get_text(name);
    sigil_points out = {malloc((text.size + 1) * sizeof(uint32_t)), 0};
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

/* Makes capitals small: Latin letters with and without accents, Greek and Cyrillic ones. */
SIGIL_UNUSED static void sigil_lower(sigil_points text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint32_t c = text.at[i];
        int capital = (c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) || (c >= 0x410 && c <= 0x42F);
        text.at[i] = capital ? c + 32 : c;
    }
}

/* A member that is a whole number of at most 64 bits; `otherwise` when it is missing, no number, or written with a point or exponent. */
SIGIL_UNUSED static int64_t sigil_get_integer(const char *name, int64_t otherwise)
{
    sigil_text json = sigil_get(name);
    const char *at = json.at, *end = at + json.size;
    int negative = at && *at == '-';
    uint64_t value = 0;
    if (!at || (at += negative) == end) return otherwise;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return otherwise;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) return otherwise;
    }
    if (value > (uint64_t)INT64_MAX + (uint64_t)negative) return otherwise;
    return (int64_t)(negative ? 0 - value : value);
}

SIGIL_UNUSED static int sigil_get_boolean(const char *name)
{
    sigil_text json = sigil_get(name);
    return json.at && *json.at == 't';
}

/* ---- the ABI ---------------------------------------------------------------------------------------------------------- */

SIGIL_EXPORT(sigil_alloc) void *sigil_alloc(size_t size) { return malloc(size ? size : 1); }

SIGIL_EXPORT(sigil_run) int sigil_run(const char *at, size_t size)
{
    sigil_input.at = at;
    sigil_input.end = at + size;
    return answer() != 0;
}

SIGIL_EXPORT(sigil_out_ptr) const char *sigil_out_ptr(void) { return sigil_output.at; }
SIGIL_EXPORT(sigil_out_len) size_t sigil_out_len(void) { return sigil_output.size; }

#endif

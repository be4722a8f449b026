// Cyclic redundancy checks as the catalogue of parametrised CRC algorithms (reveng.sourceforge.io/crc-catalogue) names them, with one
// table of 256 steps, and Adler-32 (RFC 1950). They find accidents, not forgeries.
#include "sigil.h"

typedef struct { const char *name; int width; uint64_t polynomial, start, end; int reflected; } crc;

static const crc KINDS[] = {
    {"crc32", 32, 0x04C11DB7, 0xFFFFFFFF, 0xFFFFFFFF, 1},
    {"crc32c", 32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, 1},
    {"crc32-bzip2", 32, 0x04C11DB7, 0xFFFFFFFF, 0xFFFFFFFF, 0},
    {"crc16-arc", 16, 0x8005, 0, 0, 1},
    {"crc16-modbus", 16, 0x8005, 0xFFFF, 0, 1},
    {"crc16-ccitt-false", 16, 0x1021, 0xFFFF, 0, 0},
    {"crc16-xmodem", 16, 0x1021, 0, 0, 0},
    {"crc16-kermit", 16, 0x1021, 0, 0, 1},
    {"crc8", 8, 0x07, 0, 0, 0},
    {"crc64-xz", 64, 0x42F0E1EBA9EA3693, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 1},
};

static uint64_t reversed(uint64_t value, int bits)
{
    uint64_t out = 0;
    for (int i = 0; i < bits; i++) out |= (value >> i & 1) << (bits - 1 - i);
    return out;
}

// A CRC that is not reflected is computed in the upper bits of 64.
static uint64_t checked(crc kind, sigil_text data)
{
    uint64_t table[256], top = 1ull << 63, sum;
    int shift = 64 - kind.width;
    uint64_t polynomial = kind.reflected ? reversed(kind.polynomial, kind.width) : kind.polynomial << shift;
    for (uint64_t i = 0; i < 256; i++) {
        uint64_t step = kind.reflected ? i : i << 56;
        for (int bit = 0; bit < 8; bit++)
            step = kind.reflected ? step >> 1 ^ (step & 1 ? polynomial : 0) : step << 1 ^ (step & top ? polynomial : 0);
        table[i] = step;
    }
    sum = kind.reflected ? reversed(kind.start, kind.width) : kind.start << shift;
    for (size_t i = 0; i < data.size; i++) {
        unsigned char byte = (unsigned char)data.at[i];
        sum = kind.reflected ? sum >> 8 ^ table[(sum ^ byte) & 0xFF] : sum << 8 ^ table[(sum >> 56 ^ byte) & 0xFF];
    }
    return (kind.reflected ? sum : sum >> shift) ^ kind.end;
}

static uint64_t adler(sigil_text data)
{
    uint64_t a = 1, b = 0;
    for (size_t i = 0; i < data.size; i++) {
        a = (a + (unsigned char)data.at[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Bytes written in hexadecimal, with spaces, commas or colons between them and 0x before them if need be; `at` is null when they are none.
static sigil_text from_hex(sigil_text text)
{
    char *out = malloc(text.size / 2 + 1);
    size_t size = 0;
    if (!out) __builtin_trap();
    for (size_t i = 0; i < text.size;) {
        if (strchr(" ,:\n\t", text.at[i]) && text.at[i]) { i++; continue; }
        if (text.size - i > 1 && text.at[i] == '0' && (text.at[i + 1] | 32) == 'x') { i += 2; continue; }
        if (i + 1 >= text.size || digit(text.at[i]) < 0 || digit(text.at[i + 1]) < 0) return (sigil_text){0, 0};
        out[size++] = (char)(digit(text.at[i]) << 4 | digit(text.at[i + 1]));
        i += 2;
    }
    return (sigil_text){out, size};
}

static void put(uint64_t sum, int width)
{
    char hex[17] = {0};
    for (int i = width / 4; i--; sum >>= 4) hex[i] = "0123456789abcdef"[sum & 15];
    sigil_put("\"");
    sigil_put(hex);
    sigil_put("\"");
}

int answer(void)
{
    sigil_text data = sigil_get_text("data");
    if (sigil_is("encoding", "hex")) data = from_hex(data);
    if (!data.at) return sigil_fail("EINVAL", "data is no hexadecimal: write two digits for each byte, or set encoding to text");
    if (sigil_is("algorithm", "adler32")) { put(adler(data), 32); return 0; }
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (sigil_is("algorithm", KINDS[i].name)) { put(checked(KINDS[i], data), KINDS[i].width); return 0; }
    return sigil_fail("EINVAL", "there is no such algorithm");
}

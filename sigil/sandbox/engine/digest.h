/* Message digests (RFC 1321, FIPS 180-4) and HMAC (RFC 2104), whole messages only. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LONGEST_DIGEST 64
#define LONGEST_BLOCK 128

enum { MD5, SHA1, SHA256, SHA384, SHA512, DIGESTS };

static const uint8_t digest_sizes[DIGESTS] = {16, 20, 32, 48, 64};
static const uint8_t digest_blocks[DIGESTS] = {64, 64, 64, 128, 128};

struct digest {
    int kind;
    uint64_t length;
    uint8_t pending[LONGEST_BLOCK];
    union {
        uint32_t words[8];
        uint64_t longs[8];
    } state;
};

static const uint32_t start_sha1[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}; /* MD5's is its first four */
static const uint32_t start_sha256[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
static const uint64_t start_sha384[8] = {0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
                                         0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4};
static const uint64_t start_sha512[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                         0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

/* The first 64 and 80 fractional bits of the cube roots of the primes: SHA-256's are the upper halves of SHA-512's. */
static const uint64_t roots[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b,
    0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1,
    0x9bdc06a725c71235, 0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65, 0x2de92c6f592b0275,
    0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b, 0xa2bfe8a14cf10364, 0xa81a664bbc423001,
    0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8,
    0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec, 0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915,
    0xc67178f2e372532b, 0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c, 0x4cc5d4becb3e42b6,
    0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

/* MD5's table: floor(2^32 * abs(sin(i + 1))). */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1,
    0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453,
    0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942,
    0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05,
    0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d,
    0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
static const uint8_t md5_shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t left32(uint32_t x, int n) { return x << n | x >> (32 - n); }
static uint32_t right32(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint64_t right64(uint64_t x, int n) { return x >> n | x << (64 - n); }

static uint64_t read_number(const uint8_t *bytes, int size) {
    uint64_t number = 0;
    for (int i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

static void write_number(uint8_t *bytes, int size, uint64_t number) {
    for (int i = size; i-- > 0; number >>= 8)
        bytes[i] = (uint8_t)number;
}

static uint32_t md5_mix(int round, uint32_t b, uint32_t c, uint32_t d) {
    switch (round) {
    case 0: return (b & c) | (~b & d);
    case 1: return (d & b) | (~d & c);
    case 2: return b ^ c ^ d;
    default: return c ^ (b | ~d);
    }
}

static void md5_block(uint32_t *state, const uint8_t *bytes) {
    static const uint8_t steps[4] = {1, 5, 3, 7}, offsets[4] = {0, 1, 5, 0};
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], words[16];
    memcpy(words, bytes, 64); /* little-endian, as WebAssembly is */
    for (int i = 0; i < 64; i++) {
        int round = i / 16;
        uint32_t mixed = a + md5_mix(round, b, c, d) + sines[i] + words[(i * steps[round] + offsets[round]) % 16];
        a = d, d = c, c = b;
        b += left32(mixed, md5_shifts[round][i % 4]);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static uint32_t sha1_mix(int i, uint32_t b, uint32_t c, uint32_t d) {
    if (i < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (i < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    return i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc : (b ^ c ^ d) + 0xca62c1d6;
}

static void sha1_block(uint32_t *state, const uint8_t *bytes) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], words[80];
    for (int i = 0; i < 80; i++) {
        words[i] = i < 16 ? (uint32_t)read_number(bytes + 4 * i, 4) : left32(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
        uint32_t mixed = left32(a, 5) + sha1_mix(i, b, c, d) + e + words[i];
        e = d, d = c, c = left32(b, 30), b = a, a = mixed;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

static void sha256_block(uint32_t *state, const uint8_t *bytes) {
    uint32_t s[8], words[64];
    memcpy(s, state, sizeof(s));
    for (int i = 0; i < 64; i++) {
        words[i] = i < 16 ? (uint32_t)read_number(bytes + 4 * i, 4)
                          : words[i - 16] + words[i - 7] + (right32(words[i - 15], 7) ^ right32(words[i - 15], 18) ^ words[i - 15] >> 3) +
                                (right32(words[i - 2], 17) ^ right32(words[i - 2], 19) ^ words[i - 2] >> 10);
        uint32_t first = s[7] + (right32(s[4], 6) ^ right32(s[4], 11) ^ right32(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                         (uint32_t)(roots[i] >> 32) + words[i];
        uint32_t second = (right32(s[0], 2) ^ right32(s[0], 13) ^ right32(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += first, s[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

static void sha512_block(uint64_t *state, const uint8_t *bytes) {
    uint64_t s[8], words[80];
    memcpy(s, state, sizeof(s));
    for (int i = 0; i < 80; i++) {
        words[i] = i < 16 ? read_number(bytes + 8 * i, 8)
                          : words[i - 16] + words[i - 7] + (right64(words[i - 15], 1) ^ right64(words[i - 15], 8) ^ words[i - 15] >> 7) +
                                (right64(words[i - 2], 19) ^ right64(words[i - 2], 61) ^ words[i - 2] >> 6);
        uint64_t first =
            s[7] + (right64(s[4], 14) ^ right64(s[4], 18) ^ right64(s[4], 41)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + roots[i] + words[i];
        uint64_t second = (right64(s[0], 28) ^ right64(s[0], 34) ^ right64(s[0], 39)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += first, s[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

static void digest_block(struct digest *d, const uint8_t *bytes) {
    switch (d->kind) {
    case MD5: md5_block(d->state.words, bytes); break;
    case SHA1: sha1_block(d->state.words, bytes); break;
    case SHA256: sha256_block(d->state.words, bytes); break;
    default: sha512_block(d->state.longs, bytes);
    }
}

static void digest_start(struct digest *d, int kind) {
    static const void *const starts[DIGESTS] = {start_sha1, start_sha1, start_sha256, start_sha384, start_sha512};
    static const uint8_t sizes[DIGESTS] = {16, 20, 32, 64, 64};
    d->kind = kind, d->length = 0;
    memcpy(&d->state, starts[kind], sizes[kind]);
}

static void digest_add(struct digest *d, const uint8_t *bytes, size_t length) {
    size_t size = digest_blocks[d->kind], held = d->length % size;
    d->length += length;
    while (held + length >= size) {
        if (held)
            memcpy(d->pending + held, bytes, size - held);
        digest_block(d, held ? d->pending : bytes);
        bytes += size - held, length -= size - held, held = 0;
    }
    memcpy(d->pending + held, bytes, length);
}

static void digest_end(struct digest *d, uint8_t *result) {
    static const uint8_t padding[LONGEST_BLOCK] = {0x80};
    int size = digest_blocks[d->kind], counter = size / 8, word = size / 16;
    uint8_t length[16];
    write_number(length, 16, d->length * 8); /* no message here reaches 2^61 bytes */
    if (d->kind == MD5)
        memcpy(length + 8, &(uint64_t){d->length * 8}, 8);
    digest_add(d, padding, 1 + (2 * size - 1 - counter - d->length % size) % size);
    digest_add(d, length + 16 - counter, counter);
    for (int i = 0; i < digest_sizes[d->kind] / word; i++)
        write_number(result + i * word, word, word == 8 ? d->state.longs[i] : d->state.words[i]);
    if (d->kind == MD5)
        memcpy(result, d->state.words, 16);
}

static void digest_all(int kind, const uint8_t *bytes, size_t length, uint8_t *result) {
    struct digest d;
    digest_start(&d, kind);
    digest_add(&d, bytes, length);
    digest_end(&d, result);
}

static void hmac_pass(int kind, const uint8_t *key, uint8_t mask, const uint8_t *bytes, size_t length, uint8_t *result) {
    uint8_t pad[LONGEST_BLOCK];
    struct digest d;
    for (int i = 0; i < digest_blocks[kind]; i++)
        pad[i] = key[i] ^ mask;
    digest_start(&d, kind);
    digest_add(&d, pad, digest_blocks[kind]);
    digest_add(&d, bytes, length);
    digest_end(&d, result);
}

static void hmac(int kind, const uint8_t *key, size_t key_length, const uint8_t *bytes, size_t length, uint8_t *result) {
    uint8_t block[LONGEST_BLOCK] = {0};
    if (key_length > digest_blocks[kind])
        digest_all(kind, key, key_length, block);
    else
        memcpy(block, key, key_length);
    hmac_pass(kind, block, 0x36, bytes, length, result);
    hmac_pass(kind, block, 0x5c, result, digest_sizes[kind], result);
}

/* The larger blocks of memory: chunks with boundary tags, which join their free neighbours, up to a top that grows. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PAGE (64 * 1024)
#define GROWTH (4 * PAGE) /* of a call's memory */
#define TRIES 8
#define SMALLEST 1024 /* rest that is worth a chunk */

struct chunk {
    uint32_t before; /* the size of the chunk before this one, 0 for the first */
    uint32_t tag;    /* this one's size with its head, a multiple of 8, plus USED */
    struct chunk *next, *previous; /* while it is free */
};

enum { USED = 1, HEAD_SIZE = 8 };

extern uint8_t __heap_base;

static struct chunk *bins[32]; /* free chunks of 2^n bytes and more */
static char *top, *memory_end; /* what was never cut, behind the last chunk */
static uint32_t last_size;     /* of the chunk before `top` */
static bool fixed;             /* memory must not grow now */
static bool exhausted;         /* memory did not grow when it had to */
static uint32_t growth = PAGE; /* at least so much at once: an image has no page that it does not need */

static uint32_t chunk_size(const struct chunk *chunk) { return chunk->tag & ~USED; }
static struct chunk *chunk_after(struct chunk *chunk) { return (struct chunk *)((char *)chunk + chunk_size(chunk)); }
static int bin_of(uint32_t size) { return 31 - __builtin_clz(size); }

static void bin_add(struct chunk *chunk) {
    struct chunk **bin = &bins[bin_of(chunk->tag)];
    chunk->previous = NULL, chunk->next = *bin;
    if (*bin)
        (*bin)->previous = chunk;
    *bin = chunk;
}

static void bin_remove(struct chunk *chunk) {
    if (chunk->next)
        chunk->next->previous = chunk->previous;
    if (chunk->previous)
        chunk->previous->next = chunk->next;
    else
        bins[bin_of(chunk->tag)] = chunk->next;
}

/* A free chunk of `size` bytes or more, out of its bin; NULL when none is found. Only the first bin holds chunks that are too small. */
static struct chunk *bin_take(uint32_t size) {
    int bin = bin_of(size), tries = TRIES;
    struct chunk *chunk = bins[bin];
    while (chunk && chunk->tag < size)
        chunk = --tries ? chunk->next : NULL;
    while (!chunk && ++bin < 32)
        chunk = bins[bin];
    if (chunk)
        bin_remove(chunk);
    return chunk;
}

static bool grow(uint32_t size) {
    if (fixed)
        return !(exhausted = true);
    uint32_t wanted = size < growth ? growth : (size + PAGE - 1) / PAGE * PAGE;
    if (__builtin_wasm_memory_grow(0, wanted / PAGE) == (size_t)-1) {
        wanted = (size + PAGE - 1) / PAGE * PAGE;
        if (__builtin_wasm_memory_grow(0, wanted / PAGE) == (size_t)-1)
            return !(exhausted = true);
    }
    memory_end += wanted;
    return true;
}

/* Whether `size` bytes stand at the top. */
static bool top_has(uint32_t size) {
    if (!memory_end)
        top = (char *)(((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15), memory_end = (char *)(__builtin_wasm_memory_size(0) * PAGE);
    uint32_t left = (uint32_t)(memory_end - top);
    return left >= size || grow(size - left);
}

static struct chunk *top_take(uint32_t size) {
    if (!top_has(size))
        return NULL;
    struct chunk *chunk = (struct chunk *)top;
    chunk->before = last_size;
    chunk->tag = size;
    top += size, last_size = size;
    return chunk;
}

/* The chunk behind `chunk`, or the top, learns its size. */
static void tell_next(struct chunk *chunk) {
    struct chunk *next = chunk_after(chunk);
    if ((char *)next == top)
        last_size = chunk_size(chunk);
    else
        next->before = chunk_size(chunk);
}

static void chunk_free(struct chunk *chunk) {
    chunk->tag &= ~USED;
    struct chunk *before = (struct chunk *)((char *)chunk - chunk->before);
    if (chunk->before && !(before->tag & USED)) {
        bin_remove(before);
        before->tag += chunk->tag;
        chunk = before;
    }
    struct chunk *next = chunk_after(chunk);
    if ((char *)next != top && !(next->tag & USED)) {
        bin_remove(next);
        chunk->tag += next->tag;
        next = chunk_after(chunk);
    }
    if ((char *)next == top) {
        top = (char *)chunk, last_size = chunk->before;
        return;
    }
    next->before = chunk->tag;
    bin_add(chunk);
}

/* Gives back what `chunk`, which is used, has beyond `size`, when that is worth a chunk. */
static void chunk_trim(struct chunk *chunk, uint32_t size) {
    uint32_t rest = chunk_size(chunk) - size;
    if (rest < SMALLEST)
        return;
    chunk->tag = size | USED;
    struct chunk *second = chunk_after(chunk);
    second->before = size, second->tag = rest | USED;
    tell_next(second);
    chunk_free(second);
}

static void *chunk_malloc(uint32_t size) {
    struct chunk *chunk = bin_take(size + HEAD_SIZE);
    if (!chunk && !(chunk = top_take(size + HEAD_SIZE)))
        return NULL;
    chunk->tag |= USED;
    chunk_trim(chunk, size + HEAD_SIZE);
    return (char *)chunk + HEAD_SIZE;
}

/* Makes `chunk` reach `size` bytes where it is, from what is free behind it. */
static bool chunk_extend(struct chunk *chunk, uint32_t size) {
    struct chunk *next = chunk_after(chunk);
    uint32_t missing = size - chunk_size(chunk);
    if ((char *)next == top) {
        if (!top_has(missing))
            return false;
        top += missing, last_size = size;
        chunk->tag = size | USED;
        return true;
    }
    if (next->tag & USED || next->tag < missing)
        return false;
    bin_remove(next);
    chunk->tag += next->tag;
    tell_next(chunk);
    chunk_trim(chunk, size);
    return true;
}

/* Uses up the page that the top is in: the next chunk begins another. */
static void next_page(void) {
    uint32_t rest = 4096 - (uintptr_t)top % 4096;
    if (top_has(rest + 4096))
        top_take(rest < sizeof(struct chunk) ? rest + 4096 : rest)->tag |= USED;
}

/* What is free now is cleared and never used again. */
static void chunks_retire(void) {
    for (int bin = 0; bin < 32; bins[bin++] = NULL)
        for (struct chunk *chunk = bins[bin], *next; chunk; chunk = next)
            next = chunk->next, chunk->tag |= USED, memset(&chunk->next, 0, chunk_size(chunk) - HEAD_SIZE);
}

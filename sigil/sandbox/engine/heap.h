/* The memory of the engine.
 *
 * A fresh instance pays for every page that it touches first, so what a call allocates lies side by side: small blocks
 * are cut one after the other from a region, and freed to a list for their size; larger ones are chunks (chunks.h).
 * What was allocated before the image was taken is never mixed with what comes after it. Every block has 8 bytes before
 * it, the second four of which say its size. */
#include "chunks.h"

#define SMALL 1024         /* the largest small block */
#define REGION (32 * 1024) /* cut into small blocks */
#define RESERVE (64 * 1024) /* the bytes that an image has for its calls before memory must grow */
#define LEFT (40 * 1024)   /* that a loaded source has at least */
#define LARGEST (1u << 30)

struct small {
    struct small *next;
    uint32_t size; /* of what follows, a multiple of 8 */
};

static struct small *small_blocks[SMALL / 8 + 1];
static char *region, *region_end;
static char *hot_region, *hot_end; /* small blocks that calls write to, by the builder's plan */

static void *cut(char **from, uint32_t size) {
    struct small *block = (struct small *)*from;
    *from += sizeof(struct small) + size;
    block->size = size;
    return block + 1;
}

static void *small_malloc(uint32_t size, bool hot) {
    if (hot && hot_end - hot_region >= (ptrdiff_t)(sizeof(struct small) + size))
        return cut(&hot_region, size);
    struct small *block = small_blocks[size / 8];
    if (block) {
        small_blocks[size / 8] = block->next;
        return block + 1;
    }
    if (region_end - region < (ptrdiff_t)(sizeof(struct small) + size)) {
        if (!(region = chunk_malloc(REGION)))
            return region_end = NULL;
        region_end = region + REGION;
    }
    return cut(&region, size);
}

static struct chunk *chunk_of(const void *data) { return (struct chunk *)((char *)data - HEAD_SIZE); }
static bool is_small(const void *data) { return ((const struct small *)data - 1)->size <= SMALL; }

static size_t heap_usable_size(const void *data) {
    if (!data)
        return 0;
    return is_small(data) ? ((const struct small *)data - 1)->size : chunk_size(chunk_of(data)) - HEAD_SIZE;
}

/* Until the image is taken, allocations are numbered. The builder sees each of them (`seen`) in one run, learns which of them
 * calls write to, and gives their numbers to the next run, which lays them side by side. */
static void (*seen)(const void *data, uint32_t number);
static const uint32_t *planned, *planned_end;
static uint32_t number;

static bool is_planned(void) {
    number++;
    bool is = planned != planned_end && *planned == number;
    planned += is;
    return is;
}

static void *allocate(size_t size, bool hot) {
    if (size > LARGEST)
        return NULL;
    uint32_t rounded = (uint32_t)(size + 7) & ~7u;
    return rounded <= SMALL - HEAD_SIZE ? small_malloc(rounded, hot) : chunk_malloc(rounded);
}

static void *shown(void *data) {
    if (seen)
        seen(data, number);
    return data;
}

static void *heap_malloc(void *opaque, size_t size) { return shown(allocate(size, is_planned())); }

static void heap_free(void *opaque, void *data) {
    if (!data)
        return;
    if (!is_small(data)) {
        chunk_free(chunk_of(data));
        return;
    }
    struct small *block = (struct small *)data - 1;
    block->next = small_blocks[block->size / 8];
    small_blocks[block->size / 8] = block;
}

static void *heap_calloc(void *opaque, size_t count, size_t size) {
    void *data = heap_malloc(opaque, count * size); /* the caller has checked the product */
    return data ? memset(data, 0, count * size) : NULL;
}

static void *reallocate(void *data, size_t size, bool hot) {
    size_t held = heap_usable_size(data);
    uint32_t rounded = (uint32_t)(size + 7) & ~7u;
    if (data && size <= held) {
        if (!is_small(data) && rounded >= SMALL)
            chunk_trim(chunk_of(data), rounded + HEAD_SIZE);
        return data;
    }
    if (data && size <= LARGEST && !is_small(data) && chunk_extend(chunk_of(data), rounded + HEAD_SIZE))
        return data;
    void *moved = allocate(size, hot);
    if (!moved || !data)
        return moved;
    memcpy(moved, data, held);
    heap_free(NULL, data);
    return moved;
}

static void *heap_realloc(void *opaque, void *data, size_t size) { return shown(reallocate(data, size, is_planned())); }

/* Begins the numbers. With a plan, `size` bytes are reserved for the allocations that it names. */
static void heap_plan(const uint32_t *numbers, uint32_t count, uint32_t size) {
    number = 0, planned = numbers, planned_end = numbers + count;
    if (!size)
        return;
    next_page();
    hot_region = chunk_malloc(size);
    hot_end = hot_region + (hot_region ? size : 0);
}

static void clear_free(void) {
    for (int i = 0; i <= SMALL / 8; i++)
        for (struct small *block = small_blocks[i], *next; block; block = next)
            next = block->next, memset(block, 0, sizeof(*block) + block->size);
    memset(small_blocks, 0, sizeof(small_blocks));
    chunks_retire();
}

/* What is free after a source was loaded is cleared and not used again: an image of the memory then holds nothing dead. */
static void heap_tidy(void) {
    clear_free();
    top_has(LEFT);
    memset(top, 0, memory_end - top);
    memory_end -= ((memory_end - top) - LEFT) / PAGE * PAGE;
}

/* Allocates `size` bytes that are to be read into objects, so far behind the top that those find theirs before it; NULL when there
 * is none. Until `heap_release`, memory does not grow. */
static char *heap_hold(uint32_t size) {
    uint32_t objects = 6 * size + REGION;
    if (size > LARGEST / 8 || !top_has(objects + size))
        return NULL;
    memory_end = top + objects, fixed = true;
    return memory_end;
}

static void heap_release(char *held, uint32_t size) {
    memset(held, 0, size);
    memory_end = (char *)(__builtin_wasm_memory_size(0) * PAGE), fixed = false;
}

/* From here on nothing that is free now is used again, the next chunk begins on a page of its own, and `RESERVE` bytes are there.
 * What is free is cleared, so that the image holds nothing dead. */
static void heap_seal(void) {
    clear_free();
    region = region_end = NULL, planned = planned_end = NULL, seen = NULL;
    next_page();
    if (top_has(RESERVE))
        memset(top, 0, RESERVE);
    growth = GROWTH;
}

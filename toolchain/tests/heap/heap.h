#pragma once
/* Where a block lies, and what the tests say when something is not so. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

/* The place of the slot that an address lies in (docs/memory.md), or -1. */
static inline long place_of(const void *address)
{
    uintptr_t slot = (uintptr_t)address >> 39;
    return slot >= 1 && slot <= 160 ? (long)slot - 1 : -1;
}

/* The place that this process's heap is to have, or -1. */
static inline long place(void)
{
    const char *text = getenv("BCS_SLOT");
    return text && *text ? atol(text) : -1;
}

static inline int heap_is_preloaded(void)
{
    const char *text = getenv("LD_PRELOAD");
    return text && strstr(text, "libbcs_heap.so");
}

// The allocator of the C library. Its options are of glibc, and no module of Swift's has them.
#ifndef DRIFTLESS_CHEAP_H
#define DRIFTLESS_CHEAP_H
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

// 0 where the allocator does not take it.
static inline int driftless_heap_gives_back(void) {
  return mallopt(M_ARENA_MAX, 2) && mallopt(M_MMAP_THRESHOLD, 512 * 1024) && mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
}

// 1 where something went back to the system.
static inline int driftless_heap_trim(void) { return malloc_trim(0); }
#else
static inline int driftless_heap_gives_back(void) { return 0; }
static inline int driftless_heap_trim(void) { return 0; }
#endif
#endif

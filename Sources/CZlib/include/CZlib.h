// zlib, as the system has it. The macros that start a stream are not visible from Swift: the shims below call them.
#ifndef DRIFTLESS_CZLIB_H
#define DRIFTLESS_CZLIB_H
#include <zlib.h>

static inline int driftless_deflate_init(z_stream *stream, int level) {
  return deflateInit(stream, level);
}

static inline int driftless_inflate_init(z_stream *stream) {
  return inflateInit(stream);
}
#endif

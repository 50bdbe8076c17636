// Entry points of Swift's runtime that its compiler calls for `unowned` references. The language has no way to say "hold it
// if it is still there" of one: it stops the program where the object is gone. Behind functions of their own, since the compiler
// declares the entry points itself.
#ifndef DRIFTLESS_CSWIFTRUNTIME_H
#define DRIFTLESS_CSWIFTRUNTIME_H

// The object's memory stays until the unowned reference is released, whatever becomes of the object.
void driftless_unowned_retain(void *_Nonnull object);
void driftless_unowned_release(void *_Nonnull object);

// The object, with a reference to it; null when its end has begun.
void *_Nullable driftless_try_retain(void *_Nonnull object);
#endif

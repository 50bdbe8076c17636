#include "CSwiftRuntime.h"

// swift/Runtime/HeapObject.h of the toolchain. They are part of the ABI on Apple's systems, and exported on Linux.
extern void *swift_unownedRetain(void *object);
extern void swift_unownedRelease(void *object);
extern void *swift_tryRetain(void *object);

void driftless_unowned_retain(void *object) { swift_unownedRetain(object); }
void driftless_unowned_release(void *object) { swift_unownedRelease(object); }
void *driftless_try_retain(void *object) { return swift_tryRetain(object); }

// SQLite, as the system has it. SQLITE_STATIC and SQLITE_TRANSIENT are casts that Swift cannot import: the shims
// below name them.
#ifndef DRIFTLESS_CSQLITE_H
#define DRIFTLESS_CSQLITE_H
#include <sqlite3.h>

static inline sqlite3_destructor_type driftless_sqlite_static(void) { return SQLITE_STATIC; }
static inline sqlite3_destructor_type driftless_sqlite_transient(void) { return SQLITE_TRANSIENT; }
#endif

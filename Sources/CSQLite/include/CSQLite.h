// SQLite, as the system has it. SQLITE_STATIC and SQLITE_TRANSIENT are casts that Swift cannot import: the shims
// below name them.
#ifndef DRIFTLESS_CSQLITE_H
#define DRIFTLESS_CSQLITE_H
#include <sqlite3.h>

static inline sqlite3_destructor_type driftless_sqlite_static(void) { return SQLITE_STATIC; }
static inline sqlite3_destructor_type driftless_sqlite_transient(void) { return SQLITE_TRANSIENT; }

// sqlite3_db_config takes a variable list of arguments, which Swift cannot call. With the switch on, VACUUM empties the
// database under SQLite's own locks, whatever is in it.
static inline int driftless_sqlite_reset_database(sqlite3 *database, int is_on) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_RESET_DATABASE, is_on, (int *)0);
}

// Triggers of all connections' making run, or none.
static inline int driftless_sqlite_enable_triggers(sqlite3 *database, int is_on) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, is_on, (int *)0);
}
#endif

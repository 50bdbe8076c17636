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

// The last connection to close leaves the log beside the file as it is.
static inline int driftless_sqlite_keep_log(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// Bytes of the database's file as they lie there, whatever its logs say. A file that was opened by other means would take
// this process's locks on it along when it is closed.
static inline int driftless_sqlite_read_file(sqlite3 *database, void *bytes, int count, sqlite3_int64 offset) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (!file || !file->pMethods) return SQLITE_CANTOPEN;
  return file->pMethods->xRead(file, bytes, count, offset);
}
#endif

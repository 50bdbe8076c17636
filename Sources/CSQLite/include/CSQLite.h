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

// Bytes of the write-ahead log that the connection has open, as they lie there.
static inline int driftless_sqlite_read_log(sqlite3 *database, void *bytes, int count, sqlite3_int64 offset) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (!file || !file->pMethods) return SQLITE_CANTOPEN;
  return file->pMethods->xRead(file, bytes, count, offset);
}

// Whether somebody, of this process or another, is about to change the file, or does: who has left a journal behind does not.
static inline int driftless_sqlite_is_reserved(sqlite3 *database, int *is_reserved) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (!file || !file->pMethods) return SQLITE_CANTOPEN;
  return file->pMethods->xCheckReservedLock(file, is_reserved);
}

// Whether no other connection, of this process or another, has the file open, as far as its locks tell: one that has a log holds
// the file shared for as long as it is open. Asked within a transaction that reads; the file stays as it is.
static inline int driftless_sqlite_is_alone(sqlite3 *database, int *is_alone) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (!file || !file->pMethods) return SQLITE_CANTOPEN;
  code = file->pMethods->xLock(file, SQLITE_LOCK_EXCLUSIVE);
  *is_alone = code == SQLITE_OK;
  // Also where it was refused: who waits for the lock keeps others out meanwhile.
  int unlocked = file->pMethods->xUnlock(file, SQLITE_LOCK_SHARED);
  return code == SQLITE_OK || code == SQLITE_BUSY ? unlocked : code;
}

// How far the log goes, and how much of it is in the file, in frames: from the index that all connections to the file share
// (sqlite.org/walformat.html, 2.1: mxFrame at byte 16, nBackfill at byte 96). A connection that holds the lock for writing
// sees both as they are. Another way to the index than the connection's own would take its locks along, as above.
static inline int driftless_sqlite_log_frames(sqlite3 *database, unsigned *all, unsigned *in_file) {
  sqlite3_file *file = 0;
  volatile void *page = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (!file || !file->pMethods || file->pMethods->iVersion < 2 || !file->pMethods->xShmMap)
    return SQLITE_NOTFOUND;
  code = file->pMethods->xShmMap(file, 0, 32768, 0, &page);
  if (code != SQLITE_OK) return code;
  if (!page) return SQLITE_NOTFOUND;
  *all = *(volatile unsigned *)((volatile char *)page + 16);
  *in_file = *(volatile unsigned *)((volatile char *)page + 96);
  return SQLITE_OK;
}
#endif

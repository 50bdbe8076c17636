// The limits that the benchmark compares with: what the same work costs in C, on the same libraries.
#ifndef DRIFTLESS_CLIMITS_H
#define DRIFTLESS_CLIMITS_H
#include <stdint.h>
#include <stddef.h>

/// One object of six attributes.
struct limit_item {
  int64_t key;
  int64_t flag;
  int64_t size;
  double score;
  double modified;
  const char *name;
  const char *summary;
};

/// Nanoseconds of CPU time that this process has used, in all its threads.
uint64_t limit_cpu_nanoseconds(void);
/// The same of the programs that it ran and that have ended.
uint64_t limit_children_cpu_nanoseconds(void);

/// Each returns 0, or SQLite's or the system's error code.
/// Creates the table and inserts the items in one transaction.
int limit_insert(const char *path, const struct limit_item *items, size_t count);
/// Steps over all rows into structs with strings of their own, and frees them.
int limit_fetch_all(const char *path, size_t *count);
/// Steps over the rows with the given keys, one prepared statement, one read transaction.
int limit_fetch_keys(const char *path, const int64_t *keys, size_t count);
/// Sets one column of the rows with the given keys, in one transaction.
int limit_update(const char *path, const int64_t *keys, size_t count);
/// Runs a SELECT and keeps each row's values in memory of its own until the end, as its columns give them.
int limit_query(const char *path, const char *sql, size_t *count);
/// Inserts the items `times` times over, with ascending keys, in one transaction.
int limit_insert_many(const char *path, const struct limit_item *items, size_t count, int times);
/// Gives free memory back to the system, so that the process' size tells what is in use.
void limit_trim(void);
/// The size of the session extension's change set (or patch set) of inserting the items with a 16-byte key, or of
/// updating one column of the first `updates` of them, raw and after zlib level 6.
int limit_session_bytes(const struct limit_item *items, size_t count, size_t updates, int patch,
                        size_t *raw, size_t *compressed);
/// zlib of the bytes at `level` into `target`, whose size comes back in `size`.
int limit_deflate(const uint8_t *source, size_t count, int level, uint8_t *target, size_t *size);
int limit_inflate(const uint8_t *source, size_t count, uint8_t *target, size_t *size);
/// Appends the bytes to a file `times` times, each followed by fdatasync.
int limit_append(const char *path, const uint8_t *bytes, size_t count, int times);
/// Sends the bytes `times` times over a loopback TCP connection to a thread that reads them.
int limit_send(const uint8_t *bytes, size_t count, int times);
/// Sends an HTTP request `times` times over one loopback connection, and reads as many answers with a Content-Length
/// as `limit_send`'s thread reads. `count` is how many bytes of bodies came.
int receive_answers(uint16_t port, const char *request, int times, size_t *count);
#endif

#define _GNU_SOURCE
#include "CLimits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

uint64_t limit_cpu_nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t limit_children_cpu_nanoseconds(void) {
  struct rusage use;
  getrusage(RUSAGE_CHILDREN, &use);
  return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000ull +
         (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000ull;
}

// The same settings as the store: WAL, synchronous FULL, 64 MB of cache, no automatic checkpoint.
static int open_database(const char *path, sqlite3 **database) {
  int rc = sqlite3_open_v2(path, database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  if (rc) return rc;
  return sqlite3_exec(*database,
                      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;"
                      "PRAGMA wal_autocheckpoint=0;",
                      NULL, NULL, NULL);
}

static int close_database(sqlite3 *database, int rc) {
  sqlite3_close(database);
  return rc == SQLITE_DONE ? 0 : rc;
}

int limit_insert(const char *path, const struct limit_item *items, size_t count) {
  sqlite3 *database;
  sqlite3_stmt *statement;
  int rc = open_database(path, &database);
  if (rc) return close_database(database, rc);
  rc = sqlite3_exec(database,
                    "CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,"
                    " ZFLAG INTEGER, ZSIZE INTEGER, ZSCORE FLOAT, ZMODIFIED TIMESTAMP,"
                    " ZNAME VARCHAR, ZSUMMARY VARCHAR); BEGIN IMMEDIATE",
                    NULL, NULL, NULL);
  if (rc) return close_database(database, rc);
  rc = sqlite3_prepare_v2(database, "INSERT INTO ZITEM VALUES (?,1,1,?,?,?,?,?,?)", -1, &statement,
                          NULL);
  if (rc) return close_database(database, rc);
  for (size_t i = 0; i < count; i++) {
    sqlite3_bind_int64(statement, 1, items[i].key);
    sqlite3_bind_int64(statement, 2, items[i].flag);
    sqlite3_bind_int64(statement, 3, items[i].size);
    sqlite3_bind_double(statement, 4, items[i].score);
    sqlite3_bind_double(statement, 5, items[i].modified);
    sqlite3_bind_text(statement, 6, items[i].name, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 7, items[i].summary, -1, SQLITE_STATIC);
    rc = sqlite3_step(statement);
    if (rc != SQLITE_DONE) break;
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  if (rc == SQLITE_DONE) rc = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
  return close_database(database, rc);
}

struct row {
  int64_t key, entity, version, flag, size;
  double score, modified;
  char *name, *summary;
};

static void read_row(sqlite3_stmt *statement, struct row *row) {
  row->key = sqlite3_column_int64(statement, 0);
  row->entity = sqlite3_column_int64(statement, 1);
  row->version = sqlite3_column_int64(statement, 2);
  row->flag = sqlite3_column_int64(statement, 3);
  row->size = sqlite3_column_int64(statement, 4);
  row->score = sqlite3_column_double(statement, 5);
  row->modified = sqlite3_column_double(statement, 6);
  row->name = strdup((const char *)sqlite3_column_text(statement, 7));
  row->summary = strdup((const char *)sqlite3_column_text(statement, 8));
}

int limit_fetch_all(const char *path, size_t *count) {
  sqlite3 *database;
  sqlite3_stmt *statement;
  size_t capacity = 1024, used = 0;
  struct row *rows = malloc(capacity * sizeof *rows);
  int rc = open_database(path, &database);
  if (!rc) rc = sqlite3_prepare_v2(database, "SELECT * FROM ZITEM", -1, &statement, NULL);
  if (rc) return close_database(database, rc);
  while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
    if (used == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
    read_row(statement, &rows[used++]);
  }
  sqlite3_finalize(statement);
  for (size_t i = 0; i < used; i++) {
    free(rows[i].name);
    free(rows[i].summary);
  }
  free(rows);
  *count = used;
  return close_database(database, rc);
}

int limit_fetch_keys(const char *path, const int64_t *keys, size_t count) {
  sqlite3 *database;
  sqlite3_stmt *statement;
  int rc = open_database(path, &database);
  if (!rc) rc = sqlite3_exec(database, "BEGIN", NULL, NULL, NULL);
  if (!rc)
    rc = sqlite3_prepare_v2(database, "SELECT * FROM ZITEM WHERE Z_PK=?", -1, &statement, NULL);
  if (rc) return close_database(database, rc);
  for (size_t i = 0; i < count; i++) {
    struct row row;
    sqlite3_bind_int64(statement, 1, keys[i]);
    if (sqlite3_step(statement) == SQLITE_ROW) {
      read_row(statement, &row);
      free(row.name);
      free(row.summary);
    }
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return close_database(database, sqlite3_exec(database, "COMMIT", NULL, NULL, NULL));
}

int limit_update(const char *path, const int64_t *keys, size_t count) {
  sqlite3 *database;
  sqlite3_stmt *statement;
  int rc = open_database(path, &database);
  if (!rc) rc = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  if (!rc)
    rc = sqlite3_prepare_v2(database, "UPDATE ZITEM SET ZSIZE=?, Z_OPT=Z_OPT+1 WHERE Z_PK=?", -1,
                            &statement, NULL);
  if (rc) return close_database(database, rc);
  for (size_t i = 0; i < count; i++) {
    sqlite3_bind_int64(statement, 1, (int64_t)i + 1000000);
    sqlite3_bind_int64(statement, 2, keys[i]);
    rc = sqlite3_step(statement);
    if (rc != SQLITE_DONE) break;
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  if (rc == SQLITE_DONE) rc = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
  return close_database(database, rc);
}

static void key_bytes(uint64_t number, unsigned char *key) {
  // A fixed permutation: as incompressible as a random UUID, and the same in each run.
  for (int half = 0; half < 2; half++) {
    uint64_t z = number * 2 + (uint64_t)half + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    memcpy(key + 8 * half, &z, 8);
  }
}

static int session_rows(sqlite3 *database, const struct limit_item *items, size_t count,
                        int update) {
  sqlite3_stmt *statement;
  int rc = sqlite3_prepare_v2(database,
                              update ? "UPDATE item SET size=?2 WHERE id=?1"
                                     : "INSERT INTO item VALUES (?1,?2,?3,?4,?5,?6,?7)",
                              -1, &statement, NULL);
  if (rc) return rc;
  for (size_t i = 0; i < count; i++) {
    unsigned char key[16];
    key_bytes((uint64_t)i, key);
    sqlite3_bind_blob(statement, 1, key, 16, SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement, 2, update ? (int64_t)i * (int64_t)i * 7919 % 1000003 : items[i].size);
    if (!update) {
      sqlite3_bind_int64(statement, 3, items[i].flag);
      sqlite3_bind_double(statement, 4, items[i].score);
      sqlite3_bind_double(statement, 5, items[i].modified);
      sqlite3_bind_text(statement, 6, items[i].name, -1, SQLITE_STATIC);
      sqlite3_bind_text(statement, 7, items[i].summary, -1, SQLITE_STATIC);
    }
    rc = sqlite3_step(statement);
    if (rc != SQLITE_DONE) break;
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return rc == SQLITE_DONE ? 0 : rc;
}

int limit_session_bytes(const struct limit_item *items, size_t count, size_t updates, int patch,
                        size_t *raw, size_t *compressed) {
  sqlite3 *database;
  sqlite3_session *session;
  int size = 0;
  void *bytes = NULL;
  int rc = sqlite3_open(":memory:", &database);
  if (!rc)
    rc = sqlite3_exec(database,
                      "CREATE TABLE item (id BLOB PRIMARY KEY, size INTEGER, flag INTEGER,"
                      " score FLOAT, modified FLOAT, name TEXT, summary TEXT); BEGIN",
                      NULL, NULL, NULL);
  if (!rc && updates) rc = session_rows(database, items, count, 0);
  if (!rc) rc = sqlite3session_create(database, "main", &session);
  if (!rc) rc = sqlite3session_attach(session, NULL);
  if (!rc) rc = session_rows(database, items, updates ? updates : count, updates != 0);
  if (!rc)
    rc = patch ? sqlite3session_patchset(session, &size, &bytes)
               : sqlite3session_changeset(session, &size, &bytes);
  if (rc) return close_database(database, rc);
  sqlite3session_delete(session);
  *raw = (size_t)size;
  *compressed = compressBound((uLong)size);
  uint8_t *target = malloc(*compressed);
  rc = limit_deflate(bytes, (size_t)size, 6, target, compressed);
  free(target);
  sqlite3_free(bytes);
  return close_database(database, rc);
}

int limit_deflate(const uint8_t *source, size_t count, int level, uint8_t *target, size_t *size) {
  uLongf used = (uLongf)*size;
  int rc = compress2(target, &used, source, (uLong)count, level);
  *size = used;
  return rc;
}

int limit_inflate(const uint8_t *source, size_t count, uint8_t *target, size_t *size) {
  uLongf used = (uLongf)*size;
  int rc = uncompress(target, &used, source, (uLong)count);
  *size = used;
  return rc;
}

int limit_append(const char *path, const uint8_t *bytes, size_t count, int times) {
  int file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (file < 0) return errno;
  for (int i = 0; i < times; i++) {
    for (size_t done = 0; done < count;) {
      ssize_t written = write(file, bytes + done, count - done);
      if (written < 0) return errno;
      done += (size_t)written;
    }
    if (fdatasync(file)) return errno;
  }
  return close(file);
}

struct reader {
  int listener;
  size_t total;
};

static void *read_all(void *argument) {
  struct reader *reader = argument;
  int connection = accept(reader->listener, NULL, NULL);
  char *buffer = malloc(1 << 16);
  for (ssize_t got; (got = read(connection, buffer, 1 << 16)) > 0;) reader->total += (size_t)got;
  free(buffer);
  close(connection);
  return NULL;
}

int limit_send(const uint8_t *bytes, size_t count, int times) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  struct reader reader = {.listener = socket(AF_INET, SOCK_STREAM, 0)};
  if (bind(reader.listener, (struct sockaddr *)&address, length) || listen(reader.listener, 1) ||
      getsockname(reader.listener, (struct sockaddr *)&address, &length))
    return errno;
  pthread_t thread;
  pthread_create(&thread, NULL, read_all, &reader);
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection, (struct sockaddr *)&address, length)) return errno;
  for (int i = 0; i < times; i++) {
    for (size_t done = 0; done < count;) {
      ssize_t sent = write(connection, bytes + done, count - done);
      if (sent < 0) return errno;
      done += (size_t)sent;
    }
  }
  close(connection);
  pthread_join(thread, NULL);
  close(reader.listener);
  return reader.total == count * (size_t)times ? 0 : EIO;
}

// Reads one answer, and returns the bytes of its body; negative on an error.
static ssize_t read_answer(int connection, char *buffer, size_t size) {
  size_t held = 0;
  char *end = NULL;
  while (!end && held + 1 < size) {
    ssize_t got = read(connection, buffer + held, size - 1 - held);
    if (got <= 0) return -1;
    held += (size_t)got;
    buffer[held] = 0;
    end = strstr(buffer, "\r\n\r\n");
  }
  char *length = end && !strncmp(buffer, "HTTP/1.1 200", 12) ? strcasestr(buffer, "content-length:") : NULL;
  if (!length || length > end) return -1;
  ssize_t body = atol(length + 15);
  ssize_t rest = body - (ssize_t)(held - (size_t)(end + 4 - buffer));
  while (rest > 0) {
    ssize_t got = read(connection, buffer, rest < (ssize_t)size ? (size_t)rest : size);
    if (got <= 0) return -1;
    rest -= got;
  }
  return body;
}

int receive_answers(uint16_t port, const char *request, int times, size_t *count) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection, (struct sockaddr *)&address, sizeof address)) return errno;
  char *buffer = malloc(1 << 16);
  int rc = 0;
  *count = 0;
  for (int i = 0; i < times && !rc; i++) {
    size_t length = strlen(request);
    ssize_t body = write(connection, request, length) == (ssize_t)length
                       ? read_answer(connection, buffer, 1 << 16)
                       : -1;
    if (body < 0) rc = EIO;
    else *count += (size_t)body;
  }
  free(buffer);
  close(connection);
  return rc;
}

// What it costs to append the same bytes to a database and nothing else: to SQLite, or to PostgreSQL through libpq.
//
//   append sqlite FILE BYTES COUNT GROUP       GROUP rows a transaction, each transaction on the disk before the next
//   append postgres TEXT BYTES COUNT CLIENTS   one row a transaction, by so many connections at once
//
// Prints rows a second, and microseconds of this process' processor a row.
#define _GNU_SOURCE
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef WITH_POSTGRES
#include <libpq-fe.h>
#endif

static const char *place;
static char *bytes;
static int size;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(const char *what) {
  fprintf(stderr, "append: %s\n", what);
  exit(1);
}

static void append_sqlite(int count, int group) {
  sqlite3 *db;
  sqlite3_stmt *insert;
  if (sqlite3_open(place, &db) || sqlite3_exec(db,
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
        "CREATE TABLE log(position INTEGER PRIMARY KEY, frame BLOB NOT NULL)", NULL, NULL, NULL) ||
      sqlite3_prepare_v2(db, "INSERT INTO log(frame) VALUES(?)", -1, &insert, NULL))
    fail(sqlite3_errmsg(db));
  for (int done = 0; done < count; done++) {
    if (done % group == 0 && sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL)) fail(sqlite3_errmsg(db));
    sqlite3_bind_blob(insert, 1, bytes, size, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) fail(sqlite3_errmsg(db));
    sqlite3_reset(insert);
    if ((done % group == group - 1 || done == count - 1) && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL))
      fail(sqlite3_errmsg(db));
  }
  sqlite3_finalize(insert);
  sqlite3_close(db);
}

#ifdef WITH_POSTGRES
static PGconn *connected(void) {
  PGconn *connection = PQconnectdb(place);
  if (PQstatus(connection) != CONNECTION_OK) fail(PQerrorMessage(connection));
  return connection;
}

static void check(PGconn *connection, PGresult *result) {
  ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(PQerrorMessage(connection));
  PQclear(result);
}

static void *append_rows(void *rows) {
  PGconn *connection = connected();
  check(connection, PQprepare(connection, "append", "INSERT INTO append_log(frame) VALUES($1)", 1, NULL));
  const char *values[] = {bytes};
  int lengths[] = {size}, formats[] = {1};
  for (int left = *(int *)rows; left > 0; left--)
    check(connection, PQexecPrepared(connection, "append", 1, values, lengths, formats, 0));
  PQfinish(connection);
  return NULL;
}

static void append_postgres(int count, int clients) {
  pthread_t threads[clients];
  int rows = count / clients;
  for (int i = 0; i < clients; i++) pthread_create(&threads[i], NULL, append_rows, &rows);
  for (int i = 0; i < clients; i++) pthread_join(threads[i], NULL);
}
#endif

int main(int argc, char **argv) {
  if (argc != 6) fail("it takes five arguments");
  place = argv[2];
  size = atoi(argv[3]);
  int count = atoi(argv[4]), width = atoi(argv[5]);
  if (size < 1 || count < 1 || width < 1) fail("numbers are at least 1");
  bytes = malloc((size_t)size);
  for (int i = 0; i < size; i++) bytes[i] = (char)rand();
#ifdef WITH_POSTGRES
  if (!strcmp(argv[1], "postgres")) {
    PGconn *connection = connected();
    check(connection, PQexec(connection, "DROP TABLE IF EXISTS append_log"));
    check(connection, PQexec(connection,
      "CREATE TABLE append_log(position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, frame bytea NOT NULL)"));
    PQfinish(connection);
  }
#endif
  double start = seconds(CLOCK_MONOTONIC), spent = seconds(CLOCK_PROCESS_CPUTIME_ID);
  if (!strcmp(argv[1], "sqlite")) append_sqlite(count, width);
#ifdef WITH_POSTGRES
  else if (!strcmp(argv[1], "postgres")) append_postgres(count, width);
#endif
  else fail("the database is of no kind that this program was built with");
  start = seconds(CLOCK_MONOTONIC) - start;
  spent = seconds(CLOCK_PROCESS_CPUTIME_ID) - spent;
  printf("%.1f %.2f\n", count / start, spent * 1e6 / count);
}

#include "CLimits.h"

#include <malloc.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct value {
  int type;
  union {
    int64_t integer;
    double real;
    char *text;
  };
};

static void read_value(sqlite3_stmt *statement, int column, struct value *value) {
  value->type = sqlite3_column_type(statement, column);
  switch (value->type) {
    case SQLITE_INTEGER: value->integer = sqlite3_column_int64(statement, column); break;
    case SQLITE_FLOAT: value->real = sqlite3_column_double(statement, column); break;
    case SQLITE_TEXT: value->text = strdup((const char *)sqlite3_column_text(statement, column));
  }
}

static void free_rows(struct value **rows, size_t count, int columns) {
  for (size_t i = 0; i < count; i++) {
    for (int c = 0; c < columns; c++)
      if (rows[i][c].type == SQLITE_TEXT) free(rows[i][c].text);
    free(rows[i]);
  }
  free(rows);
}

int limit_query(const char *path, const char *sql, size_t *count) {
  sqlite3 *database;
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
  if (!rc) rc = sqlite3_exec(database, "PRAGMA cache_size=-65536", NULL, NULL, NULL);
  if (!rc) rc = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
  if (rc) {
    sqlite3_close(database);
    return rc;
  }
  int columns = sqlite3_column_count(statement);
  size_t capacity = 1024, used = 0;
  struct value **rows = malloc(capacity * sizeof *rows);
  while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
    if (used == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
    struct value *row = malloc((size_t)columns * sizeof *row);
    for (int c = 0; c < columns; c++) read_value(statement, c, &row[c]);
    rows[used++] = row;
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  *count = used;
  free_rows(rows, used, columns);
  return rc == SQLITE_DONE ? 0 : rc;
}

int limit_insert_many(const char *path, const struct limit_item *items, size_t count, int times) {
  sqlite3 *database;
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  if (!rc)
    rc = sqlite3_exec(database,
                      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;"
                      "CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,"
                      " ZFLAG INTEGER, ZSIZE INTEGER, ZSCORE FLOAT, ZMODIFIED TIMESTAMP,"
                      " ZNAME VARCHAR, ZSUMMARY VARCHAR); BEGIN IMMEDIATE",
                      NULL, NULL, NULL);
  if (!rc)
    rc = sqlite3_prepare_v2(database, "INSERT INTO ZITEM VALUES (?,1,1,?,?,?,?,?,?)", -1,
                            &statement, NULL);
  int64_t key = 0;
  for (int time = 0; time < times && !rc; time++) {
    for (size_t i = 0; i < count && !rc; i++) {
      sqlite3_bind_int64(statement, 1, ++key);
      sqlite3_bind_int64(statement, 2, items[i].flag);
      sqlite3_bind_int64(statement, 3, items[i].size);
      sqlite3_bind_double(statement, 4, items[i].score);
      sqlite3_bind_double(statement, 5, items[i].modified);
      sqlite3_bind_text(statement, 6, items[i].name, -1, SQLITE_STATIC);
      sqlite3_bind_text(statement, 7, items[i].summary, -1, SQLITE_STATIC);
      rc = sqlite3_step(statement);
      if (rc == SQLITE_DONE) rc = sqlite3_reset(statement);
    }
  }
  sqlite3_finalize(statement);
  if (!rc) rc = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
  sqlite3_close(database);
  return rc;
}

void limit_trim(void) { malloc_trim(0); }

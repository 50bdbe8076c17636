// Loaded before the C library into a program under test: its n-th change of a file below a folder goes wrong.
//
//   DRIFTLESS_FAULT=KIND:N          which change, 1 being the first
//   DRIFTLESS_FAULT_FOLDER=PATH     only files below it count, and no shared memory of SQLite's
//
// KIND is
//   kill      the process ends by SIGKILL before the change
//   torn      half of the bytes are written, then as kill
//   full      from here on no write finds room
//   broken    from here on every write fails
//   unsynced  from here on every wait for the disk fails
//   cut       the power goes before the change, or at the end of the process: of what no wait for the disk followed,
//             nothing is left
//   mangled   as cut, but every second one of those writes is left
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { none, kill_it, torn, full, broken, unsynced, cut, mangled };

// A change that no wait for the disk followed yet.
struct change {
  struct change *before;
  dev_t device;
  ino_t inode;
  int file;
  off_t place, size_before, size_after;
  size_t count_before, count_after;
  char *bytes_before, *bytes_after;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum kind kind;
static long left;
static char folder[4096];
static struct change *changes;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);

static void lose_power(void);

// Calls come before any constructor has run, so each looks for itself.
static void prepare(void) {
  static int is_prepared;
  if (is_prepared) return;
  is_prepared = 1;
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_write = dlsym(RTLD_NEXT, "write");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_rename = dlsym(RTLD_NEXT, "rename");
  static const char *names[] = {"none",   "kill",     "torn", "full",
                                "broken", "unsynced", "cut",  "mangled"};
  const char *fault = getenv("DRIFTLESS_FAULT");
  const char *below = getenv("DRIFTLESS_FAULT_FOLDER");
  if (!fault || !below) return;
  const char *colon = strchr(fault, ':');
  for (int i = 1; colon && i < 8; i++)
    if (strlen(names[i]) == (size_t)(colon - fault) && !strncmp(fault, names[i], colon - fault))
      kind = i;
  left = colon ? atol(colon + 1) : 0;
  snprintf(folder, sizeof folder, "%s/", below);
  if (kind == cut || kind == mangled) {
    atexit(lose_power);
    at_quick_exit(lose_power);
  }
}

static int is_below(const char *path) {
  size_t length = strlen(path);
  return !strncmp(path, folder, strlen(folder)) && !(length > 4 && !strcmp(path + length - 4, "-shm"));
}

static int counts(int file) {
  if (kind == none) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path);
}

// Takes back what was not waited for; where every second change is left, those are made again in their order.
static void lose_power(void) {
  int number = 0;
  for (struct change *change = changes; change; change = change->before) {
    if (change->count_before)
      real_pwrite(change->file, change->bytes_before, change->count_before, change->place);
    real_ftruncate(change->file, change->size_before);
    number++;
  }
  if (kind != mangled) return;
  struct change **order = calloc(number + 1, sizeof *order);
  int index = number;
  for (struct change *change = changes; change; change = change->before) order[--index] = change;
  for (index = 0; index < number; index += 2) {
    if (order[index]->count_after)
      real_pwrite(order[index]->file, order[index]->bytes_after, order[index]->count_after, order[index]->place);
    else
      real_ftruncate(order[index]->file, order[index]->size_after);
  }
}

// Whether the fault is due, which may be the end of the process.
static int is_due(int file, const void *bytes, size_t count, off_t place) {
  if (left > 0) left--;
  if (left > 0) return 0;
  if (kind == torn && bytes) {
    if (place < 0)
      real_write(file, bytes, count / 2);
    else
      real_pwrite(file, bytes, count / 2, place);
  }
  if (kind == cut || kind == mangled) lose_power();
  if (kind == kill_it || kind == torn || kind == cut || kind == mangled) kill(getpid(), SIGKILL);
  return 1;
}

static char *copy(const void *bytes, size_t count) {
  char *result = malloc(count ? count : 1);
  if (count) memcpy(result, bytes, count);
  return result;
}

static void note(int file, off_t place, const void *bytes, size_t count, off_t size_after) {
  struct stat status;
  if ((kind != cut && kind != mangled) || fstat(file, &status) || !S_ISREG(status.st_mode)) return;
  struct change *change = calloc(1, sizeof *change);
  change->device = status.st_dev;
  change->inode = status.st_ino;
  // Never closed: that would let go of the locks that the process holds on the file.
  for (struct change *other = changes; other && !change->file; other = other->before)
    if (other->inode == change->inode && other->device == change->device) change->file = other->file;
  if (!change->file) change->file = fcntl(file, F_DUPFD_CLOEXEC, 3);
  change->place = place;
  change->size_before = status.st_size;
  change->size_after = size_after;
  size_t span = bytes ? count : (size_t)(status.st_size > place ? status.st_size - place : 0);
  change->bytes_before = malloc(span ? span : 1);
  ssize_t got = pread(file, change->bytes_before, span, place);
  change->count_before = got > 0 ? got : 0;
  change->bytes_after = copy(bytes, bytes ? count : 0);
  change->count_after = bytes ? count : 0;
  change->before = changes;
  changes = change;
}

static void forget(int file) {
  struct stat status;
  if (fstat(file, &status)) return;
  for (struct change **next = &changes; *next;) {
    if ((*next)->inode == status.st_ino && (*next)->device == status.st_dev)
      *next = (*next)->before;
    else
      next = &(*next)->before;
  }
}

static int refusal(void) { return kind == full ? ENOSPC : kind == broken ? EIO : 0; }

static ssize_t write_at(int file, const void *bytes, size_t count, off_t place, int has_place) {
  prepare();
  int error = 0;
  if (counts(file)) {
    pthread_mutex_lock(&lock);
    if (is_due(file, bytes, count, has_place ? place : -1)) error = refusal();
    if (!error) note(file, has_place ? place : lseek(file, 0, SEEK_CUR), bytes, count, 0);
    pthread_mutex_unlock(&lock);
  }
  if (error) {
    errno = error;
    return -1;
  }
  return has_place ? real_pwrite(file, bytes, count, place) : real_write(file, bytes, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t place) {
  return write_at(file, bytes, count, place, 1);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t place) {
  return write_at(file, bytes, count, place, 1);
}
ssize_t write(int file, const void *bytes, size_t count) { return write_at(file, bytes, count, 0, 0); }

static int truncate_to(int file, off_t size) {
  prepare();
  if (counts(file)) {
    pthread_mutex_lock(&lock);
    is_due(file, NULL, 0, 0);
    note(file, size, NULL, 0, size);
    pthread_mutex_unlock(&lock);
  }
  return real_ftruncate(file, size);
}
int ftruncate64(int file, off64_t size) { return truncate_to(file, size); }
int ftruncate(int file, off_t size) { return truncate_to(file, size); }

static int wait_for_disk(int file, int (*real)(int)) {
  int error = 0;
  if (counts(file)) {
    pthread_mutex_lock(&lock);
    if (is_due(file, NULL, 0, 0) && kind == unsynced) error = EIO;
    if (!error) forget(file);
    pthread_mutex_unlock(&lock);
  }
  if (error) {
    errno = error;
    return -1;
  }
  return real(file);
}
int fsync(int file) {
  prepare();
  return wait_for_disk(file, real_fsync);
}
int fdatasync(int file) {
  prepare();
  return wait_for_disk(file, real_fdatasync);
}

int unlink(const char *path) {
  prepare();
  if (kind != none && is_below(path)) {
    pthread_mutex_lock(&lock);
    is_due(-1, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
  }
  return real_unlink(path);
}
int rename(const char *from, const char *to) {
  prepare();
  if (kind != none && is_below(to)) {
    pthread_mutex_lock(&lock);
    is_due(-1, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
  }
  return real_rename(from, to);
}

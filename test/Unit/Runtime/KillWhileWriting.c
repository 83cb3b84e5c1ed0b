// Preloaded, kills the process at the TENON_KILL_AT-th call that changes a file
// in the folder TENON_KILL_FOLDER or makes the folder durable, and says on the
// standard error stream at which call. Of a write, the first half is done
// before. With TENON_KILL_READ_AT, at that call which reads a file there at a
// place of it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool isInFolder(const char *path) {
  const char *folder = getenv("TENON_KILL_FOLDER");
  size_t length = folder ? strlen(folder) : 0;
  return length > 0 && strncmp(path, folder, length) == 0 &&
         (path[length] == '/' || path[length] == '\0');
}

static bool isFileInFolder(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length <= 0)
    return false;
  path[length] = '\0';
  return isInFolder(path);
}

// Whether the call that is being made is the chosen one.
static bool isChosen(void) {
  static long calls = 0;
  const char *chosen = getenv("TENON_KILL_AT");
  return chosen && ++calls == strtol(chosen, NULL, 10);
}

// The same of the calls that read.
static bool isChosenRead(void) {
  static long calls = 0;
  const char *chosen = getenv("TENON_KILL_READ_AT");
  return chosen && ++calls == strtol(chosen, NULL, 10);
}

static void die(const char *call) {
  dprintf(STDERR_FILENO, "killed at %s\n", call);
  raise(SIGKILL);
}

#define ORIGINAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t count) {
  if (isFileInFolder(file) && isChosen()) {
    ORIGINAL(write)(file, bytes, count / 2);
    die("write");
  }
  return ORIGINAL(write)(file, bytes, count);
}

int fsync(int file) {
  if (isFileInFolder(file) && isChosen())
    die("fsync");
  return ORIGINAL(fsync)(file);
}

int rename(const char *from, const char *to) {
  if (isInFolder(to) && isChosen())
    die("rename");
  return ORIGINAL(rename)(from, to);
}

int mkdir(const char *path, mode_t mode) {
  if (isInFolder(path) && isChosen())
    die("mkdir");
  return ORIGINAL(mkdir)(path, mode);
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
  if (isFileInFolder(file) && isChosenRead())
    die("read");
  return ORIGINAL(pread)(file, bytes, count, offset);
}

ssize_t pread64(int file, void *bytes, size_t count, off_t offset) {
  return pread(file, bytes, count, offset);
}

//===- AtomicFile.cpp - A file that appears whole or not at all -----------===//
//
// Temporary file, fsync, rename, fsync of the folder.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/AtomicFile.h"

#include "tenon/Support/Refuse.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tenon::format;

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

static std::string reason() { return std::strerror(errno); }

/// Makes a file of a new name that begins with `path`; negative if it cannot.
static int createBeside(const std::string &path, mode_t mode,
                        std::string &name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  static_assert(letters.size() == 64);
  constexpr int mostTries = 100;
  int file = -1;
  for (int tries = 0; tries < mostTries; ++tries) {
    uint8_t random[6];
    if (getrandom(random, sizeof(random), 0) != ssize_t(sizeof(random)))
      return -1;
    name = path + ".";
    for (uint8_t number : random)
      name += letters[number % letters.size()];
    file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file >= 0 || errno != EEXIST)
      break;
  }
  return file;
}

std::unique_ptr<AtomicFile> AtomicFile::create(const std::string &path,
                                               std::string &error) {
  // A rename would put a file in the place of a device or a pipe, and of a link
  // instead of what it points to.
  struct stat old;
  bool exists = stat(path.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode))
    return refuse(error,
                  "cannot write '" + path + "': it is not a regular file");
  std::string target = path;
  if (exists) {
    if (char *resolved = realpath(path.c_str(), nullptr)) {
      target = resolved;
      free(resolved);
    }
  }
  return createAt(target, exists ? &old : nullptr, error);
}

std::unique_ptr<AtomicFile> AtomicFile::createAt(const std::string &path,
                                                 const struct stat *old,
                                                 std::string &error) {
  std::unique_ptr<AtomicFile> result(new AtomicFile);
  result->path = path;
  // A user expects the mode of the file that is replaced, or of a plain new
  // one: then the kernel takes the process's mask from it, and what the folder
  // says of new files.
  result->file = createBeside(path, old ? 0600 : 0666, result->temporary);
  if (result->file < 0)
    return refuse(error, "cannot write '" + path + "': " + reason());
  if (old)
    (void)fchmod(result->file, old->st_mode & 07777);
  return result;
}

AtomicFile::~AtomicFile() {
  if (file >= 0) {
    close(file);
    unlink(temporary.c_str());
  }
}

bool AtomicFile::append(std::span<const std::byte> bytes, std::string &error) {
  const std::byte *next = bytes.data();
  size_t left = bytes.size();
  while (left > 0) {
    ssize_t written = ::write(file, next, left);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return refuse(error, "cannot write '" + path + "': " +
                               (written < 0 ? reason() : "no progress") +
                               "; what was there before is untouched");
    next += written;
    left -= size_t(written);
  }
  return true;
}

bool AtomicFile::commit(std::string &error) {
  bool durable = fsync(file) == 0;
  if (!durable)
    error = "cannot write '" + path + "': " + reason() +
            "; what was there before is untouched";
  int closed = close(file);
  file = -1;
  if (durable && closed != 0) {
    error = "cannot write '" + path + "': " + reason() +
            "; what was there before is untouched";
    durable = false;
  }
  if (!durable || rename(temporary.c_str(), path.c_str()) != 0) {
    if (durable)
      error = "cannot replace '" + path + "': " + reason();
    unlink(temporary.c_str());
    return false;
  }
  int folder = open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    // Some file systems cannot sync a folder; the rename stands either way.
    (void)fsync(folder);
    close(folder);
  }
  return true;
}

bool tenon::format::writeFile(const std::string &path,
                              std::span<const std::byte> bytes,
                              std::string &error) {
  auto file = AtomicFile::create(path, error);
  return file && file->append(bytes, error) && file->commit(error);
}

//===- AtomicFile.cpp - What appears whole or not at all ------------------===//
//
// Temporary file, fsync, rename, fsync of the folder.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/AtomicFile.h"

#include "tenon/Support/Refuse.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
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

/// Tries `make` with new names that begin with `start` until one is not taken.
/// Negative if it cannot be made.
template <typename Make>
static int makeOfNewName(const std::string &start, std::string &name,
                         Make make) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  static_assert(letters.size() == 64);
  constexpr int mostTries = 100;
  int made = -1;
  for (int tries = 0; tries < mostTries; ++tries) {
    uint8_t random[6];
    if (getrandom(random, sizeof(random), 0) != ssize_t(sizeof(random)))
      return -1;
    name = start + ".";
    for (uint8_t number : random)
      name += letters[number % letters.size()];
    made = make(name.c_str());
    if (made >= 0 || errno != EEXIST)
      break;
  }
  return made;
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
  mode_t mode = old ? 0600 : 0666;
  result->file = makeOfNewName(path, result->temporary, [&](const char *name) {
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  });
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
  return finish(/*isDurable=*/true, error);
}

bool AtomicFile::commitSoon(std::string &error) {
  return finish(/*isDurable=*/false, error);
}

bool AtomicFile::finish(bool isDurable, std::string &error) {
  bool written = !isDurable || fsync(file) == 0;
  if (!written)
    error = "cannot write '" + path + "': " + reason() +
            "; what was there before is untouched";
  int closed = close(file);
  file = -1;
  if (written && closed != 0) {
    error = "cannot write '" + path + "': " + reason() +
            "; what was there before is untouched";
    written = false;
  }
  if (!written || rename(temporary.c_str(), path.c_str()) != 0) {
    if (written)
      error = "cannot replace '" + path + "': " + reason();
    unlink(temporary.c_str());
    return false;
  }
  // The rename stands either way.
  std::string ignored;
  if (isDurable)
    (void)syncFolder(folderOf(path), ignored);
  return true;
}

bool tenon::format::syncFolder(const std::string &path, std::string &error) {
  int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool synced = folder >= 0 && fsync(folder) == 0;
  // Some file systems cannot sync a folder.
  synced = synced || (folder >= 0 && (errno == EINVAL || errno == ENOTSUP));
  if (!synced)
    error = "cannot make the folder '" + path + "' durable: " + reason();
  if (folder >= 0)
    close(folder);
  return synced;
}

std::unique_ptr<AtomicFolder> AtomicFolder::create(const std::string &path,
                                                   std::string &error) {
  std::unique_ptr<AtomicFolder> result(new AtomicFolder);
  result->path = path;
  size_t nameBegin = path.rfind('/') + 1; // 0 if there is none
  std::string start = path.substr(0, nameBegin) +
                      std::string(unfinishedPrefix) + path.substr(nameBegin);
  std::string name;
  if (makeOfNewName(start, name,
                    [](const char *name) { return mkdir(name, 0777); }) < 0) {
    (void)result->fail("cannot write", error);
    return nullptr;
  }
  result->temporary = name;
  return result;
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary.empty())
    std::filesystem::remove_all(temporary, ignored);
}

bool AtomicFolder::fail(const std::string &what, std::string &error) const {
  return refuse(error, what + " '" + path + "': " + reason());
}

bool AtomicFolder::commit(std::string &error) {
  if (!syncFolder(temporary, error))
    return false;
  std::string replaced;
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    // A folder with files in it is not replaced by a rename.
    if (errno != ENOTEMPTY && errno != EEXIST)
      return fail("cannot write", error);
    replaced = temporary + ".replaced";
    if (rename(path.c_str(), replaced.c_str()) != 0 ||
        rename(temporary.c_str(), path.c_str()) != 0)
      return fail("cannot replace", error);
  }
  temporary.clear();
  if (!syncFolder(folderOf(path), error))
    return false;
  std::error_code ignored;
  if (!replaced.empty())
    std::filesystem::remove_all(replaced, ignored);
  return true;
}

bool tenon::format::writeFile(const std::string &path,
                              std::span<const std::byte> bytes,
                              std::string &error) {
  auto file = AtomicFile::create(path, error);
  return file && file->append(bytes, error) && file->commit(error);
}

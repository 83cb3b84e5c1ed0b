//===- FuzzNumpy.cpp - Any bytes as a file of numpy's ---------------------===//
//
// As one array and as an archive of them: the bytes lie in an anonymous file
// that has a name of each ending. What is listed is read as well.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Numpy.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace tenon::format;

static void readAll(const std::string &path, size_t size) {
  std::string error;
  auto reader = NumpyReader::open(path, error);
  if (!reader) {
    if (error.empty())
      abort(); // refused without a word
    return;
  }
  for (const StoredTensor &tensor : reader->tensors()) {
    if (tensor.bytes > size)
      abort(); // more than the file has
    std::vector<std::byte> bytes(tensor.bytes);
    if (!reader->read(tensor, 0, bytes, error))
      abort();
    if (reader->find(tensor.name) == nullptr)
      abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int file = memfd_create("input", 0);
  static const std::string names = [] {
    std::string folder =
        std::filesystem::temp_directory_path() / "tenon-fuzz-XXXXXX";
    if (!mkdtemp(folder.data()))
      abort();
    static std::string kept;
    kept = folder;
    atexit([] { std::filesystem::remove_all(kept); });
    std::string target = "/proc/self/fd/" + std::to_string(file);
    for (const char *name : {"/x.npy", "/x.npz"})
      std::filesystem::create_symlink(target, folder + name);
    return folder;
  }();
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size))
    abort();
  readAll(names + "/x.npy", size);
  readAll(names + "/x.npz", size);
  return 0;
}

//===- FuzzSafetensors.cpp - Any bytes as a safetensors file -------------===//
//
// The reader takes files: the bytes lie in an anonymous one. What it lists is
// read as well.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Safetensors.h"

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace tenon::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int file = memfd_create("input", 0);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size))
    abort();
  std::string error;
  auto reader =
      SafetensorsReader::open("/proc/self/fd/" + std::to_string(file), error);
  if (!reader) {
    if (error.empty())
      abort(); // refused without a word
    return 0;
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
  return 0;
}

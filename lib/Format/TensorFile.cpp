//===- TensorFile.cpp - A file that holds tensors by name -----------------===//
//
// See TensorFile.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/TensorFile.h"

#include "tenon/Format/Numpy.h"
#include "tenon/Format/Safetensors.h"
#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

using namespace tenon;
using namespace tenon::format;

namespace {

/// The elements of one list.
class RawFile final : public TensorFile {
public:
  bool load(const std::string &path, const std::string &name, ElementType type,
            std::string &error) {
    if (!openFile(path, error))
      return false;
    uint64_t width = uint64_t(byteWidth(type));
    if (fileBytes % width != 0)
      return refuse(error, "'" + path + "' has " + std::to_string(fileBytes) +
                               " bytes, which are no whole number of elements "
                               "of " +
                               std::to_string(width) + " bytes");
    add({name,
         type,
         std::string(tenon::name(type)),
         {int64_t(fileBytes / width)},
         0,
         fileBytes});
    return true;
  }
};

} // namespace

std::unique_ptr<TensorFile> TensorFile::open(const std::string &path,
                                             std::string &error,
                                             const std::string &arrayName) {
  if (path.ends_with(".npy") || path.ends_with(".npz"))
    return NumpyReader::open(path, error, arrayName);
  return SafetensorsReader::open(path, error);
}

std::unique_ptr<TensorFile> TensorFile::openRaw(const std::string &path,
                                                const std::string &name,
                                                ElementType type,
                                                std::string &error) {
  auto file = std::make_unique<RawFile>();
  if (!file->load(path, name, type, error))
    return nullptr;
  return file;
}

TensorFile::~TensorFile() {
  if (file >= 0)
    close(file);
}

bool TensorFile::openFile(const std::string &name, std::string &error) {
  path = name;
  file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0)
    return refuse(error, "cannot open '" + path + "': " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return refuse(error, "'" + path + "' is not a file");
  fileBytes = uint64_t(status.st_size);
  return true;
}

bool TensorFile::readAt(uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    ssize_t got = pread(file, into.data(), into.size(), off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    into = into.subspan(size_t(got));
    offset += uint64_t(got);
  }
  return true;
}

bool TensorFile::add(StoredTensor tensor) {
  bool isNew = byName.emplace(tensor.name, list.size()).second;
  list.push_back(std::move(tensor));
  return isNew;
}

void TensorFile::sortByPlace() {
  std::sort(list.begin(), list.end(),
            [](const StoredTensor &a, const StoredTensor &b) {
              return std::tie(a.offset, a.bytes, a.name) <
                     std::tie(b.offset, b.bytes, b.name);
            });
  for (size_t i = 0; i < list.size(); ++i)
    byName[list[i].name] = i;
}

const StoredTensor *TensorFile::find(std::string_view name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &list[found->second];
}

bool TensorFile::read(const StoredTensor &tensor, uint64_t from,
                      std::span<std::byte> into, std::string &error) const {
  if (from > tensor.bytes || into.size() > tensor.bytes - from)
    return refuse(error, "tensor '" + tensor.name + "' of '" + path + "' has " +
                             std::to_string(tensor.bytes) +
                             " bytes, asked for " +
                             std::to_string(into.size()) + " from byte " +
                             std::to_string(from));
  return readFrom(tensor, from, into, error);
}

bool TensorFile::readFrom(const StoredTensor &tensor, uint64_t from,
                          std::span<std::byte> into, std::string &error) const {
  if (!readAt(dataStart + tensor.offset + from, into))
    return refuse(error,
                  "cannot read tensor '" + tensor.name + "' of '" + path + "'");
  return true;
}

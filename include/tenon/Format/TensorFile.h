//===- TensorFile.h - A file that holds tensors by name -------------------===//
//
// What the readers of several formats have in common: a list of tensors with
// their types, shapes and byte ranges, and reading bytes of one straight into
// the caller's memory, so that a file is never held beside what it fills.
// Several threads may read at once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_TENSORFILE_H
#define TENON_FORMAT_TENSORFILE_H

#include "tenon/Support/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::format {

/// One tensor of a file. `type` is nothing for types Tenon does not know, which
/// may be in a file as long as nobody reads them.
struct StoredTensor {
  std::string name;
  std::optional<ElementType> type;
  std::string typeName; // as in the file
  std::vector<int64_t> shape;
  uint64_t offset = 0; // bytes from the start of the data
  uint64_t bytes = 0;
};

class TensorFile {
public:
  /// Opens a safetensors file, or one of numpy's if `path` ends with `.npy` or
  /// `.npz`. Null with a message in `error` if there is no such file or it is
  /// damaged. An array of `.npy` has no name: `arrayName` is what it is called
  /// here, if not empty, otherwise the file's name without its ending.
  static std::unique_ptr<TensorFile> open(const std::string &path,
                                          std::string &error,
                                          const std::string &arrayName = "");
  /// A file that is nothing but the elements of one list, little-endian, which
  /// is called `name`. Null with a message in `error` if there is no such file
  /// or its bytes are no whole number of elements.
  static std::unique_ptr<TensorFile> openRaw(const std::string &path,
                                             const std::string &name,
                                             ElementType type,
                                             std::string &error);
  virtual ~TensorFile();
  TensorFile(const TensorFile &) = delete;
  TensorFile &operator=(const TensorFile &) = delete;

  /// In the order of their bytes.
  const std::vector<StoredTensor> &tensors() const { return list; }
  /// Null if there is none of that name.
  const StoredTensor *find(std::string_view name) const;

  /// Reads the bytes of `tensor` from `from` on (bytes from its start) into
  /// `into`. False with a message in `error` if that fails.
  bool read(const StoredTensor &tensor, uint64_t from,
            std::span<std::byte> into, std::string &error) const;

protected:
  TensorFile() = default;
  /// Reads bytes that the tensor has; false with a message in `error`.
  virtual bool readFrom(const StoredTensor &tensor, uint64_t from,
                        std::span<std::byte> into, std::string &error) const;
  /// Opens `path` and fills `fileBytes`; false with a message in `error`.
  bool openFile(const std::string &path, std::string &error);
  /// Bytes of the file from its start; false if it has fewer.
  bool readAt(uint64_t offset, std::span<std::byte> into) const;
  /// Adds a tensor; false if there is one of its name.
  bool add(StoredTensor tensor);
  void sortByPlace();

  std::string path;
  uint64_t dataStart = 0, fileBytes = 0;

private:
  std::vector<StoredTensor> list;
  std::map<std::string, size_t, std::less<>> byName;
  int file = -1;
};

} // namespace tenon::format

#endif // TENON_FORMAT_TENSORFILE_H

//===- Safetensors.h - Reads and writes safetensors files ----------------===//
//
// State, batches and results outside of Tenon are safetensors files: eight
// bytes of header length, a JSON header that gives each tensor's type, shape
// and byte range, then the bytes. The reader trusts nothing: ranges must tile
// the data without overlap or hole and agree with type and shape. Tensors are
// read straight into the caller's memory, so a file is never held beside the
// state.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_SAFETENSORS_H
#define TENON_FORMAT_SAFETENSORS_H

#include "tenon/Format/Hash.h"
#include "tenon/Support/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::format {

/// Longest header the reader accepts, as in the format's own implementation.
inline constexpr uint64_t maxSafetensorsHeader = 100'000'000;

/// One tensor of a file. `type` is nothing for types Tenon does not know, which
/// may be in a file as long as nobody reads them.
struct StoredTensor {
  std::string name;
  std::optional<ElementType> type;
  std::string typeName; // as in the header
  std::vector<int64_t> shape;
  uint64_t offset = 0; // bytes from the start of the data
  uint64_t bytes = 0;
};

class SafetensorsReader {
public:
  /// Null with a message in `error` if there is no such file or it is damaged.
  static std::unique_ptr<SafetensorsReader> open(const std::string &path,
                                                 std::string &error);
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader &) = delete;
  SafetensorsReader &operator=(const SafetensorsReader &) = delete;

  /// In the order of their bytes.
  const std::vector<StoredTensor> &tensors() const { return list; }
  /// The header's `__metadata__`.
  const std::map<std::string, std::string> &metadata() const { return notes; }
  /// Null if there is none of that name.
  const StoredTensor *find(std::string_view name) const;

  /// Reads the bytes of `tensor` from `from` on (bytes from its start) into
  /// `into`. False with a message in `error` if that fails.
  bool read(const StoredTensor &tensor, uint64_t from,
            std::span<std::byte> into, std::string &error) const;

private:
  SafetensorsReader() = default;
  bool load(std::string &error);

  std::string path;
  std::vector<StoredTensor> list;
  std::map<std::string, size_t, std::less<>> byName;
  std::map<std::string, std::string> notes;
  int file = -1;
  uint64_t dataStart = 0, fileBytes = 0;
};

/// One tensor to be written; `bytes` are its elements, row-major.
struct TensorBytes {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  /// Of a tensor that is put together when its turn comes: fills as many bytes
  /// as its shape takes, and `bytes` are none.
  std::function<bool(std::span<std::byte>, std::string &error)> make;
};

/// Writes the file atomically (see AtomicFile.h): wide types first so that
/// every tensor is aligned, otherwise in the order given. Names must differ.
/// False with a message in `error` if that fails; the old file is then intact.
/// `hashes`, if given, gets the hash of each tensor's bytes by its name.
bool writeSafetensors(const std::string &path,
                      std::span<const TensorBytes> tensors,
                      const std::map<std::string, std::string> &metadata,
                      std::string &error,
                      std::map<std::string, Hash> *hashes = nullptr);

} // namespace tenon::format

#endif // TENON_FORMAT_SAFETENSORS_H

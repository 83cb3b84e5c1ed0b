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
#include "tenon/Format/TensorFile.h"

#include <functional>

namespace tenon::format {

/// Longest header the reader accepts, as in the format's own implementation.
inline constexpr uint64_t maxSafetensorsHeader = 100'000'000;

class SafetensorsReader final : public TensorFile {
public:
  /// Null with a message in `error` if there is no such file or it is damaged.
  static std::unique_ptr<SafetensorsReader> open(const std::string &path,
                                                 std::string &error);

  /// The header's `__metadata__`.
  const std::map<std::string, std::string> &metadata() const { return notes; }

private:
  SafetensorsReader() = default;
  bool load(std::string &error);

  std::map<std::string, std::string> notes;
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

/// The numbers of the tensors in the order in which writeSafetensors() writes
/// them, and has them made.
std::vector<size_t> writingOrder(std::span<const TensorBytes> tensors);

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

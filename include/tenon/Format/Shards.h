//===- Shards.h - Tensors in several safetensors files --------------------===//
//
// A large state lies in several files beside an index, a JSON file whose
// `weight_map` says which file holds which tensor:
//
//   model.safetensors.index.json
//   model-00001-of-00002.safetensors
//   model-00002-of-00002.safetensors
//
// Here they look like one file. Tools that read models in shards read these.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_SHARDS_H
#define TENON_FORMAT_SHARDS_H

#include "tenon/Format/Safetensors.h"

namespace tenon::format {

/// Whether the path is that of an index, by its name.
bool isShardIndex(std::string_view path);

class ShardsReader final : public TensorFile {
public:
  /// Null with a message in `error` if there is no such index, it is damaged,
  /// or a file does not have a tensor that it should.
  static std::unique_ptr<ShardsReader> open(const std::string &path,
                                            std::string &error);

private:
  ShardsReader() = default;
  bool load(std::string &error);
  bool readFrom(const StoredTensor &tensor, uint64_t from,
                std::span<std::byte> into, std::string &error) const override;

  std::map<std::string, std::unique_ptr<SafetensorsReader>> files; // by name
  std::map<std::string, const TensorFile *, std::less<>> holders;
};

/// A safetensors file, or those of an index; as the two readers' open().
std::unique_ptr<TensorFile> openTensors(const std::string &path,
                                        std::string &error);

/// The files of one save: `id` sets them apart from those of another one, so
/// that the index that is there stays right until a new one takes its place.
class ShardNames {
public:
  ShardNames(const std::string &indexPath, uint32_t id, int64_t count);

  std::string pathOf(int64_t shard) const;
  /// Writes the index, atomically: `holders` gives the shard of each tensor,
  /// `bytes` are of all tensors. Then removes the shards of other saves.
  bool writeIndex(const std::map<std::string, int64_t> &holders, uint64_t bytes,
                  std::string &error) const;

private:
  std::string nameOf(int64_t shard) const;
  void removeOthers() const;

  std::string indexPath, folder, stem, ending;
};

} // namespace tenon::format

#endif // TENON_FORMAT_SHARDS_H

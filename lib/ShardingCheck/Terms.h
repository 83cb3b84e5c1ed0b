//===- Terms.h - What values are, by how they are computed ----------------===//
//
// A number for everything that a program may compute: two values have one
// number if the same operations make them of the same arguments, in the same
// order, so that they have the same bits. What only moves elements is looked
// through: a tensor that is made of parts of others is the list of its runs of
// elements, in row-major order.
//
// Example: with x of tensor<4x2xf32>, concatenate(slice %x [2:4, 0:2],
// slice %x [0:2, 0:2]) is the runs (x from 4, 4 elements), (x from 0, 4
// elements); a concatenation that puts the rows back in order is x.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDINGCHECK_TERMS_H
#define TENON_LIB_SHARDINGCHECK_TERMS_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tenon::shardingcheck {

using Term = uint64_t;

/// Elements `begin` to `begin + count` of a term that moves nothing.
struct Stretch {
  Term of;
  int64_t begin, count;
};

class Terms {
public:
  using Key = std::vector<uint64_t>;

  /// What is computed as `key` says. Keys of different meaning begin with
  /// different words.
  Term computed(Key key, mlir::Type type);
  /// The box of a tensor from `first` on, of these extents.
  Term sliced(Term of, llvm::ArrayRef<int64_t> first,
              llvm::ArrayRef<int64_t> extents);
  /// Part number `index` of `count` along `dim`.
  Term part(Term of, int64_t dim, int64_t index, int64_t count);
  Term joined(llvm::ArrayRef<Term> parts, int64_t dim);
  Term reshaped(Term of, mlir::Type type);

  mlir::Type typeOf(Term term) const { return all[term].type; }

private:
  struct Entry {
    mlir::Type type;
    std::vector<Stretch> runs; // empty for what moves nothing
  };
  struct Hash {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };

  std::vector<Stretch> runsOf(Term term) const;
  Term moved(mlir::RankedTensorType type, std::vector<Stretch> runs);
  Term intern(Key key, Entry entry);

  std::unordered_map<Key, Term, Hash> numbers;
  std::vector<Entry> all;
};

/// The number of something that MLIR has once per context.
template <typename T>
uint64_t wordOf(T unique) {
  return reinterpret_cast<uint64_t>(unique.getAsOpaquePointer());
}

} // namespace tenon::shardingcheck

#endif // TENON_LIB_SHARDINGCHECK_TERMS_H

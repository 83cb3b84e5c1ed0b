//===- Holding.h - What the devices hold of a tensor ----------------------===//
//
// A holding relates a local tensor to one of the whole step. It says, for every
// device and every local index, which element of the whole tensor lies there:
//
//   index of the whole, in dimension r = base[r][device] + sum of value * step
//
// over the digits of the local index that belong to r. A local dimension is a
// list of digits, major first, so that reshapes, transposes and exchanges of
// pieces stay exact. What is outside the whole tensor is unspecified, except
// for what `tail` says.
//
// Example: on two devices, local tensors of 3x4 that hold 5x4 elements cut in
// dimension 0 have digits {3, of 0, step 1} and {4, of 1, step 1}, base[0] =
// {0, 3} and base[1] = {0, 0}; the last row on device 1 is outside.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDINGCHECK_HOLDING_H
#define TENON_LIB_SHARDINGCHECK_HOLDING_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tenon::shardingcheck {

/// How terms are combined: what a pending reduction still has to do. Booleans
/// have "or" for max and "and" for min.
enum class Combine { sum, max, min };

inline constexpr unsigned bitOf(Combine combine) {
  return 1u << unsigned(combine);
}

inline constexpr int repeats = -1;

/// Part of a local dimension: `size` values, each of which is `step` further in
/// dimension `of` of the whole; the same element for all if `of` is `repeats`.
struct Digit {
  int64_t size = 1;
  int of = repeats;
  int64_t step = 0;

  bool operator==(const Digit &) const = default;
};

using Digits = llvm::SmallVector<Digit, 2>;
using PerDevice = std::vector<int64_t>;

struct Holding {
  mlir::Value whole;
  std::vector<Digits> dims; // of the local tensor
  /// Per dimension of the whole; nothing if all its elements are alike, so
  /// that the holding is one of each of them.
  std::vector<std::optional<PerDevice>> base;
  /// With more than one share the local tensors are terms: those of any set of
  /// devices of equal base that has each share once make up the element.
  PerDevice share;
  int64_t shares = 1;
  Combine combine = Combine::sum;
  /// A tensor of the whole step that still has to be added, element by element:
  /// what is held makes up the difference. Null where nothing is missing.
  mlir::Value missing;
  /// Per dimension of the whole, of which ways to combine, as bits, the
  /// elements outside of it are the identity.
  std::vector<unsigned> tail;

  bool isPending() const { return shares > 1 || missing; }
};

/// Merges neighbours that count on from each other.
void normalize(Digits &digits);
int64_t countOf(llvm::ArrayRef<Digit> digits);
/// Cuts into a major and a minor part, the latter of `count` values.
std::optional<std::pair<Digits, Digits>> split(llvm::ArrayRef<Digit> digits,
                                               int64_t count);

/// A holding of every element of a tensor on every device.
Holding everything(mlir::Value whole, llvm::ArrayRef<int64_t> shape,
                   int64_t devices);
/// A holding in a local tensor of this shape of a tensor with equal elements.
Holding anything(mlir::Value whole, llvm::ArrayRef<int64_t> wholeShape,
                 llvm::ArrayRef<int64_t> localShape, int64_t devices);

/// What is held where an operation moves elements of a local tensor. Nothing
/// where no holding describes it.
std::optional<Holding> transposed(Holding held,
                                  llvm::ArrayRef<int64_t> permutation);
std::optional<Holding> reshaped(Holding held, llvm::ArrayRef<int64_t> shape);
std::optional<Holding> broadcast(Holding held, llvm::ArrayRef<int64_t> to,
                                 llvm::ArrayRef<int64_t> shape);
/// `starts` by dimension and device.
std::optional<Holding> sliced(Holding held, llvm::ArrayRef<PerDevice> starts,
                              llvm::ArrayRef<int64_t> sizes,
                              llvm::ArrayRef<int64_t> strides);
/// New elements must be outside a whole tensor of this shape.
std::optional<Holding> padded(Holding held, llvm::ArrayRef<int64_t> wholeShape,
                              llvm::ArrayRef<int64_t> low,
                              llvm::ArrayRef<int64_t> high, int64_t devices);

/// The same holding, seen as one of a tensor of the whole step that has moved
/// elements of the former.
std::optional<Holding> ofTransposed(const Holding &held, mlir::Value to,
                                    llvm::ArrayRef<int64_t> permutation);
std::optional<Holding> ofSliced(const Holding &held, mlir::Value to,
                                llvm::ArrayRef<int64_t> starts,
                                llvm::ArrayRef<int64_t> strides);
std::optional<Holding> ofBroadcast(const Holding &held, mlir::Value to,
                                   llvm::ArrayRef<int64_t> fromShape,
                                   llvm::ArrayRef<int64_t> dims,
                                   llvm::ArrayRef<int64_t> shape);
std::optional<Holding> ofReshaped(const Holding &held, mlir::Value to,
                                  llvm::ArrayRef<int64_t> fromShape,
                                  llvm::ArrayRef<int64_t> shape);
/// Ways in which devices may have one of so many parts each: its number by
/// device.
using Spreads = llvm::function_ref<llvm::ArrayRef<PerDevice>(int64_t parts)>;
/// Holdings that say more than `held`, as far as ofReshaped() needs it: where
/// elements along a dimension are alike, which of them the repeated ones of a
/// local dimension are taken for, or those of a device that has fewer. `held`
/// alone if nothing is missing.
llvm::SmallVector<Holding> withPlaces(const Holding &held,
                                      llvm::ArrayRef<int64_t> fromShape,
                                      llvm::ArrayRef<int64_t> shape,
                                      Spreads spreads);

/// Groups of devices, each in the order of a collective.
using Groups = std::vector<std::vector<int64_t>>;

std::optional<Holding> gathered(Holding held, const Groups &groups,
                                int64_t dim);
std::optional<Holding> exchanged(Holding held, const Groups &groups,
                                 int64_t splitDim, int64_t concatDim);
/// `sources` by target.
std::optional<Holding> permuted(Holding held, llvm::ArrayRef<int64_t> sources);
std::optional<Holding> reduced(Holding held, const Groups &groups,
                               Combine combine);
/// The piece of a dimension that a device has by its place in its group.
std::optional<Holding> scattered(Holding held, const Groups &groups,
                                 int64_t dim);

/// What is known of a local dimension if it runs along the same dimension of
/// the whole, one by one.
struct Range {
  /// By device; nothing if all elements along the dimension are alike.
  std::optional<PerDevice> start;
  unsigned tail = 0;
};

/// Ranges of all dimensions if the local tensor is a block of the whole one.
std::optional<std::vector<Range>> blockOf(const Holding &held);

/// The holding in a local tensor of this shape that ranges describe.
Holding holdingOf(mlir::Value whole, llvm::ArrayRef<int64_t> localShape,
                  llvm::ArrayRef<Range> ranges);

} // namespace tenon::shardingcheck

#endif // TENON_LIB_SHARDINGCHECK_HOLDING_H

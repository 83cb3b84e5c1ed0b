//===- Collective.h - What ranks exchange in one call ---------------------===//
//
// Describes one collective of a step that several ranks run: who takes part,
// and what each of them gives and gets. IR and files hold its fields; the
// runtime carries it out (lib/Runtime/RunCollective.h).
//
// Operands and results are row-major. A dimension along which ranks are joined
// or cut is seen as [outer, ranks of the group, piece]: `outer` elements in
// front of it, and `piece` elements that each rank has at one of these.
//
//   kind               operand                result
//   all_gather         [outer, piece]         [outer, group, piece]
//   all_reduce         [piece]                [piece]
//   reduce_scatter     [outer, group, piece]  [outer, piece]
//   all_to_all         [outer, group, piece]  [outer, group, piece]
//   collective_permute [piece]                [piece], zeros if nobody sends
//   partition_id       none                   the rank's number, a ui32
//
// Example: an all-gather of tensor<4x3xf32> along dimension 1 by the groups
// {0, 1} and {2, 3} has outer = 4, piece = 3, groupSize = 2.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_COLLECTIVE_H
#define TENON_LIBRARIES_COLLECTIVE_H

#include "tenon/Support/ElementType.h"
#include "tenon/Support/Fields.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::libraries {

using tenon::name;

enum class CollectiveKind : uint8_t {
  allGather,
  allReduce,
  reduceScatter,
  allToAll,
  collectivePermute,
  partitionId,
};

/// How elements are combined; on booleans maximum is "or", minimum "and".
enum class Combination : uint8_t { none, sum, maximum, minimum };

struct Participant {
  int64_t rank = 0;

  bool operator==(const Participant &) const = default;
};

struct CollectiveDescription {
  CollectiveKind kind = CollectiveKind::partitionId;
  ElementType type = ElementType::ui32;
  Combination combination = Combination::none;
  int64_t outer = 1, piece = 1;
  /// Ranks per group; 2 for pairs of a source and a target.
  int64_t groupSize = 1;
  std::vector<Participant> groups; // group by group

  static constexpr std::string_view call = "collective";
  bool operator==(const CollectiveDescription &) const = default;
};

/// Bytes of the operand, 0 if there is none, of the result, and of the memory
/// in which ranks sort what they send and receive.
int64_t operandBytes(const CollectiveDescription &description);
int64_t resultBytes(const CollectiveDescription &description);
int64_t workspaceBytes(const CollectiveDescription &description);

/// What a rank receives of others in one call, in bytes.
int64_t receivedBytes(const CollectiveDescription &description, int64_t rank);

/// Bytes of the arguments of a call: of these three the ones that there are.
std::vector<int64_t> argumentBytes(const CollectiveDescription &description);

/// The elements that one rank of the group adds up in an all-reduce, except
/// that the last ones may have fewer.
inline int64_t shareOf(const CollectiveDescription &description) {
  return (description.piece + description.groupSize - 1) /
         description.groupSize;
}

/// Empty if every rank below `ranks` can take part, otherwise what is wrong.
std::string whyInvalid(const CollectiveDescription &description, int64_t ranks);

/// `all_reduce sum of 128 f32 by 2`.
std::string describe(const CollectiveDescription &description);

} // namespace tenon::libraries

namespace tenon {

template <>
inline constexpr auto namesOf<libraries::CollectiveKind> =
    std::to_array<std::string_view>({"all_gather", "all_reduce",
                                     "reduce_scatter", "all_to_all",
                                     "collective_permute", "partition_id"});
template <>
inline constexpr auto namesOf<libraries::Combination> =
    std::to_array<std::string_view>({"none", "sum", "maximum", "minimum"});

template <>
inline constexpr auto fieldsOf<libraries::Participant> =
    TENON_FIELDS(libraries::Participant, rank);
template <>
inline constexpr auto fieldsOf<libraries::CollectiveDescription> =
    TENON_FIELDS(libraries::CollectiveDescription, kind, type, combination,
                 outer, piece, groupSize, groups);

} // namespace tenon

#endif // TENON_LIBRARIES_COLLECTIVE_H

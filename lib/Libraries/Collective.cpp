//===- Collective.cpp - What ranks exchange in one call -------------------===//
//
// See Collective.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Collective.h"

#include "tenon/Support/CheckedArithmetic.h"

#include <algorithm>
#include <set>

using namespace tenon;
using namespace tenon::libraries;

using Kind = CollectiveKind;

/// Whether ranks are joined or cut along a dimension of these.
static bool hasGroupInOperand(Kind kind) {
  return kind == Kind::reduceScatter || kind == Kind::allToAll;
}
static bool hasGroupInResult(Kind kind) {
  return kind == Kind::allGather || kind == Kind::allToAll;
}

static int64_t partBytes(const CollectiveDescription &d) {
  return d.outer * d.piece * byteWidth(d.type);
}

int64_t libraries::operandBytes(const CollectiveDescription &d) {
  if (d.kind == Kind::partitionId)
    return 0;
  return partBytes(d) * (hasGroupInOperand(d.kind) ? d.groupSize : 1);
}

int64_t libraries::resultBytes(const CollectiveDescription &d) {
  return partBytes(d) * (hasGroupInResult(d.kind) ? d.groupSize : 1);
}

int64_t libraries::workspaceBytes(const CollectiveDescription &d) {
  const int64_t all = partBytes(d) * d.groupSize;
  // Where parts are not in one piece, they are sorted before and after.
  const int64_t sorted = d.outer > 1 ? all : 0;
  switch (d.kind) {
  case Kind::allGather:
    return sorted;
  case Kind::allReduce:
    return shareOf(d) * d.groupSize * byteWidth(d.type);
  case Kind::reduceScatter:
    return all + sorted;
  case Kind::allToAll:
    return 2 * sorted;
  case Kind::collectivePermute:
  case Kind::partitionId:
    return 0;
  }
  return 0;
}

int64_t libraries::receivedBytes(const CollectiveDescription &d, int64_t rank) {
  if (d.kind == Kind::partitionId)
    return 0;
  auto takesPart = std::ranges::find(d.groups, rank, &Participant::rank);
  if (d.kind == Kind::collectivePermute) {
    for (size_t i = 0; i + 1 < d.groups.size(); i += 2)
      if (d.groups[i + 1].rank == rank && d.groups[i].rank != rank)
        return partBytes(d);
    return 0;
  }
  if (takesPart == d.groups.end())
    return 0;
  const int64_t others = d.groupSize - 1;
  if (d.kind != Kind::allReduce)
    return others * partBytes(d);
  // Its share of all others, and then the sums that they have made.
  const int64_t place = (takesPart - d.groups.begin()) % d.groupSize,
                begin = std::min(d.piece, place * shareOf(d)),
                share = std::min(d.piece - begin, shareOf(d));
  return (others * share + d.piece - share) * byteWidth(d.type);
}

std::vector<int64_t> libraries::argumentBytes(const CollectiveDescription &d) {
  std::vector<int64_t> all;
  for (int64_t bytes : {operandBytes(d), resultBytes(d), workspaceBytes(d)})
    if (bytes > 0)
      all.push_back(bytes);
  return all;
}

/// Whether elements of the type are combined.
static bool isCombined(ElementType type) { return type <= ElementType::f64; }

std::string libraries::whyInvalid(const CollectiveDescription &d,
                                  int64_t ranks) {
  auto word = [&] {
    return "a collective '" + std::string(name(d.kind)) + "'";
  };
  if (!isKnown(d.kind) || !isKnown(d.combination) || byteWidth(d.type) == 0)
    return "a collective is of an unknown kind, combination or type";
  auto elements = mulChecked(d.outer, d.piece);
  auto all = elements && d.groupSize > 0 ? mulChecked(*elements, d.groupSize)
                                         : std::nullopt;
  if (d.outer < 1 || d.piece < 1 || !all || *all > int64_t(1) << 40)
    return word() + " has extents that are out of range";
  const bool combines =
      d.kind == Kind::allReduce || d.kind == Kind::reduceScatter;
  if (combines != (d.combination != Combination::none))
    return word() + " has the combination '" +
           std::string(name(d.combination)) + "'";
  if (combines && (!isCombined(d.type) || (d.type == ElementType::i1 &&
                                           d.combination == Combination::sum)))
    return word() + " combines elements of " + std::string(name(d.type)) +
           ", which no rank does";
  if (d.kind == Kind::partitionId)
    return d.type == ElementType::ui32 && *all == 1 && d.groups.empty()
               ? ""
               : word() + " gives something else than one ui32";
  const bool isPermute = d.kind == Kind::collectivePermute;
  if (d.groups.size() % size_t(d.groupSize) != 0 ||
      (isPermute && d.groupSize != 2) || (d.outer > 1 && isPermute) ||
      (d.outer > 1 && d.kind == Kind::allReduce))
    return word() + " has groups or extents that do not fit together";
  std::set<int64_t> first, second;
  for (size_t i = 0; i < d.groups.size(); ++i) {
    int64_t rank = d.groups[i].rank;
    if (rank < 0 || rank >= ranks)
      return word() + " names rank " + std::to_string(rank) + " of " +
             std::to_string(ranks);
    if (!(isPermute && i % 2 == 1 ? second : first).insert(rank).second)
      return word() + " names rank " + std::to_string(rank) + " twice";
  }
  if (!isPermute && int64_t(first.size()) != ranks)
    return word() + " has " + std::to_string(first.size()) + " of " +
           std::to_string(ranks) + " ranks in its groups";
  return "";
}

std::string libraries::describe(const CollectiveDescription &d) {
  std::string text(name(d.kind));
  if (d.kind == Kind::partitionId)
    return text;
  if (d.combination != Combination::none)
    text += " " + std::string(name(d.combination));
  text += " of " + std::to_string(operandBytes(d) / byteWidth(d.type)) + " " +
          std::string(name(d.type));
  return d.kind == Kind::collectivePermute
             ? text
             : text + " by " + std::to_string(d.groupSize);
}

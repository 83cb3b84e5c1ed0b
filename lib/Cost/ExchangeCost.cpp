//===- ExchangeCost.cpp - Seconds of what ranks exchange ------------------===//
//
// See ExchangeCost.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/ExchangeCost.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Format/Mesh.h"

#include "mlir/IR/BuiltinOps.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;
using libraries::CollectiveKind;

target::Link cost::slowestOf(const target::Link &a, const target::Link &b) {
  return {std::max(a.latency, b.latency), std::min(a.perRank(), b.perRank()),
          /*sharedBy=*/1, std::min(a.hiddenShare, b.hiddenShare)};
}

double cost::exchangeSeconds(CollectiveKind kind, int64_t ranks,
                             double received, const target::Link &slowest) {
  int64_t messages = ranks - 1;
  if (kind == CollectiveKind::allReduce)
    messages *= 2;
  else if (kind == CollectiveKind::collectivePermute)
    messages = 1;
  return double(messages) * slowest.latency + received / slowest.perRank();
}

SmallVector<int64_t> cost::meshSizes(Operation *inside) {
  auto module = dyn_cast<ModuleOp>(inside);
  if (!module)
    module = inside->getParentOfType<ModuleOp>();
  auto mesh = module ? module->getAttrOfType<StringAttr>(step::meshAttrName)
                     : StringAttr();
  std::string error;
  auto axes = mesh ? format::parseMesh(mesh.getValue(), error) : std::nullopt;
  SmallVector<int64_t> sizes;
  if (axes)
    for (const format::MeshAxis &axis : *axes)
      sizes.push_back(axis.size);
  return sizes;
}

/// The slowest link between ranks that differ in the place along an axis. Ranks
/// are numbered with the last axis fastest.
static target::Link slowestBetween(ArrayRef<libraries::Participant> ranks,
                                   ArrayRef<int64_t> sizes,
                                   ArrayRef<target::Link> links) {
  target::Link slowest = noLink;
  int64_t stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    auto along = [&](int64_t rank) { return rank / stride % sizes[axis]; };
    if (llvm::any_of(ranks, [&](const auto &other) {
          return along(other.rank) != along(ranks.front().rank);
        }))
      slowest = slowestOf(slowest, links[axis]);
    stride *= sizes[axis];
  }
  return slowest;
}

std::optional<Exchange> cost::exchangeOf(Operation *collective,
                                         const target::Target &target) {
  if (!isCollective(collective))
    return std::nullopt;
  SmallVector<int64_t> sizes = meshSizes(collective);
  std::string whyNot;
  auto description = describeCollective(collective, whyNot);
  if (sizes.empty() || !description || description->groups.empty())
    return std::nullopt;
  std::vector<target::Link> links =
      target.links.empty() ? target::builtInLinks(target, sizes) : target.links;
  if (links.size() != sizes.size())
    return std::nullopt;
  ArrayRef<libraries::Participant> groups = description->groups;
  const bool isPermute = description->kind == CollectiveKind::collectivePermute;
  double received = 0;
  for (const libraries::Participant &each : groups)
    received = std::max(
        received, double(libraries::receivedBytes(*description, each.rank)));
  target::Link slowest = slowestBetween(
      isPermute ? groups : groups.take_front(size_t(description->groupSize)),
      sizes, links);
  Exchange exchange;
  exchange.seconds = exchangeSeconds(description->kind, description->groupSize,
                                     received, slowest);
  exchange.hideable = exchange.seconds * slowest.hiddenShare;
  return exchange;
}

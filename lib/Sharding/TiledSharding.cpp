//===- TiledSharding.cpp - The text of mhlo.sharding ----------------------===//
//
// See TiledSharding.h. A table of devices says which tile each device has. Each
// axis of the mesh is taken as digits of prime size; a digit cuts the dimension
// in which its second device has another tile than the first one. The layout
// that this gives is then compared with the table, so that a table that no axes
// describe is refused.
//
//===----------------------------------------------------------------------===//

#include "TiledSharding.h"

#include "tenon/Analysis/DeviceTiles.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tenon::sharding;

static SmallVector<AxisPart> primeDigitsOf(const Mesh &mesh) {
  SmallVector<AxisPart> digits;
  for (auto [axis, size] : enumerate(mesh.axes))
    for (int64_t before = 1, left = size.size, prime = 2; left > 1;)
      if (left % prime == 0) {
        digits.push_back({unsigned(axis), before, prime});
        before *= prime;
        left /= prime;
      } else {
        ++prime;
      }
  return digits;
}

std::optional<Layout> tenon::sharding::readTiledSharding(StringRef text,
                                                         int64_t rank,
                                                         const Mesh &mesh,
                                                         std::string &error) {
  auto refuse = [&](const Twine &why) {
    error = ("'mhlo.sharding' is \"" + text + "\", " + why).str();
    return std::nullopt;
  };
  auto tiles = readDeviceTiles(text, rank, error);
  if (!tiles)
    return std::nullopt;
  if (tiles->isManual || !tiles->manualOf.empty())
    return refuse("which is for a body per device, and there is none");
  Layout layout = Layout::replicated(rank);
  if (tiles->devices == 0)
    return layout;
  const int64_t devices = mesh.devices();
  if (tiles->devices != devices)
    return refuse("which is for " + Twine(tiles->devices) +
                  " devices, and the mesh " + mesh.text() + " has " +
                  Twine(devices));
  SmallVector<AxisPart> digits = primeDigitsOf(mesh);
  for (int64_t dim = 0; dim < rank; ++dim) {
    ArrayRef<int64_t> own = tiles->tileOf[dim];
    auto stepOf = [&](const AxisPart &digit) {
      return own[mesh.stride(digit)];
    };
    AxisParts parts;
    for (const AxisPart &digit : digits)
      if (stepOf(digit) > 0)
        parts.push_back(digit);
    sort(parts, [&](const AxisPart &a, const AxisPart &b) {
      return stepOf(a) > stepOf(b);
    });
    for (int64_t device = 0; device < devices; ++device)
      if (mesh.indexAlong(device, parts) != own[device])
        return refuse("which cuts dimension " + Twine(dim) +
                      " along no axes of the mesh " + mesh.text());
    layout.dims[dim] = joined(parts);
  }
  return layout;
}

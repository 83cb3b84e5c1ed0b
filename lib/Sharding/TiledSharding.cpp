//===- TiledSharding.cpp - The text of mhlo.sharding ----------------------===//
//
// See TiledSharding.h. A table of devices, in row-major order of the tiles,
// says which tile each device has. Each axis of the mesh is taken as digits of
// prime size; a digit cuts the dimension in which its second device has another
// tile than the first one. The layout that this gives is then compared with the
// table, so that a table that no axes describe is refused.
//
//===----------------------------------------------------------------------===//

#include "TiledSharding.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tenon::sharding;

namespace {

/// `[2,1,2]` or `(1,0)` at the beginning of a text, which it is taken from.
/// Numbers are at most 2^31, and so is their product.
std::optional<SmallVector<int64_t>> takeNumbers(StringRef &text, char open,
                                                char close) {
  size_t end = text.find(close);
  if (!text.consume_front(StringRef(&open, 1)) || end == StringRef::npos)
    return std::nullopt;
  SmallVector<StringRef> words;
  text.take_front(end - 1).split(words, ',');
  text = text.drop_front(end);
  SmallVector<int64_t> numbers;
  int64_t product = 1;
  for (StringRef word : words) {
    int64_t number = 0;
    if (word.trim().getAsInteger(10, number) || number < 0 ||
        number > (1ll << 31))
      return std::nullopt;
    product *= std::max<int64_t>(number, 1);
    if (product > (1ll << 31))
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

int64_t productOf(ArrayRef<int64_t> numbers) {
  int64_t product = 1;
  for (int64_t number : numbers)
    product *= number;
  return product;
}

/// The numbers from 0 on in an array of `shape`, read with its dimensions in
/// the order `permutation`.
SmallVector<int64_t> transposedOrder(ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  SmallVector<int64_t> order;
  for (int64_t at = 0, count = productOf(shape); at < count; ++at) {
    int64_t left = at, number = 0;
    for (int64_t dim : reverse(permutation)) {
      number += left % shape[dim] * strides[dim];
      left /= shape[dim];
    }
    order.push_back(number);
  }
  return order;
}

bool isPermutation(ArrayRef<int64_t> numbers, int64_t count) {
  SmallVector<int64_t> sorted(numbers);
  sort(sorted);
  return int64_t(sorted.size()) == count &&
         all_of(enumerate(sorted), [](auto pair) {
           return pair.value() == int64_t(pair.index());
         });
}

SmallVector<AxisPart> primeDigitsOf(const Mesh &mesh) {
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

} // namespace

std::optional<Layout> tenon::sharding::readTiledSharding(StringRef text,
                                                         int64_t rank,
                                                         const Mesh &mesh,
                                                         std::string &error) {
  auto refuse = [&](const Twine &why) {
    error = ("'mhlo.sharding' is \"" + text + "\", " + why).str();
    return std::nullopt;
  };
  StringRef rest = text.trim();
  if (rest == "{replicated}")
    return Layout::replicated(rank);
  if (!rest.consume_front("{devices=") || !rest.consume_back("}"))
    return refuse("expected {replicated} or {devices=[...]...}");
  bool hasCopies = rest.consume_back("last_tile_dim_replicate");
  rest = rest.rtrim();
  auto tiles = takeNumbers(rest, '[', ']');
  if (!tiles || int64_t(tiles->size()) != rank + hasCopies)
    return refuse("expected a number of tiles for each of " + Twine(rank) +
                  " dimensions" + (hasCopies ? " and of copies" : ""));
  int64_t devices = mesh.devices();
  if (productOf(*tiles) != devices)
    return refuse("which is for " + Twine(productOf(*tiles)) +
                  " devices, and the mesh " + mesh.text() + " has " +
                  Twine(devices));
  SmallVector<int64_t> order;
  if (rest.consume_front("<=")) {
    auto shape = takeNumbers(rest, '[', ']');
    if (!shape || productOf(*shape) != devices)
      return refuse("expected the numbers of " + Twine(devices) +
                    " devices behind <=");
    auto permutation = std::optional(to_vector(seq<int64_t>(shape->size())));
    if (rest.consume_front("T"))
      permutation = takeNumbers(rest, '(', ')');
    if (!permutation || !isPermutation(*permutation, int64_t(shape->size())))
      return refuse("expected a permutation behind T");
    order = transposedOrder(*shape, *permutation);
  } else {
    std::string list = ("[" + rest + "]").str();
    StringRef words = list;
    auto numbers = takeNumbers(words, '[', ']');
    rest = "";
    if (numbers)
      order = std::move(*numbers);
  }
  if (!rest.empty() || !isPermutation(order, devices))
    return refuse("expected each of " + Twine(devices) + " devices once");

  // By dimension and device, the tile of the device.
  std::vector<SmallVector<int64_t>> tileOf(rank, SmallVector<int64_t>(devices));
  for (auto [at, device] : enumerate(order)) {
    int64_t left = int64_t(at) / (hasCopies ? tiles->back() : 1);
    for (int64_t dim = rank; dim-- > 0;) {
      tileOf[dim][device] = left % (*tiles)[dim];
      left /= (*tiles)[dim];
    }
  }
  Layout layout = Layout::replicated(rank);
  SmallVector<AxisPart> digits = primeDigitsOf(mesh);
  for (int64_t dim = 0; dim < rank; ++dim) {
    ArrayRef<int64_t> own = tileOf[dim];
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

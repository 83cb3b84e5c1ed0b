//===- DeviceTiles.cpp - The text of mhlo.sharding ------------------------===//
//
// See DeviceTiles.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/DeviceTiles.h"

#include "tenon/Format/Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace tenon;

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

enum class Behind { copies, manual };

/// What the dimensions of tiles behind those of the tensor are, taken from the
/// end of a text.
std::optional<SmallVector<Behind>> takeBehind(StringRef &text) {
  if (text.consume_back("last_tile_dim_replicate"))
    return SmallVector<Behind>{Behind::copies};
  constexpr StringLiteral word = "last_tile_dims={";
  const size_t begin = text.find(word);
  if (begin == StringRef::npos)
    return SmallVector<Behind>();
  StringRef list = text.drop_front(begin + word.size());
  text = text.take_front(begin);
  if (!list.consume_back("}"))
    return std::nullopt;
  SmallVector<StringRef> kinds;
  list.split(kinds, ',');
  SmallVector<Behind> behind;
  for (StringRef kind : kinds) {
    if (kind.trim() != "replicated" && kind.trim() != "manual")
      return std::nullopt;
    behind.push_back(kind.trim() == "manual" ? Behind::manual : Behind::copies);
  }
  return behind;
}

} // namespace

std::optional<DeviceTiles> tenon::readDeviceTiles(StringRef text, int64_t rank,
                                                  std::string &error) {
  auto refuse = [&](const Twine &why) {
    error = ("'mhlo.sharding' is \"" + text + "\", " + why).str();
    return std::nullopt;
  };
  DeviceTiles found;
  StringRef rest = text.trim();
  found.isManual = rest == "{manual}";
  if (rest == "{replicated}" || found.isManual)
    return found;
  if (!rest.consume_front("{devices=") || !rest.consume_back("}"))
    return refuse("expected {replicated} or {devices=[...]...}");
  auto behind = takeBehind(rest);
  if (!behind)
    return refuse("expected replicated and manual in last_tile_dims");
  rest = rest.rtrim();
  auto tiles = takeNumbers(rest, '[', ']');
  if (!tiles || tiles->size() != size_t(rank) + behind->size())
    return refuse("expected a number of tiles for each of " + Twine(rank) +
                  " dimensions" + (behind->empty() ? "" : " and of copies"));
  const int64_t devices = found.devices = productOf(*tiles);
  if (devices < 1 || devices > format::mostRanks)
    return refuse("which is for " + Twine(devices) +
                  " devices, expected 1 to " + Twine(format::mostRanks));
  SmallVector<int64_t> order;
  if (rest.consume_front("<=")) {
    auto shape = takeNumbers(rest, '[', ']');
    if (!shape || productOf(*shape) != devices)
      return refuse("expected the numbers of " + Twine(devices) +
                    " devices behind <=");
    auto permutation = std::optional(to_vector(seq<int64_t>(shape->size())));
    const bool isTurned = rest.consume_front("T");
    if (isTurned)
      permutation = takeNumbers(rest, '(', ')');
    if (!permutation || !isPermutation(*permutation, int64_t(shape->size())))
      return refuse("expected a permutation behind T");
    order = transposedOrder(*shape, *permutation);
    // What is not turned is cut by the tiles alone.
    int64_t stride = 1;
    for (int64_t size : reverse(isTurned ? *shape : *tiles)) {
      found.strides.push_back(stride);
      stride *= size;
    }
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
  // Of a list, what lies between neighbours in a dimension of the tiles, and
  // what all of them take.
  if (found.strides.empty()) {
    int64_t reach = 1;
    for (int64_t size : reverse(*tiles)) {
      if (size > 1) {
        const int64_t apart = std::abs(order[reach] - order[0]);
        found.strides.append({apart, apart * size});
      }
      reach *= size;
    }
  }

  found.tileOf.assign(rank, SmallVector<int64_t>(devices, 0));
  if (is_contained(*behind, Behind::manual))
    found.manualOf.assign(devices, 0);
  for (auto [at, device] : enumerate(order)) {
    int64_t left = int64_t(at), stride = 1;
    for (size_t dim = tiles->size(); dim-- > 0;) {
      const int64_t place = left % (*tiles)[dim];
      left /= (*tiles)[dim];
      if (dim < size_t(rank)) {
        found.tileOf[dim][device] = place;
      } else if ((*behind)[dim - rank] == Behind::manual) {
        found.manualOf[device] += place * stride;
        stride *= (*tiles)[dim];
      }
    }
  }
  return found;
}

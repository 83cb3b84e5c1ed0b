//===- Layout.cpp - How a tensor is spread over a mesh --------------------===//
//
// See Layout.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Layout.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace tenon::sharding;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

int64_t Mesh::devices() const {
  int64_t count = 1;
  for (const Axis &axis : axes)
    count *= axis.size;
  return count;
}

SmallVector<int64_t> Mesh::sizes() const {
  return llvm::map_to_vector(axes, [](const Axis &axis) { return axis.size; });
}

std::optional<unsigned> Mesh::find(StringRef name) const {
  for (auto [number, axis] : llvm::enumerate(axes))
    if (axis.name == name)
      return unsigned(number);
  return std::nullopt;
}

int64_t Mesh::stride(const AxisPart &part) const {
  int64_t stride = axes[part.axis].size / (part.before * part.size);
  for (const Axis &axis : ArrayRef(axes).drop_front(part.axis + 1))
    stride *= axis.size;
  return stride;
}

int64_t Mesh::indexAlong(int64_t device, ArrayRef<AxisPart> parts) const {
  int64_t index = 0;
  for (const AxisPart &part : parts)
    index = index * part.size + coordinate(device, part);
  return index;
}

SmallVector<SmallVector<int64_t>>
Mesh::groupsAlong(ArrayRef<AxisPart> parts) const {
  int64_t count = countOf(parts);
  SmallVector<SmallVector<int64_t>> groups;
  for (int64_t device = 0; device < devices(); ++device) {
    if (indexAlong(device, parts) != 0)
      continue;
    auto &group = groups.emplace_back(count);
    for (int64_t index = 0; index < count; ++index) {
      int64_t member = device, rest = index;
      for (const AxisPart &part : llvm::reverse(parts)) {
        member += rest % part.size * stride(part);
        rest /= part.size;
      }
      group[index] = member;
    }
  }
  return groups;
}

std::string Mesh::text() const { return format::meshText(axes); }

std::optional<Mesh> Mesh::of(mlir::ModuleOp module, StringRef attribute,
                             std::string &error) {
  auto text = module->getAttrOfType<mlir::StringAttr>(attribute);
  if (!text) {
    error = ("it has no '" + attribute + "'").str();
    return std::nullopt;
  }
  return parse(text.getValue(), error);
}

std::optional<Mesh> Mesh::parse(StringRef text, std::string &error) {
  auto axes = format::parseMesh(text, error);
  if (!axes)
    return std::nullopt;
  Mesh mesh;
  mesh.axes.append(axes->begin(), axes->end());
  return mesh;
}

bool Layout::isReplicated() const {
  return pending.empty() &&
         llvm::all_of(dims, [](const AxisParts &p) { return p.empty(); });
}

bool Layout::uses(const AxisPart &part) const {
  auto overlaps = [&](const AxisPart &own) { return own.overlaps(part); };
  return llvm::any_of(pending, overlaps) ||
         llvm::any_of(dims, [&](const AxisParts &parts) {
           return llvm::any_of(parts, overlaps);
         });
}

SmallVector<int64_t> Layout::localShape(ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> local;
  for (auto [extent, parts] : llvm::zip_equal(shape, dims))
    local.push_back(shardExtent(extent, countOf(parts)));
  return local;
}

static std::string textOf(ArrayRef<AxisPart> parts, const Mesh &mesh) {
  std::string text;
  for (const AxisPart &part : parts) {
    const Axis &axis = mesh.axes[part.axis];
    text += (text.empty() ? "" : " ") + axis.name;
    if (part.size != axis.size)
      text +=
          ":(" + std::to_string(part.before) + ")" + std::to_string(part.size);
  }
  return text.empty() ? "-" : text;
}

static StringRef wordFor(Reduction reduction) {
  return reduction == Reduction::sum   ? "sum"
         : reduction == Reduction::max ? "max"
                                       : "min";
}

std::string Layout::text(const Mesh &mesh) const {
  std::string text = "[";
  for (auto [number, parts] : llvm::enumerate(dims))
    text += (number ? ", " : "") + textOf(parts, mesh);
  text += "]";
  if (!pending.empty())
    text += " " + wordFor(reduction).str() + "(" + textOf(pending, mesh) + ")";
  return text;
}

namespace {

/// Reads the text of a layout from left to right.
class LayoutReader {
public:
  LayoutReader(StringRef text, const Mesh &mesh, std::string &error)
      : rest(text), mesh(mesh), error(error) {}

  std::optional<Layout> read() {
    Layout layout;
    if (!expect("["))
      return std::nullopt;
    if (!take("]")) {
      do {
        if (!readParts(layout.dims.emplace_back(), layout))
          return std::nullopt;
      } while (take(","));
      if (!expect("]"))
        return std::nullopt;
    }
    for (Reduction kind : {Reduction::sum, Reduction::max, Reduction::min})
      if (take(wordFor(kind))) {
        layout.reduction = kind;
        if (!expect("(") || !readParts(layout.pending, layout) || !expect(")"))
          return std::nullopt;
        break;
      }
    rest = rest.ltrim();
    if (!rest.empty())
      return fail("'" + rest.str() + "' stands behind the layout");
    return layout;
  }

private:
  std::nullopt_t fail(std::string message) {
    error = std::move(message);
    return std::nullopt;
  }
  bool take(StringRef word) {
    rest = rest.ltrim();
    return rest.consume_front(word);
  }
  bool expect(StringRef word) {
    if (take(word))
      return true;
    fail("expected '" + word.str() + "' before '" + rest.str() +
         "' in a layout such as '[data, -]'");
    return false;
  }
  bool readNumber(int64_t &number) {
    rest = rest.ltrim();
    if (!rest.consumeInteger(10, number) && number > 0)
      return true;
    fail("expected a positive number before '" + rest.str() + "'");
    return false;
  }

  bool readParts(AxisParts &parts, const Layout &layout) {
    if (take("-"))
      return true;
    do {
      rest = rest.ltrim();
      StringRef name =
          rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
      rest = rest.drop_front(name.size());
      auto axis = mesh.find(name);
      if (!axis) {
        fail("the mesh " + mesh.text() + " has no axis '" + name.str() + "'");
        return false;
      }
      int64_t whole = mesh.axes[*axis].size;
      AxisPart part{*axis, 1, whole};
      if (take(":")) {
        if (!expect("(") || !readNumber(part.before) || !expect(")") ||
            !readNumber(part.size))
          return false;
        if (part.before > whole || part.size > whole ||
            whole % (part.before * part.size) != 0) {
          fail("an axis of size " + std::to_string(whole) + " has no part (" +
               std::to_string(part.before) + ")" + std::to_string(part.size));
          return false;
        }
      }
      if (layout.uses(part)) {
        fail("axis '" + name.str() + "' is used twice");
        return false;
      }
      if (part.size > 1)
        parts.push_back(part);
      rest = rest.ltrim();
    } while (!rest.empty() && (llvm::isAlnum(rest[0]) || rest[0] == '_'));
    return true;
  }

  StringRef rest;
  const Mesh &mesh;
  std::string &error;
};

} // namespace

std::optional<Layout> Layout::parse(StringRef text, const Mesh &mesh,
                                    std::string &error) {
  return LayoutReader(text, mesh, error).read();
}

bool tenon::sharding::cutsApart(const Mesh &mesh, ArrayRef<AxisPart> parts,
                                int64_t extent) {
  auto isApart = [&](const AxisPart &part) { return part.axis == mesh.apart; };
  if (llvm::none_of(parts, isApart))
    return true;
  const AxisPart whole{*mesh.apart, 1, mesh.axes[*mesh.apart].size};
  return parts.back() == whole && llvm::count_if(parts, isApart) == 1 &&
         extent % countOf(parts) == 0;
}

AxisParts tenon::sharding::joined(ArrayRef<AxisPart> parts) {
  AxisParts result;
  for (const AxisPart &part : parts)
    if (!result.empty() && result.back().axis == part.axis &&
        result.back().before * result.back().size == part.before)
      result.back().size *= part.size;
    else
      result.push_back(part);
  return result;
}

std::pair<AxisParts, AxisParts> tenon::sharding::cutAt(ArrayRef<AxisPart> parts,
                                                       int64_t count) {
  AxisParts first;
  for (auto [number, part] : llvm::enumerate(parts)) {
    int64_t size = std::gcd(part.size, count);
    if (size > 1)
      first.push_back({part.axis, part.before, size});
    count /= size;
    if (size == part.size)
      continue;
    AxisParts rest{{part.axis, part.before * size, part.size / size}};
    llvm::append_range(rest, parts.drop_front(number + 1));
    return {joined(first), joined(rest)};
  }
  return {joined(first), {}};
}

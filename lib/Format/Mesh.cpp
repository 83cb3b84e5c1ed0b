//===- Mesh.cpp - How a mesh of ranks is written --------------------------===//
//
// See Mesh.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Mesh.h"

#include "tenon/Support/ParseNumber.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::format;

std::string tenon::format::meshText(std::span<const MeshAxis> axes) {
  std::string text;
  for (const MeshAxis &axis : axes)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

static bool isName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
  });
}

/// `data=2`, with spaces around it.
static std::optional<MeshAxis> parseAxis(std::string_view word) {
  const std::string_view spaces = " \t\n\v\f\r";
  const size_t begin = word.find_first_not_of(spaces);
  const size_t equals = word.find('=');
  if (begin >= equals || equals == std::string_view::npos)
    return std::nullopt;
  const std::string_view name = word.substr(begin, equals - begin);
  word.remove_prefix(equals + 1);
  auto size = parseNumber(word.substr(0, word.find_last_not_of(spaces) + 1));
  if (!isName(name) || !size || *size < 1)
    return std::nullopt;
  return MeshAxis{std::string(name), *size};
}

std::optional<std::vector<MeshAxis>>
tenon::format::parseMesh(std::string_view text, std::string &error) {
  std::vector<MeshAxis> axes;
  int64_t ranks = 1;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    auto axis = parseAxis(word);
    if (!axis) {
      error = "'" + std::string(word) +
              "' is no axis, expected a name and a positive "
              "size as in 'data=2'";
      return std::nullopt;
    }
    if (std::ranges::find(axes, axis->name, &MeshAxis::name) != axes.end()) {
      error = "there are two axes '" + axis->name + "'";
      return std::nullopt;
    }
    if (axis->size > mostRanks / ranks) {
      error = "'" + std::string(text) + "' has more than " +
              std::to_string(mostRanks) + " devices";
      return std::nullopt;
    }
    ranks *= axis->size;
    axes.push_back(std::move(*axis));
  }
  return axes;
}

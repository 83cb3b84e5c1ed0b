//===- JsonShape.h - What JSON text holds, before it is kept --------------===//
//
// Readers of files look at the nesting and the keys of a text first: the JSON
// library recurses where it keeps values, and its own hook for this looks
// through all that is there after each value.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_JSONSHAPE_H
#define TENON_SUPPORT_JSONSHAPE_H

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Reads a text without keeping it.
class JsonShape : public nlohmann::json_sax<nlohmann::json> {
public:
  /// Stops at the first bracket within `deepest` others, and where the text is
  /// no JSON, but not at a key that its object has already: what is deep may
  /// come behind it.
  JsonShape(std::string_view text, size_t deepest) : deepest(deepest) {
    nlohmann::json::sax_parse(text, this);
  }

  bool isDeep = false;
  bool isTwice = false;
  std::string twice; // the first such key

  // What the library calls.
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t &name) override {
    if (!keys.back().insert(name).second && !isTwice) {
      isTwice = true;
      twice = name;
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string &,
                   const nlohmann::json::exception &) override {
    return false;
  }

private:
  bool open() {
    isDeep = keys.size() == deepest;
    if (!isDeep)
      keys.emplace_back();
    return !isDeep;
  }
  bool close() {
    keys.pop_back();
    return true;
  }

  size_t deepest;
  std::vector<std::set<std::string>> keys; // of each open bracket
};

} // namespace tenon

#endif // TENON_SUPPORT_JSONSHAPE_H

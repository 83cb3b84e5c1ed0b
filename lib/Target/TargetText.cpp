//===- TargetText.cpp - Machine descriptions as JSON ----------------------===//
//
// Writes and reads the text of a Target. One list of fields serves both ways,
// so that what is written is what is read; units in the file are those people
// use, and each field's line says the factor.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Target.h"

#include "tenon/Support/JsonShape.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

using namespace tenon;
using namespace tenon::target;
using Json = nlohmann::ordered_json;
// The ordered one looks through all keys for each.
using ReadJson = nlohmann::json;

namespace {

constexpr int64_t maximalCores = 4096;
constexpr int64_t maximalRanks = 4096;
constexpr int64_t maximalCacheBytes = int64_t(1) << 40;

/// Calls visit(path, place) for every field, in the order of the file. A path
/// names the objects on the way.
template <typename TargetType, typename Visitor>
void visitFields(TargetType &target, Visitor &&visit) {
  visit.text({"name"}, target.name);
  visit.featureSet({"feature_set"}, target.isa);
  visit.count({"cores"}, target.cores, 1, maximalCores);
  visit.count({"cache_bytes", "level1"}, target.caches.level1, 0,
              maximalCacheBytes);
  visit.count({"cache_bytes", "level2"}, target.caches.level2, 0,
              maximalCacheBytes);
  visit.count({"cache_bytes", "level3"}, target.caches.level3, 0,
              maximalCacheBytes);
  auto rate = [&](const char *group, const char *name, auto &place) {
    visit.positive({group, name, "one_core"}, place.oneCore, 1e9);
    visit.positive({group, name, "all_cores"}, place.allCores, 1e9);
  };
  rate("gflops", "f32", target.compute.f32);
  rate("gflops", "bf16", target.compute.bf16);
  rate("gflops", "f16", target.compute.f16);
  rate("gigabytes_per_second", "copy", target.memory.copy);
  rate("gigabytes_per_second", "read", target.memory.read);
  rate("gigabytes_per_second", "cached_copy", target.memory.cachedCopy);
  visit.optional({"gigabytes_per_second", "host_link"}, target.hostLink, 1e9);
  visit.positive({"overhead_microseconds", "launch"}, target.overheads.launch,
                 1e-6);
  visit.positive({"overhead_microseconds", "barrier"}, target.overheads.barrier,
                 1e-6);
  visit.list("links", target.links);
}

/// The same for an entry of the list of links.
template <typename LinkType, typename Visitor>
void visitLink(LinkType &link, Visitor &&visit) {
  visit.positive({"latency_microseconds"}, link.latency, 1e-6);
  visit.positive({"gigabytes_per_second"}, link.bandwidth, 1e9);
  visit.count({"shared_by"}, link.sharedBy, 1, maximalRanks);
  visit.share({"hidden_share"}, link.hiddenShare);
}

using Path = std::initializer_list<const char *>;

std::string spell(Path path) {
  std::string text;
  for (const char *key : path)
    text += (text.empty() ? "" : ".") + std::string(key);
  return text;
}

/// Puts fields into a JSON object.
struct Writing {
  Json root;

  Json &at(Path path) {
    Json *place = &root;
    for (const char *key : path)
      place = &(*place)[key];
    return *place;
  }
  void text(Path path, const std::string &value) { at(path) = value; }
  void featureSet(Path path, Isa isa) { at(path) = describe(isa).featureSet; }
  void count(Path path, int64_t value, int64_t, int64_t) { at(path) = value; }
  /// Four significant digits: more than a measurement repeats.
  void positive(Path path, double value, double unit) {
    std::ostringstream digits;
    digits.precision(4);
    digits << value / unit;
    at(path) = std::stod(digits.str());
  }
  void optional(Path path, double value, double unit) {
    if (value > 0)
      positive(path, value, unit);
  }
  void share(Path path, double value) { optional(path, value, 1); }
  void list(const char *key, const std::vector<Link> &links) {
    for (const Link &link : links) {
      Writing entry;
      visitLink(link, entry);
      root[key].push_back(std::move(entry.root));
    }
  }
};

/// Takes fields out of a JSON object; the first fault stays.
struct Reading {
  const ReadJson &root;
  std::string fault;
  std::vector<std::string> known = {};

  void fail(Path path, const std::string &found, const std::string &expected) {
    if (fault.empty())
      fault = "field '" + spell(path) + "': found " + found + ", expected " +
              expected;
  }
  /// Null after a fault.
  const ReadJson *at(Path path, const std::string &expected) {
    known.push_back(spell(path));
    const ReadJson *place = &root;
    for (const char *key : path) {
      if (!place->is_object() || !place->contains(key)) {
        fail(path, place->is_object() ? "nothing" : place->dump(), expected);
        return nullptr;
      }
      place = &(*place)[key];
    }
    return place;
  }

  void text(Path path, std::string &into) {
    const ReadJson *value = at(path, "a string");
    if (!value)
      return;
    if (!value->is_string())
      return fail(path, value->dump(), "a string");
    into = value->get<std::string>();
  }
  void featureSet(Path path, Isa &into) {
    std::string expected = featureSetNames();
    const ReadJson *value = at(path, expected);
    if (!value)
      return;
    auto isa = value->is_string() ? isaOfFeatureSet(value->get<std::string>())
                                  : std::nullopt;
    if (!isa)
      return fail(path, value->dump(), expected);
    into = *isa;
  }
  void count(Path path, int64_t &into, int64_t low, int64_t high) {
    std::string expected = "a whole number from " + std::to_string(low) +
                           " to " + std::to_string(high);
    const ReadJson *value = at(path, expected);
    if (!value)
      return;
    // Values above the signed range are stored unsigned and rejected here too.
    bool fits = value->is_number_integer() &&
                !(value->is_number_unsigned() &&
                  value->get<uint64_t>() > uint64_t(INT64_MAX)) &&
                value->get<int64_t>() >= low && value->get<int64_t>() <= high;
    if (!fits)
      return fail(path, value->dump(), expected);
    into = value->get<int64_t>();
  }
  void positive(Path path, double &into, double unit) {
    const ReadJson *value = at(path, "a positive number");
    if (!value)
      return;
    double number = value->is_number() ? value->get<double>() : 0;
    if (!(number > 0) || !std::isfinite(number) || number > 1e12)
      return fail(path, value->dump(), "a positive number");
    into = number * unit;
  }
  void optional(Path path, double &into, double unit) {
    if (isThere(path))
      positive(path, into, unit);
  }
  /// From 0, which may be left out, to 1.
  void share(Path path, double &into) {
    if (!isThere(path))
      return;
    const ReadJson *value = at(path, "a number from 0 to 1");
    double number = value->is_number() ? value->get<double>() : -1;
    if (!(number >= 0 && number <= 1))
      return fail(path, value->dump(), "a number from 0 to 1");
    into = number;
  }
  bool isThere(Path path) const {
    const ReadJson *place = &root;
    for (const char *key : path)
      if (!place->is_object() || !place->contains(key))
        return false;
      else
        place = &(*place)[key];
    return true;
  }

  void list(const char *key, std::vector<Link> &into) {
    known.push_back(key);
    if (!root.contains(key))
      return;
    const ReadJson &entries = root[key];
    if (!entries.is_array())
      return fail({key}, entries.dump(), "a list with an entry per axis");
    for (size_t i = 0; i < entries.size(); ++i) {
      Reading entry{entries[i], {}};
      visitLink(into.emplace_back(), entry);
      if (entry.fault.empty() && entries[i].is_object())
        entry.rejectUnknown(entries[i], "");
      if (!entry.fault.empty() && fault.empty())
        fault =
            std::string(key) + "[" + std::to_string(i) + "]: " + entry.fault;
    }
  }

  /// A misspelt field would otherwise be ignored in silence.
  void rejectUnknown(const ReadJson &object, const std::string &prefix) {
    for (auto &[key, value] : object.items()) {
      std::string path = prefix + key;
      if (value.is_object())
        rejectUnknown(value, path + ".");
      else if (std::ranges::find(known, path) == known.end() && fault.empty())
        fault = "field '" + path +
                "': found an unknown field, expected only "
                "those of a machine description";
    }
  }
};

} // namespace

std::string target::toJson(const Target &target) {
  Writing writing;
  writing.root["machine_version"] = machineVersion;
  visitFields(target, writing);
  return writing.root.dump(2) + "\n";
}

std::optional<Target> target::fromJson(std::string_view text,
                                       std::string_view file,
                                       std::string &error) {
  auto fail = [&](const std::string &what) {
    error = std::string(file) + ": " + what;
    return std::nullopt;
  };
  // Deeper than any field.
  if (JsonShape(text, 4).isDeep)
    return fail("found objects nested deeper than 4, expected a machine "
                "description");
  ReadJson root = ReadJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object())
    return fail("found no JSON object, expected a machine description as "
                "tenon calibrate writes it");
  Reading reading{root, {}};
  int64_t version = 0;
  reading.count({"machine_version"}, version, 1, machineVersion);
  Target target;
  if (reading.fault.empty())
    visitFields(target, reading);
  if (reading.fault.empty())
    reading.rejectUnknown(root, "");
  if (!reading.fault.empty())
    return fail(reading.fault);
  return target;
}

std::optional<Target> target::readTarget(const std::string &path,
                                         std::string &error) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) {
    error = path + ": cannot be read: " +
            (errno ? std::strerror(errno) : "it is empty or no file");
    return std::nullopt;
  }
  return fromJson(text.str(), path, error);
}

//===- Stored.cpp - Library descriptions as the file stores them ---------===//
//
// The fields of a description to and from the attributes of a callee: a word
// for an enumerator or a letter, one number for a number, and for a list the
// numbers of all its elements.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Stored.h"

#include "tenon/Libraries/Library.h"

using namespace tenon;
using namespace tenon::libraries;

namespace {

template <typename Value>
void store(const Value &value, format::Attribute &attribute) {
  if constexpr (std::is_same_v<Value, char>)
    attribute.text = value;
  else if constexpr (std::is_enum_v<Value>)
    attribute.text = name(value);
  else
    attribute.numbers.push_back(value);
}

template <HasFields Struct>
void store(const std::vector<Struct> &values, format::Attribute &attribute) {
  for (const Struct &value : values)
    eachField<Struct>([&](const auto &field) {
      attribute.numbers.push_back(value.*field.member);
    });
}

template <HasFields Struct>
void store(const Struct &call, format::Callee &callee) {
  callee.name = Struct::call;
  eachField<Struct>([&](const auto &field) {
    format::Attribute &attribute = callee.attributes.emplace_back();
    attribute.name = field.name;
    store(call.*field.member, attribute);
  });
}

/// Whether the attribute holds such a value.
template <typename Value>
bool restore(const format::Attribute &attribute, Value &value) {
  if constexpr (std::is_same_v<Value, char>) {
    value = attribute.text.empty() ? ' ' : attribute.text[0];
    return attribute.text.size() == 1 && attribute.numbers.empty();
  } else if constexpr (std::is_enum_v<Value>) {
    auto known = fromName<Value>(attribute.text);
    value = known.value_or(Value());
    return known && attribute.numbers.empty();
  } else {
    if (attribute.numbers.size() != 1 || !attribute.text.empty())
      return false;
    value = Value(attribute.numbers[0]);
    return value == attribute.numbers[0];
  }
}

template <HasFields Struct>
bool restore(const format::Attribute &attribute, std::vector<Struct> &values) {
  constexpr size_t each =
      std::tuple_size_v<std::remove_cvref_t<decltype(fieldsOf<Struct>)>>;
  auto number = attribute.numbers.begin();
  values.resize(attribute.numbers.size() / each);
  for (Struct &value : values)
    eachField<Struct>(
        [&](const auto &field) { value.*field.member = *number++; });
  return number == attribute.numbers.end() && attribute.text.empty();
}

template <HasFields Struct>
std::string restore(const std::vector<format::Attribute> &attributes,
                    Struct &description) {
  size_t at = 0;
  std::string wrong;
  eachField<Struct>([&](const auto &field) {
    if (!wrong.empty())
      return;
    if (at >= attributes.size() || attributes[at].name != field.name)
      wrong = "has no '" + std::string(field.name) + "' where it should be";
    else if (!restore(attributes[at], description.*field.member))
      wrong = "has an unknown or malformed '" + std::string(field.name) + "'";
    ++at;
  });
  if (wrong.empty() && at != attributes.size())
    wrong = "has " + std::to_string(attributes.size()) + " fields, expected " +
            std::to_string(at);
  return wrong.empty() ? "" : "a " + std::string(Struct::call) + " " + wrong;
}

} // namespace

format::Callee tenon::libraries::store(const Description &description, Isa isa,
                                       uint64_t workspaceBytes) {
  format::Callee callee;
  callee.kind = format::CalleeKind::library;
  callee.description = describe(description);
  callee.library = libraryOf(description).name();
  callee.libraryVersion = libraryOf(description).version();
  if (!std::holds_alternative<GpuMatmulDescription>(description))
    callee.isa = target::describe(isa).ofLibraries;
  callee.workspaceBytes = workspaceBytes;
  std::visit([&](const auto &call) { ::store(call, callee); }, description);
  return callee;
}

std::optional<Description>
tenon::libraries::restore(const format::Callee &callee, std::string &error) {
  error.clear();
  auto description = newDescription(callee.name, error);
  if (!description)
    return std::nullopt;
  if (callee.library != libraryOf(*description).name())
    error = "the file wants library '" + callee.library + "' for a " +
            callee.name + ", this runtime has oneDNN, LAPACK and cuBLASLt";
  else
    error = std::visit(
        [&](auto &call) { return ::restore(callee.attributes, call); },
        *description);
  if (error.empty())
    error = whyInvalid(*description);
  return error.empty() ? description : std::nullopt;
}

format::Callee
tenon::libraries::store(const CollectiveDescription &description) {
  format::Callee callee;
  callee.kind = format::CalleeKind::collective;
  callee.description = describe(description);
  callee.workspaceBytes = uint64_t(workspaceBytes(description));
  if (operandBytes(description) > 0)
    callee.reads = {0};
  ::store(description, callee);
  return callee;
}

std::optional<CollectiveDescription>
tenon::libraries::restoreCollective(const format::Callee &callee, int64_t ranks,
                                    std::string &error) {
  CollectiveDescription description;
  error = callee.name == CollectiveDescription::call
              ? ::restore(callee.attributes, description)
              : "'" + callee.name + "' is no collective";
  if (error.empty())
    error = whyInvalid(description, ranks);
  return error.empty() ? std::optional(description) : std::nullopt;
}

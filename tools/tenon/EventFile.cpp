//===- EventFile.cpp - Records that TensorBoard reads ---------------------===//
//
// See EventFile.h. The messages are Event and Summary of TensorFlow's
// event.proto and summary.proto.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/EventFile.h"

#include <array>
#include <string_view>

using namespace tenon::tool;

/// The checksum CRC-32C, as records store it.
static uint32_t maskedChecksum(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> values{};
    for (uint32_t i = 0; i < values.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit)
        value = value & 1 ? value >> 1 ^ 0x82F63B78 : value >> 1;
      values[i] = value;
    }
    return values;
  }();
  uint32_t sum = ~uint32_t(0);
  for (unsigned char byte : bytes)
    sum = table[(sum ^ byte) & 0xFF] ^ sum >> 8;
  sum = ~sum;
  return (sum >> 15 | sum << 17) + 0xA282EAD8;
}

/// The bytes of a number, little-endian as this machine's.
template <typename Number>
static std::string bytesOfNumber(Number number) {
  return {reinterpret_cast<const char *>(&number), sizeof(number)};
}

static std::string recordOf(const std::string &message) {
  std::string length = bytesOfNumber(uint64_t(message.size()));
  return length + bytesOfNumber(maskedChecksum(length)) + message +
         bytesOfNumber(maskedChecksum(message));
}

static std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7)
    bytes += char((number & 127) | 128);
  return bytes + char(number);
}

// Fields of a message by how they are stored.
static std::string doubleField(unsigned field, double value) {
  return varint(field << 3 | 1) + bytesOfNumber(value);
}
static std::string floatField(unsigned field, float value) {
  return varint(field << 3 | 5) + bytesOfNumber(value);
}
static std::string numberField(unsigned field, int64_t value) {
  return varint(field << 3) + varint(uint64_t(value));
}
static std::string textField(unsigned field, const std::string &text) {
  return varint(field << 3 | 2) + varint(text.size()) + text;
}

std::string tenon::tool::eventFileStart() {
  return recordOf(doubleField(1, 0) + textField(3, "brain.Event:2"));
}

std::string tenon::tool::eventRecord(
    double seconds, int64_t step,
    const std::vector<std::pair<std::string, float>> &values) {
  std::string summary;
  for (const auto &[name, value] : values)
    summary += textField(1, textField(1, name) + floatField(2, value));
  return recordOf(doubleField(1, seconds) + numberField(2, step) +
                  textField(5, summary));
}

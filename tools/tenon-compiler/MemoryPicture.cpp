//===- MemoryPicture.cpp - The arena over time as SVG --------------------===//
//
// See MemoryProfile.h. Time goes to the right, addresses up; below, the bytes
// occupied. Boxes of one layer of the model have one colour, so that repeated
// blocks show as stripes.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/MemoryProfile.h"

#include "tenon/Support/Bytes.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::tool;

namespace {

constexpr double left = 90, top = 60, width = 1440, height = 620;
constexpr double profileTop = top + height + 40, profileHeight = 140;
constexpr double pictureWidth = left + width + 30,
                 pictureHeight = profileTop + profileHeight + 50;

std::string escaped(llvm::StringRef text) {
  std::string result;
  for (char c : text) {
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  }
  return result;
}

/// The part of a source that names the layer: all but its last component.
llvm::StringRef layerOf(llvm::StringRef source) {
  llvm::StringRef path = source.split(' ').first;
  size_t slash = path.rfind('/');
  return slash == llvm::StringRef::npos ? path : path.take_front(slash);
}

class Painter {
public:
  Painter(const MemoryProfile &profile, const std::string &title)
      : profile(profile), title(title), out(text),
        moments(double(std::max<int64_t>(profile.endOfStep(), 1))),
        bytes(double(std::max<uint64_t>(profile.temporaries(), 1))) {}

  std::string paint() {
    paintFrame();
    for (const Occupation &occupation : profile.occupations())
      paintValue(occupation);
    paintProfile();
    paintPeak();
    out << "</svg>\n";
    return std::move(text);
  }

private:
  double x(int64_t moment) const { return left + width * moment / moments; }
  double y(uint64_t offset) const {
    return top + height * (1 - double(offset) / bytes);
  }
  double level(uint64_t occupied) const {
    return profileTop + profileHeight * (1 - double(occupied) / bytes);
  }

  /// Equal layers look alike and neighbours differ: hues in the order of
  /// appearance, a golden section of the circle apart.
  std::string colourOf(const Occupation &occupation) {
    if (occupation.scratch)
      return "#b0b0b0";
    llvm::StringRef layer = layerOf(profile.sourceOf(occupation.value));
    size_t number =
        layers.try_emplace(layer.str(), layers.size()).first->second;
    double hue = 360 * (double(number) * 0.618034 -
                        double(int64_t(double(number) * 0.618034)));
    return llvm::formatv("hsl({0:f0},{1}%,{2}%)", hue,
                         occupation.over >= 0 ? 35 : 55,
                         occupation.over >= 0 ? 80 : 68);
  }

  void line(double x1, double y1, double x2, double y2,
            llvm::StringRef colour) {
    out << llvm::formatv("<line x1='{0:f1}' y1='{1:f1}' x2='{2:f1}' "
                         "y2='{3:f1}' stroke='{4}'/>\n",
                         x1, y1, x2, y2, colour);
  }
  void label(double atX, double atY, llvm::StringRef anchor,
             const std::string &words, int size = 12) {
    out << llvm::formatv("<text x='{0:f1}' y='{1:f1}' text-anchor='{2}' "
                         "font-size='{3}'>{4}</text>\n",
                         atX, atY, anchor, size, escaped(words));
  }

  void paintFrame() {
    out << llvm::formatv(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:f0} {1:f0}' "
        "width='{0:f0}' height='{1:f0}' font-family='sans-serif' "
        "fill='#222'>\n<rect width='100%' height='100%' fill='#fff'/>\n",
        pictureWidth, pictureHeight);
    label(left, 24, "start", title, 16);
    label(left, 44, "start",
          "addresses up, time to the right; a box is a value, pale: written "
          "over another, outlined: computed again, grey: scratch memory");
    for (int i = 0; i <= 4; ++i) {
      auto offset = uint64_t(bytes * i / 4);
      label(left - 8, y(offset) + 4, "end", printBytes(int64_t(offset)));
      line(left - 4, y(offset), left + width, y(offset), "#ddd");
      int64_t moment = int64_t(moments) * i / 4;
      label(x(moment), profileTop + profileHeight + 18, "middle",
            "@" + std::to_string(moment / 2));
    }
  }

  void paintValue(const Occupation &occupation) {
    double boxLeft = x(occupation.begin),
           boxTop = y(occupation.offset + occupation.bytes);
    double boxWidth = std::max(x(occupation.end) - boxLeft, 0.4);
    double boxHeight = std::max(y(occupation.offset) - boxTop, 0.4);
    bool again = profile.isRecomputed(occupation.value);
    const std::string &source = profile.sourceOf(occupation.value);
    std::string words = profile.typeOf(occupation.value) + ", " +
                        printBytes(int64_t(occupation.bytes)) + " at " +
                        std::to_string(occupation.offset) + "\n" + source +
                        "\nfrom @" +
                        std::to_string((occupation.begin + 1) / 2) +
                        " until @" + std::to_string((occupation.end - 1) / 2) +
                        " " + profile.operationAt(occupation.end - 1);
    if (again)
      words += "\ncomputed again";
    if (occupation.over >= 0)
      words += "\nwritten over " + profile.typeOf(occupation.over) + " of " +
               profile.sourceOf(occupation.over);
    out << llvm::formatv(
        "<rect x='{0:f2}' y='{1:f2}' width='{2:f2}' height='{3:f2}' "
        "fill='{4}' stroke='{5}' stroke-width='{6}'><title>{7}</title>"
        "</rect>\n",
        boxLeft, boxTop, boxWidth, boxHeight, colourOf(occupation),
        again ? "#c00" : "#fff", again ? "1" : "0.4", escaped(words));
    // A name where there is room for one.
    auto letters = size_t(boxWidth / 6.2);
    if (boxHeight < 12 || letters < 8)
      return;
    llvm::StringRef path = llvm::StringRef(source).split(' ').first;
    out << llvm::formatv(
        "<text x='{0:f1}' y='{1:f1}' font-size='10' "
        "pointer-events='none'>{2}</text>\n",
        boxLeft + 3, boxTop + std::min(boxHeight / 2 + 3, 14.0),
        path.size() <= letters ? escaped(path)
                               : "…" + escaped(path.take_back(letters - 1)));
  }

  void paintProfile() {
    label(left, profileTop - 8, "start", "bytes occupied");
    out << llvm::formatv("<path fill='#cfe0f3' stroke='#3b6ea5' d='M{0:f1} "
                         "{1:f1}",
                         left, level(0));
    uint64_t before = 0;
    for (auto [moment, occupied] : profile.occupied()) {
      out << llvm::formatv(" L{0:f1} {1:f1} L{0:f1} {2:f1}", x(moment),
                           level(before), level(occupied));
      before = occupied;
    }
    out << llvm::formatv(" L{0:f1} {1:f1} Z'/>\n", left + width, level(0));
    label(left - 8, level(profile.peakBytes()) + 4, "end",
          printBytes(int64_t(profile.peakBytes())));
  }

  void paintPeak() {
    double at = x(profile.peakMoment());
    line(at, top - 4, at, profileTop + profileHeight, "#c00");
    bool right = at < left + width / 2;
    label(at + (right ? 6 : -6), profileTop + profileHeight + 36,
          right ? "start" : "end",
          "peak at @" + std::to_string(profile.peakMoment() / 2) + ": " +
              profile.operationAt(profile.peakMoment()));
  }

  const MemoryProfile &profile;
  const std::string &title;
  std::string text;
  llvm::raw_string_ostream out;
  double moments, bytes;
  std::map<std::string, size_t> layers;
};

} // namespace

std::string tool::memoryPicture(const MemoryProfile &profile,
                                const std::string &title) {
  return Painter(profile, title).paint();
}

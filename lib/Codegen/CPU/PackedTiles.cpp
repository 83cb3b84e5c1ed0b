//===- PackedTiles.cpp - Products of bf16 by tiles ------------------------===//
//
// See PackedTiles.h.
//
//===----------------------------------------------------------------------===//

#include "PackedTiles.h"

#include "PackedRoutine.h"

using namespace mlir;

namespace tenon::codegen {

namespace {

/// Rows of a tile, and the sums in each of them.
constexpr int64_t tileSide = 16;

class TileRoutine : RoutineBuilder {
public:
  using RoutineBuilder::RoutineBuilder;

  /// Eight tiles of 16 rows of 64 bytes, as LDTILECFG reads it: palette 1, the
  /// bytes of a row from byte 16 on, the rows from byte 48 on.
  void begin() {
    SmallVector<int32_t, 16> words(16, 0);
    words[0] = 1;
    for (int word : {4, 5, 6, 7})
      words[word] = 64 << 16 | 64;
    for (int word : {12, 13})
      words[word] = 0x10101010;
    auto type = VectorType::get({16}, b.getI32Type());
    Value shapes = create<arith::ConstantOp>(
        DenseElementsAttr::get(type, ArrayRef<int32_t>(words)));
    Value memory = create<LLVM::AllocaOp>(
        LLVM::LLVMPointerType::get(b.getContext()), type, constant(1),
        /*alignment=*/64);
    store(shapes, memory);
    run("ldtilecfg", memory);
  }
  void end() { run("tilerelease", {}); }

  /// Pointers, the distances of rows in elements, and extents.
  void product(ValueRange arguments);

  /// From rows of 16-bit numbers to rows of pairs.
  void pair(ValueRange arguments) {
    Value from = arguments[0], fromRow = arguments[1], to = arguments[2],
          toRow = arguments[3], pairs = arguments[4], columns = arguments[5];
    auto narrow = VectorType::get({vectorLanes}, b.getI16Type());
    auto wide = VectorType::get({vectorLanes}, b.getI32Type());
    Value half = create<arith::ConstantOp>(
        DenseElementsAttr::get(wide, b.getI32IntegerAttr(16)));
    auto words = [&](Value row, Value column) -> Value {
      Value numbers =
          load(behind(row, column, b.getI16Type()), narrow, /*alignment=*/2);
      return create<arith::ExtUIOp>(wide, numbers);
    };
    forLoop(constant(0), pairs, 1, [&](Value pair) {
      Value row = multiply(pair, constant(2));
      Value even = behind(from, multiply(row, fromRow), b.getI16Type());
      Value odd = behind(even, fromRow, b.getI16Type());
      Value place = behind(to, multiply(pair, toRow));
      forLoop(constant(0), columns, vectorLanes, [&](Value column) {
        Value upper = create<arith::ShLIOp>(words(odd, column), half);
        store(create<arith::OrIOp>(words(even, column), upper),
              behind(place, column));
      });
    });
  }

private:
  struct Factors {
    Value left, leftRow, right, rightRow, to, toRow, terms, isFresh;
  };
  void block(const Factors &factors, Value row, Value column, int rowTiles,
             int columnTiles);

  void run(StringRef name, ValueRange arguments) {
    create<LLVM::CallIntrinsicOp>(b.getStringAttr("llvm.x86." + name),
                                  arguments);
  }
  /// The number of a tile.
  Value tile(int number) {
    return create<arith::ConstantOp>(b.getI8IntegerAttr(int8_t(number)));
  }
  Value bytes(Value elements, int64_t size) {
    return multiply(elements, constant(size));
  }
};

} // namespace

void TileRoutine::product(ValueRange arguments) {
  Factors factors{arguments[0], arguments[1], arguments[2], arguments[3],
                  arguments[4], arguments[5], arguments[8], arguments[9]};
  Value rows = arguments[6], columns = arguments[7];
  auto hasTwo = [&](Value first, Value end) -> Value {
    return create<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                 add(first, constant(tileSide)), end);
  };
  forLoop(constant(0), rows, 2 * tileSide, [&](Value row) {
    forLoop(constant(0), columns, 2 * tileSide, [&](Value column) {
      Value hasTwoColumns = hasTwo(column, columns);
      auto columnsOf = [&](int rowTiles) {
        ifElse(
            hasTwoColumns, [&] { block(factors, row, column, rowTiles, 2); },
            [&] { block(factors, row, column, rowTiles, 1); });
      };
      ifElse(
          hasTwo(row, rows), [&] { columnsOf(2); }, [&] { columnsOf(1); });
    });
  });
}

/// Sums are the tiles 0 to 3, left factors 4 and 5, right ones 6 and 7.
void TileRoutine::block(const Factors &f, Value row, Value column, int rowTiles,
                        int columnTiles) {
  Type narrow = b.getI16Type();
  Value sums = behind(behind(f.to, multiply(row, f.toRow)), column);
  Value sumBytes = bytes(f.toRow, sizeof(float));
  auto forSums = [&](llvm::function_ref<void(Value, Value)> body) {
    Value place = sums;
    for (int i = 0; i < rowTiles; ++i) {
      for (int j = 0; j < columnTiles; ++j)
        body(tile(2 * i + j), behind(place, j * tileSide));
      place = behind(place, multiply(f.toRow, constant(tileSide)));
    }
  };
  ifElse(
      f.isFresh,
      [&] { forSums([&](Value sum, Value) { run("tilezero", sum); }); },
      [&] {
        forSums([&](Value sum, Value place) {
          run("tileloadd64", {sum, place, sumBytes});
        });
      });
  Value left = behind(f.left, multiply(row, f.leftRow), narrow);
  Value next = multiply(f.leftRow, constant(tileSide));
  Value right = behind(f.right, column);
  Value leftBytes = bytes(f.leftRow, 2), rightBytes = bytes(f.rightRow, 4);
  forLoop(constant(0), f.terms, tileTerms, [&](Value term) {
    Value place = behind(left, term, narrow);
    Value pair = create<arith::ShRUIOp>(term, constant(1));
    Value pairs = behind(right, multiply(pair, f.rightRow));
    for (int j = 0; j < columnTiles; ++j)
      run("tileloadd64",
          {tile(6 + j), behind(pairs, j * tileSide), rightBytes});
    for (int i = 0; i < rowTiles; ++i) {
      run("tileloadd64", {tile(4 + i), place, leftBytes});
      place = behind(place, next, narrow);
      for (int j = 0; j < columnTiles; ++j)
        run("tdpbf16ps", {tile(2 * i + j), tile(4 + i), tile(6 + j)});
    }
  });
  forSums([&](Value sum, Value place) {
    run("tilestored64", {sum, place, sumBytes});
  });
}

void beginTiles(KernelBuilder &k) {
  auto callee =
      packedRoutine(k, "packed_tiles_begin", {}, [&](OpBuilder &b, ValueRange) {
        b.getContext()->loadDialect<LLVM::LLVMDialect>();
        TileRoutine(b, k.loc).begin();
      });
  k.create<func::CallOp>(callee, ValueRange());
}

void endTiles(KernelBuilder &k) {
  auto callee =
      packedRoutine(k, "packed_tiles_end", {}, [&](OpBuilder &b, ValueRange) {
        TileRoutine(b, k.loc).end();
      });
  k.create<func::CallOp>(callee, ValueRange());
}

static Value strideOf(KernelBuilder &k, const PackedPlace &place) {
  return asInteger(k, k.constantIndex(place.matrix.stride));
}

void addTileProduct(KernelBuilder &k, const PackedPlace &left,
                    const PackedPlace &right, const PackedPlace &to,
                    const ProductExtents &extents, Value isFresh) {
  assert(left.matrix.elementBytes() == 2 && right.matrix.elementBytes() == 4);
  Type pointer = pointerType(k);
  Type i64 = k.builder.getI64Type(), i1 = k.builder.getI1Type();
  func::FuncOp callee = packedRoutine(
      k, "packed_tile_product",
      {pointer, i64, pointer, i64, pointer, i64, i64, i64, i64, i1},
      [&](OpBuilder &b, ValueRange arguments) {
        TileRoutine(b, k.loc).product(arguments);
      });
  Value arguments[] = {addressOf(k, left),
                       strideOf(k, left),
                       addressOf(k, right),
                       strideOf(k, right),
                       addressOf(k, to),
                       strideOf(k, to),
                       asInteger(k, extents.rows),
                       asInteger(k, extents.columns),
                       asInteger(k, extents.terms),
                       isFresh};
  k.create<func::CallOp>(callee, arguments);
}

void pairRows(KernelBuilder &k, const PackedPlace &from, int64_t pairs,
              Value columns, const PackedPlace &to) {
  Type pointer = pointerType(k), i64 = k.builder.getI64Type();
  func::FuncOp callee =
      packedRoutine(k, "packed_pairs", {pointer, i64, pointer, i64, i64, i64},
                    [&](OpBuilder &b, ValueRange arguments) {
                      TileRoutine(b, k.loc).pair(arguments);
                    });
  Value arguments[] = {addressOf(k, from),
                       strideOf(k, from),
                       addressOf(k, to),
                       strideOf(k, to),
                       asInteger(k, k.constantIndex(pairs)),
                       asInteger(k, columns)};
  k.create<func::CallOp>(callee, arguments);
}

} // namespace tenon::codegen

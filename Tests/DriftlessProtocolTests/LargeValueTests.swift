import DriftlessProtocol
import Foundation
import TestSupport
import Testing

@Suite("Large values on the wire")
struct LargeValueTests {
  private func value(_ seed: UInt8, _ count: Int = 100) throws -> LargeValue {
    try #require(LargeValue(of: Data(repeating: seed, count: count)))
  }

  private func changeSet(_ column: Column) -> ChangeSet {
    var changeSet = Samples.insert(column.count)
    changeSet.columns = [column]
    return changeSet
  }

  /// A small value, a large one and a null, side by side.
  private func mixed(_ value: LargeValue) -> Column {
    var rows = ByteRows()
    // As long as a name, and no name.
    rows.append(Data(value.bytes))
    rows.append(Data(value.bytes))
    rows.appendEmpty()
    return Column(.bytes(rows), nulls: RowBitmap([2]), large: RowBitmap([1]))
  }

  @Test("A property has small and large values side by side, and the index lists the large")
  func mixed() throws {
    let value = try value(1)
    let frame = try ChangeSetEncoder().encode(changeSet(mixed(value)))
    let (header, index) = try ChangeSetDecoder().checkedIndex(frame)
    #expect(header.namesLargeValues && index.values == [value])
    let column = try #require(try ChangeSetDecoder().decode(frame).columns.first)
    #expect(column == mixed(value))
    #expect(column.largeValue(at: 0) == nil)
    #expect(column.largeValue(at: 1) == value)
    #expect(column.largeValue(at: 2) == nil)
  }

  @Test("A change set without large values has no flag, and none in its index section")
  func none() throws {
    let frame = try ChangeSetEncoder().encode(Samples.library)
    let (header, index) = try ChangeSetDecoder().decodeIndex(frame)
    #expect(!header.namesLargeValues && index.values.isEmpty)
  }

  @Test("Each is listed once, in order, however often it is named")
  func listed() throws {
    let values = try [3, 1, 2, 1].map { try value($0) }
    var rows = ByteRows()
    for value in values { rows.append(Data(value.bytes)) }
    let column = Column(.sealed(rows), large: RowBitmap(0..<4))
    let frame = try ChangeSetEncoder().encode(changeSet(column))
    #expect(try ChangeSetDecoder().decodeIndex(frame).index.values == Set(values).sorted())
  }

  @Test("Rows that name no value, of another kind, null or beyond the end are refused")
  func refused() throws {
    let value = try value(1)
    var name = ByteRows()
    name.append(Data(value.bytes))
    var short = ByteRows()
    short.append(Data(value.bytes.dropLast()))
    var tiny = ByteRows()
    tiny.append(value.digest + Data([40, 0, 0, 0, 0, 0, 0, 0]))
    let large = RowBitmap([0])
    let columns = [
      Column(.bytes(short), large: large), Column(.bytes(tiny), large: large),
      Column(.strings(name), large: large), Column(.bytes(name), large: RowBitmap([1])),
      Column(.bytes(name), nulls: large, large: large), Column(.integers([1]), large: large),
    ]
    for column in columns {
      #expect(throws: ProtocolError.self, "\(column)") {
        _ = try ChangeSetEncoder().encode(self.changeSet(column))
      }
    }
  }

  @Test("Rows that name more than a reader can have in memory are refused, a single one is not")
  func rowBytes() throws {
    func frame(_ length: UInt64, rows count: Int) throws -> Data {
      let value = try #require(
        LargeValue(digest: Data(repeating: 1, count: 32), length: length))
      var rows = ByteRows()
      for _ in 0..<count { rows.append(Data(value.bytes)) }
      return try ChangeSetEncoder().encode(
        changeSet(Column(.bytes(rows), large: RowBitmap(0..<count))))
    }
    _ = try ChangeSetDecoder().checkedIndex(frame(4 << 30, rows: 1))
    _ = try ChangeSetDecoder().checkedIndex(frame(LargeValue.lengthMax, rows: 1))
    _ = try ChangeSetDecoder().checkedIndex(frame(512 << 20, rows: 2))
    let many = try frame((512 << 20) + 1, rows: 2)
    let error = #expect(throws: ProtocolError.self) { try ChangeSetDecoder().checkedIndex(many) }
    #expect(error?.code == .tooLarge)
  }

  @Test("A length beyond what any store holds is none that a name says")
  func lengths() throws {
    let digest = Data(repeating: 1, count: 32)
    #expect(LargeValue(digest: digest, length: LargeValue.lengthMax) != nil)
    for length in [LargeValue.lengthMax + 1, 1 << 62, UInt64(Int64.max)] {
      #expect(LargeValue(digest: digest, length: length) == nil)
      let bytes = digest + (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * UInt64($0))) }
      #expect(LargeValue(bytes: bytes) == nil)
      var rows = ByteRows()
      rows.append(bytes)
      #expect(throws: ProtocolError.self) {
        try ChangeSetEncoder().encode(
          self.changeSet(Column(.bytes(rows), large: RowBitmap(0..<1))))
      }
    }
  }

  @Test("Names read back, and other texts are none")
  func names() throws {
    let value = try value(7)
    #expect(LargeValue.digest(named: value.name) == value.digest)
    #expect(value.name.count == 64)
    for text in ["", "ab", value.name.uppercased(), value.name + "00", "../" + value.name] {
      #expect(LargeValue.digest(named: text) == nil)
    }
    #expect(LargeValue(of: Data(count: 40)) == nil)
    #expect(LargeValue(of: Data(count: 41)) != nil)
  }

  @Test("A log takes a change set when the zone has its values, and says which it has not")
  func zoneLog() throws {
    var log = ZoneLog(name: "shop", zoneID: Samples.imported, generation: Samples.generation)
    let bytes = Data(repeating: 9, count: 3 << 19)
    let value = try #require(LargeValue(of: bytes))
    var rows = ByteRows()
    rows.append(Data(value.bytes))
    var changes = changeSet(Column(.bytes(rows), large: RowBitmap([0])))
    changes.header.cursor = .start(generation: log.generation)
    changes.header.mark = nil
    let frame = try ChangeSetEncoder().encode(changes)
    do {
      _ = try log.append(frame, nowMilliseconds: 0)
      Issue.record("it was taken")
    } catch {
      #expect(error.code == .valuesMissing && error.values == [value.name])
    }
    func piece(_ first: Int, _ bytes: Data) -> ValuePiece {
      ValuePiece(
        value: value, replica: Samples.replica, generation: log.generation, first: first,
        bytes: bytes)
    }
    let size = LargeValue.pieceBytesMax
    #expect(try log.values.put(piece(0, bytes.prefix(size))).held == size)
    #expect(try log.values.put(piece(0, Data())).held == size)
    #expect(throws: ProtocolError.self) {
      _ = try log.values.put(piece(size, Data(repeating: 8, count: bytes.count - size)))
    }
    #expect(try log.values.put(piece(0, Data())).held == 0, "a damaged value begins anew")
    _ = try log.values.put(piece(0, bytes.prefix(size)))
    #expect(try log.values.put(piece(size, bytes.dropFirst(size))).isWhole)
    #expect(try log.append(frame, nowMilliseconds: 0).sequence == 1)
    #expect(try log.values.piece(of: value.digest, range: 5..<9) == bytes[5..<9])
  }
}

import DriftlessProtocol
import Foundation
import Testing

/// Each law of `ChangeSet`, broken once: the encoder refuses it and says which.
@Suite struct LawTests {
  private func problem(_ change: (inout ChangeSet) -> Void) -> ProtocolError? {
    var changeSet = Samples.library
    change(&changeSet)
    do {
      _ = try ChangeSetEncoder().encode(changeSet)
      return nil
    } catch {
      return error
    }
  }

  private func expect(
    _ words: String, _ code: ProtocolError.Code = .malformed,
    at location: SourceLocation = #_sourceLocation, _ change: (inout ChangeSet) -> Void
  ) {
    let error = problem(change)
    #expect(error?.code == code, sourceLocation: location)
    #expect(error?.message.contains(words) == true, "\(error as Any)", sourceLocation: location)
    #expect(error?.suggestion.isEmpty == false, sourceLocation: location)
  }

  @Test("A property of an object is set once at most")
  func propertyOnce() {
    expect("set twice") { changeSet in
      changeSet.index.groups[1].objects = ObjectIndexes([0, 6])
    }
    expect("sets a property twice") { changeSet in
      changeSet.index.groups[1].properties = [1, 1]
      changeSet.columns.insert(changeSet.columns[11], at: 11)
    }
  }

  @Test("An object is inserted, deleted or revived once at most, and not deleted and changed")
  func placedOnce() {
    expect("twice") { $0.index.groups[3].objects = ObjectIndexes(5..<6) }
    expect("deleted and changed") { $0.index.groups[1].objects = ObjectIndexes([4, 5]) }
  }

  @Test("Every new object stands in a group of inserts, of its entity, and only new ones do")
  func inserts() {
    expect("stands in no group") {
      $0.index.newObjects[0].identities = .range(first: Samples.minted, count: 3)
    }
    expect("not new") { $0.index.groups[0].objects = ObjectIndexes([0, 1, 2, 4]) }
    expect("another entity") { $0.index.newObjects[1].entity = 1 }
    expect("has a new object") { $0.index.groups[2].objects = ObjectIndexes(3..<4) }
  }

  @Test("Identities of new objects differ, and ranges do not run over")
  func identities() {
    expect("one identity") {
      $0.index.newObjects[1].identities = .listed([
        Samples.minted.advanced(by: 1), Samples.imported,
      ])
    }
    expect("one identity") {
      let last = Samples.uuid("C0000000-0000-8001-FFFF-FFFFFFFFFFFF")
      $0.index.newObjects[0].identities = .range(first: last, count: 2)
    }
  }

  @Test("Where a new object's maker is told, each has one or none, and some has one")
  func makers() {
    expect("their makers differ") { $0.index.newObjects[0].makers = [1] }
    expect("tells no maker") {
      $0.index.newObjects[0].makers = Array(repeating: 0, count: $0.index.newObjects[0].count)
    }
  }

  @Test("Numbers and indexes ascend and stay within their tables")
  func tables() {
    expect("do not ascend") { $0.index.knownNumbers = [3, 900, 900, 70_000] }
    expect("out of order or out of the table") {
      $0.index.groups[1].objects = ObjectIndexes([6, 4])
    }
    expect("out of order or out of the table") {
      $0.index.groups[1].objects = ObjectIndexes([6, 8])
    }
    expect("entity that is not named") { $0.index.groups[1].entity = 2 }
    expect("entity that is not named") { $0.index.newObjects[0].entity = -1 }
    expect("property that is not named") { $0.index.groups[1].properties = [11] }
    expect("transaction that is not there") {
      $0.index.groups[1].transactionRuns[0].transaction = 3
    }
    expect("not in the table") { $0.columns[9] = Column(.references([8, 0, 0, 0])) }
    expect("not in the table") { $0.columns[9] = Column(.references([-2, 0, 0, 0])) }
    expect("not in the table") {
      $0.columns[10] = Column(
        .elements(Samples.elements([([8], []), ([], []), ([], []), ([], [])])))
    }
  }

  @Test("Each row has a transaction and each column has its rows")
  func rows() {
    expect("without a transaction") { $0.index.groups[1].transactionRuns[0].count = 1 }
    expect("transaction that is not there") { $0.index.groups[1].transactionRuns[0].count = .max }
    expect("1 values for 2 objects") { $0.columns[11] = Column(.integers([1])) }
    expect("null rows beyond") { $0.columns[11].nulls = RowBitmap([2]) }
    expect("12 columns for 13 properties") { $0.columns.removeLast() }
    expect("has no rows") {
      $0.index.groups[1].objects = ObjectIndexes(0..<0)
      $0.index.groups[1].transactionRuns = []
      $0.columns[11] = Column(.integers([]))
    }
  }

  @Test("Names are there, differ and have a bound")
  func names() {
    expect("has no name") { $0.index.entities[1].name = "" }
    expect("named twice") { $0.index.entities[1].name = "Book" }
    expect("named twice") { $0.index.entities[0].properties[0] = "pages" }
    expect("nameBytesMax", .tooLarge) {
      $0.index.entities[0].properties[0] = String(repeating: "a", count: 1_001)
    }
    expect("nameBytesMax", .tooLarge) {
      $0.index.transactions[0].author = String(repeating: "a", count: 1_001)
    }
    #expect(problem { $0.index.entities[0].properties[0...1] = ["\u{e9}", "e\u{301}"] } == nil)
  }

  @Test("Counts that nobody can mean are refused")
  func absurdCounts() {
    expect("rowsMax", .tooLarge) { $0.index.groups[1].objects = ObjectIndexes(Int.min..<Int.max) }
    expect("rowsMax", .tooLarge) { $0.index.groups[0].objects = ObjectIndexes(1..<Int.max) }
    expect("is empty") {
      $0.index.newObjects[0].identities = .range(first: Samples.minted, count: -2)
    }
    expect("objectsMax", .tooLarge) {
      $0.index.newObjects = [Int.max, Int.max].map {
        .init(entity: 0, identities: .range(first: Samples.minted, count: $0))
      }
    }
  }

  @Test("Each limit refuses what passes it, and names itself")
  func limits() {
    let cases: [(String, WritableKeyPath<ChangeSetLimits, Int>)] = [
      ("frameBytesMax", \.frameBytesMax), ("indexBytesMax", \.indexBytesMax),
      ("valuesBytesMax", \.valuesBytesMax), ("objectsMax", \.objectsMax),
      ("groupsMax", \.groupsMax), ("rowsMax", \.rowsMax), ("cellsMax", \.cellsMax),
      ("columnsMax", \.columnsMax), ("elementsMax", \.elementsMax),
      ("transactionsMax", \.transactionsMax), ("transactionRunsMax", \.transactionRunsMax),
      ("entitiesMax", \.entitiesMax), ("propertiesMax", \.propertiesMax),
    ]
    let frame = try? ChangeSetEncoder().encode(Samples.library)
    for (name, limit) in cases {
      var limits = ChangeSetLimits()
      limits[keyPath: limit] = 1
      let made = #expect(throws: ProtocolError.self) {
        try ChangeSetEncoder(limits: limits).encode(Samples.library)
      }
      #expect(made?.code == .tooLarge, "\(name)")
      #expect(made?.message.contains(name) == true, "\(name): \(made as Any)")
      let read = #expect(throws: ProtocolError.self) {
        try ChangeSetDecoder(limits: limits).decode(frame ?? Data())
      }
      #expect(read?.code == .tooLarge || read?.code == .malformed, "\(name): \(read as Any)")
    }
  }
}

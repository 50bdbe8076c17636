import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// How the schemas of two files differ.
struct SchemaComparisonTests {
  private let directory: TemporaryDirectory
  private let (a, b): (URL, URL)

  init() throws {
    directory = try TemporaryDirectory()
    (a, b) = (directory.file("a.sqlite"), directory.file("b.sqlite"))
    for url in [a, b] { try PersistentStore.open(url: url, model: Shop.model()).close() }
  }

  @Test("Two stores of one model are the same; each kind of difference is told, and nothing twice")
  func kinds() throws {
    #expect(try SchemaComparison(a, b, includesOwn: true).differences == [])
    let raw = try SQLiteConnection(path: b.path, mode: .readWrite)
    try raw.execute(
      """
      ALTER TABLE ZITEM ADD COLUMN ZCOLOR VARCHAR; CREATE TABLE ZEXTRA (Z_PK INTEGER PRIMARY KEY);
      CREATE INDEX ZEXTRA_INDEX ON ZEXTRA (Z_PK);
      DROP INDEX ZITEM_ZSHELF_INDEX; CREATE INDEX ZITEM_ZSHELF_INDEX ON ZITEM (ZSHELF DESC)
      WHERE ZSHELF > 2; UPDATE Z_PRIMARYKEY SET Z_SUPER = 0 WHERE Z_NAME = 'Tool'
      """)
    raw.close()
    let found = try SchemaComparison(a, b).differences
    #expect(found.map(\.name) == ["ZEXTRA", "ZITEM.ZCOLOR", "ZITEM.ZITEM_ZSHELF_INDEX", "Tool"])
    #expect(found.map(\.kind) == [.table, .column, .index, .entity])
    #expect(found[1].first == nil && found[1].second == "VARCHAR")
    #expect(found[2].first == "ZSHELF" && found[2].second == "ZSHELF DESC where ZSHELF > 2")
  }

  @Test("Hashes of entities are compared, and what Driftless adds is left out unless asked for")
  func hashes() throws {
    try StrippedFile.make(at: b)
    let found = try SchemaComparison(a, b).differences
    #expect(Set(found.map(\.kind)) == [.hash])
    #expect(found.count == 4)
    let all = try SchemaComparison(a, b, includesOwn: true).differences
    #expect(all.contains { $0.kind == .table && $0.name == "ZDL_STORE" && $0.second == nil })
  }

  @Test(
    "A store made with the model of Core Data's own file lies as that file does",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"),
    arguments: [
      "core-data-stores/SampleModel2/SampleModel2_V1.sqlite",
      "core-data-stores/Bookmarks/Bookmarks_V1.sqlite",
    ])
  func likeCoreData(path: String) throws {
    let original = SharedData.url(path)
    let read = try PersistentStore.open(url: original, options: StoreOptions(isImmutable: true))
    let made = directory.file("made.sqlite")
    var options = StoreOptions()
    options.holdsToManyInColumns = true
    try PersistentStore.open(url: made, model: read.model, options: options).close()
    let found = try SchemaComparison(original, made).differences.filter { difference in
      // A file that Core Data wrote without a history has none of its tables.
      !(difference.first == nil
        && (difference.name.hasPrefix("A")
          || difference.name.contains("TRANSACTION") || difference.name == "CHANGE"))
    }
    #expect(found.map(\.name) == [], "\(found)")
  }
}

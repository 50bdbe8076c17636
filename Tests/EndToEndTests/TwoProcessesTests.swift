import Driftless
import Foundation
import TestSupport
import Testing

/// A store that this process has open while another program writes to it.
@Suite(.serialized) struct TwoProcessesTests {
  private static let model = ModelText(entities: [
    .init(name: "Item", attributes: [("name", "String", nil)])
  ])

  @Test("F79 Another program's save is announced, is in the history, and comes into contexts")
  func anotherProgramSaves() async throws {
    let directory = try TemporaryDirectory()
    let model = try writeModel(Self.model.xml, named: "Items", in: directory)
    let url = directory.file("items.sqlite")
    #expect(
      try Programs.run("syncctl", ["init", "--store", url.path, "--model", model.path]).status == 0)
    let container = PersistentContainer(
      name: "Items", model: try ManagedObjectModel(contentsOf: model), storeURL: url)
    try container.loadPersistentStores()
    let store = container.persistentStoreCoordinator.persistentStores[0]
    let news = store.changes()
    let token = try store.currentHistoryToken()

    try importItem("first", into: url, directory)
    var iterator = news.makeAsyncIterator()
    _ = await iterator.next()
    let transactions = try store.fetchHistory(.fetchHistory(after: token))
    #expect(transactions.map(\.author) == ["other program"])
    #expect(transactions.first?.changes?.map(\.changeType) == [.insert])

    try await container.perform { context in
      let item = try #require(
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).first)
      #expect(item["name"] as? String == "first")
      try importItem("changed", into: url, directory, operation: "update")
      #expect(item["name"] as? String == "first", "nothing changes under a caller's hands")
      try context.mergeChanges(fromHistory: try store.fetchHistory(.fetchHistory(after: token)))
      #expect(item["name"] as? String == "changed")
    }
  }

  @Test("Two imports of one sale each, of equal lines and at once, are two sales")
  func equalImports() throws {
    let directory = try TemporaryDirectory()
    let text = ModelText(entities: [
      .init(name: "Item", attributes: [("name", "String", nil), ("stock", "Integer 64", nil)])
    ])
    let model = try writeModel(text.xml, named: "Items", in: directory)
    let url = directory.file("items.sqlite")
    #expect(
      try Programs.run("syncctl", ["init", "--store", url.path, "--model", model.path]).status == 0)
    try importItem("first", into: url, directory)
    let sales = directory.file("sales.jsonl")
    let line = #"{"op":"update","entity":"Item","id":"1","add":{"stock":1}}"# + "\n"
    try Data(line.utf8).write(to: sales)
    let rounds = 5
    for _ in 0..<rounds {
      let tills = try (0..<4).map { _ -> Process in
        let process = Process()
        process.executableURL = Programs.url("syncctl")
        process.arguments = ["import", "--store", url.path, sales.path]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        return process
      }
      for till in tills { till.waitUntilExit() }
      #expect(tills.map(\.terminationStatus) == [0, 0, 0, 0])
    }
    let export = try Programs.run("syncctl", ["export", "--store", url.path]).output
    #expect(export.contains(#""stock":\#(4 * rounds)"#), "\(export)")
  }

  private func importItem(
    _ name: String, into store: URL, _ directory: TemporaryDirectory, operation: String = "insert"
  ) throws {
    let file = directory.file("lines.jsonl")
    let line = #"{"op":"\#(operation)","entity":"Item","id":"1","set":{"name":"\#(name)"}}"#
    try Data(line.utf8).write(to: file)
    let outcome = try Programs.run(
      "syncctl", ["import", "--store", store.path, "--author", "other program", file.path])
    guard outcome.status == 0 else { throw HarnessError(description: outcome.errors) }
  }
}

import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation
import TestSupport
import Testing

/// The code of the guides: it stands in `GuideExamples`, and does what the pages say. That of Migration.md stands in
/// `MigrationGuideTests`.
@Suite(.serialized) struct GuideExampleTests {
  private static let pages = [
    "SyncGuide.md", "Concurrency.md", "Errors.md", "Models.md", "Contexts.md", "Driftless.md",
  ]

  @Test(
    "Every block of Swift in these guides stands in the examples that are compiled",
    arguments: pages)
  func blocksStand(page: String) throws {
    func plain(_ text: String) -> String { text.filter { !$0.isWhitespace } }
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let examples = try ["GuideExamples.swift", "PageFragmentExamples.swift"].map {
      plain(try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8))
    }.joined()
    let blocks = try PageShell(path: "Sources/Driftless/Driftless.docc/\(page)").blocks
      .filter { $0.language == "swift" }
    #expect(!blocks.isEmpty, "\(page)")
    for block in blocks {
      #expect(
        examples.contains(plain(block.text)), "\(page) shows what is not compiled:\n\(block.text)")
    }
  }

  private static func container(
    _ name: String, _ model: ManagedObjectModel, in directory: TemporaryDirectory
  ) throws -> (PersistentContainer, PersistentStore) {
    let container = PersistentContainer(
      name: name, model: model, storeURL: directory.file("\(name).sqlite"))
    try container.loadPersistentStores()
    return (container, container.persistentStoreCoordinator.persistentStores[0])
  }

  @Test("An application enrols, stays in step, and settles by a rule of its own")
  func syncing() async throws {
    let directory = try TemporaryDirectory()
    let server = try ServerProcess(data: directory.file("server"), zone: "notes")
    let token = try server.token(zone: "notes")
    let address = try #require(URL(string: server.address))
    func replica(_ name: String) async throws -> (PersistentContainer, SyncEngine) {
      let note = EntityDescription("Note")
      let text = AttributeDescription("text", .string)
      text.conflictPolicy = .custom("longest")
      let mark = AttributeDescription("mark", .string)
      mark.conflictPolicy = .manual
      note.properties = [text, mark]
      let (container, store) = try Self.container(
        name, ManagedObjectModel(entities: [note]), in: directory)
      try await enrolAndSync(store, server: address, zone: "notes", token: token)
      let transport = try CurlTransport(server: address, zone: "notes", token: token)
      return (container, engineWithRules(store, transport))
    }
    func edit(_ container: PersistentContainer, _ text: String, _ mark: String) async throws {
      try await container.perform { context in
        let note =
          try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first
          ?? context.insert(entityNamed: "Note")
        note["text"] = text
        note["mark"] = mark
        try context.save()
      }
    }
    let (first, firstEngine) = try await replica("first")
    let (second, secondEngine) = try await replica("second")
    try await edit(first, "base", "base")
    _ = try await firstEngine.sync()
    _ = try await secondEngine.sync()
    try await edit(first, "the longest of both", "first")
    try await edit(second, "short", "second")
    _ = try await firstEngine.sync()
    _ = try await secondEngine.sync()
    #expect(try ReplicaExport.text(of: secondEngine.store).contains("the longest of both"))
    try decideAll(secondEngine.store) { _ in .local }
    #expect(try ReplicaExport.text(of: secondEngine.store).contains(#""mark":"second""#))

    // Both are kept in step until they have said so.
    let (shown, show) = AsyncStream.makeStream(of: String.self)
    let keeping = Task { await keepInStep(firstEngine) { show.yield($0) } }
    for await text in shown where text == "in step" { break }
    keeping.cancel()
    let (states, tell) = AsyncStream.makeStream(of: Bool.self)
    let all = Task {
      await keepAllInStep([firstEngine, secondEngine]) { _, state in
        if case .inStep = state { tell.yield(true) }
      }
    }
    var count = 0
    for await _ in states {
      count += 1
      if count == 2 { break }
    }
    all.cancel()
    await all.value
    let failure = SyncError(.massDelete, "too many", suggestion: "say so")
    #expect(describe(failure).hasPrefix("ask the person"))
  }

  @Test("The first lines of the guide keep a store in step")
  func firstLines() async throws {
    let directory = try TemporaryDirectory()
    let server = try ServerProcess(data: directory.file("server"), zone: "shop")
    let token = try server.token(zone: "shop")
    let address = try #require(URL(string: server.address))
    let (states, shown) = AsyncStream.makeStream(of: SyncState.self)
    let syncing = Task {
      try await startSyncing(shopModel(), directory.file("shop.sqlite"), address, token) {
        shown.yield($0)
      }
    }
    for await case .inStep in states { break }
    syncing.cancel()
    try await syncing.value
  }

  @MainActor
  @Test("The examples of concurrency work")
  func concurrency() async throws {
    let directory = try TemporaryDirectory()
    let entity = EntityDescription("Order")
    entity.managedObjectClassName = "Order"
    entity.properties = [
      AttributeDescription("number", .integer64), AttributeDescription("text", .string),
    ]
    ManagedObject.register(Order.self)
    let (container, store) = try Self.container(
      "orders", ManagedObjectModel(entities: [entity]), in: directory)
    #expect(try await countOrders(in: container) == 1)
    let local = try await LocalStore.open(
      model: container.managedObjectModel, at: directory.file("orders.sqlite"))
    let added = try await addOrder(9, to: local)
    #expect(try await latestOrders(of: local) == [9, 1])
    try await local.write { context in context.object(with: added).map(context.delete) }
    let id = try await OrderBook(container).add(2)
    try await rename(id, to: "second", in: container)
    try await importOrders([3, 4], into: container.newBackgroundContext())
    let list = OrderList(container)
    try list.reload()
    #expect(list.numbers == [1, 2, 3, 4])
    let (saves, tell) = AsyncStream.makeStream(of: Bool.self)
    let following = Task { await followSaves(of: store) { tell.yield(true) } }
    // Whoever begins to listen may miss a save that was before: it is made until one is heard.
    let saving = Task {
      while !Task.isCancelled {
        _ = try await countOrders(in: container)
        await Task.yield()
      }
    }
    for await _ in saves { break }
    saving.cancel()
    following.cancel()
  }

  @Test("The model of the page is one")
  func model() throws {
    let directory = try TemporaryDirectory()
    let (_, store) = try Self.container("shop", shopModel(), in: directory)
    #expect(try ReplicaExport.text(of: store).isEmpty)
  }
}

import ArgumentParser
import Driftless
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// Files of Core Data's that carry no model, from the command line; and schemas that are compared.
@Suite struct AdoptionCommandTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// A bundle with two versions of a model, the second of them current.
  private func bundle(named name: String = "Shop.xcdatamodeld") throws -> URL {
    let bundle = directory.file(name)
    for (version, more) in [
      ("One", ""), ("Two", "<attribute name=\"color\" optional=\"YES\" attributeType=\"String\"/>"),
    ] {
      let folder = bundle.appendingPathComponent("\(version).xcdatamodel")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Data(
        """
        <model><entity name="Item"><attribute name="name" attributeType="String"/>\(more)</entity></model>
        """.utf8
      ).write(to: folder.appendingPathComponent("contents"))
    }
    let current = ["_XCCurrentVersionName": "Two.xcdatamodel"]
    try PropertyListSerialization.data(fromPropertyList: current, format: .xml, options: 0)
      .write(to: bundle.appendingPathComponent(".xccurrentversion"))
    return bundle
  }

  /// A store of the first version, without what Driftless adds: as Core Data wrote it before it kept models.
  private func file(_ bundle: URL) throws -> URL {
    let url = directory.file("items.sqlite")
    let model = try ManagedObjectModel(
      contentsOf: bundle.appendingPathComponent("One.xcdatamodel"))
    try PersistentStore.open(url: url, model: model).close()
    try StrippedFile.make(at: url)
    return url
  }

  private func objects(_ url: URL) throws -> Int {
    let store = try PersistentStore.open(url: url, options: StoreOptions(isReadOnly: true))
    defer { store.close() }
    return try StoreInfo(of: store, at: url).entities.reduce(0) { $0 + $1.objects }
  }

  @Test("A file that carries no model is taken over by import and enroll with --model")
  func importing() async throws {
    let bundle = try bundle()
    let url = try file(bundle)
    let lines = directory.file("lines.jsonl")
    try Data("{\"op\":\"insert\",\"entity\":\"Item\",\"id\":\"a\",\"set\":{\"name\":\"x\"}}\n".utf8)
      .write(to: lines)
    let without = try ImportCommand.parse(["--store", url.path, lines.path])
    await #expect(throws: ExitCode.self) { try await without.run() }
    let command = try ImportCommand.parse(
      ["--store", url.path, "--model", bundle.path, lines.path])
    try await command.run()
    #expect(try objects(url) == 1)
    try Data("{\"op\":\"insert\",\"entity\":\"Item\",\"id\":\"b\",\"set\":{\"name\":\"y\"}}\n".utf8)
      .write(to: lines)
    let again = try ImportCommand.parse(["--store", url.path, lines.path])
    try await again.run()
    #expect(try objects(url) == 2, "it carries the model now")
    #expect(
      try EnrollCommand.parse([
        "--store", url.path, "--model", bundle.path, "--server", "http://127.0.0.1:1", "--zone",
        "z",
      ]).model.model == bundle.path)
    #expect(try SyncCommand.parse(["--store", "a", "--model", "b"]).model.model == "b")
  }

  @Test("migrate says of each version that did not write the file what tells so first")
  func noneOfThem() async throws {
    let bundle = try bundle()
    let url = directory.file("others.sqlite")
    let other = EntityDescription("Other")
    other.properties = [AttributeDescription("name", .string)]
    try PersistentStore.open(url: url, model: ManagedObjectModel(entities: [other])).close()
    try StrippedFile.make(at: url)
    let command = try MigrateCommand.parse([url.path, "--model", bundle.path])
    do {
      try command.perform()
      Issue.record("it was migrated")
    } catch {
      let text = "\(error)"
      #expect(text.contains("One: ") && text.contains("Two: "), "\(text)")
      #expect(text.contains("Item") || text.contains("Other"), "\(text)")
    }
  }

  @Test(
    "migrate takes such a file over with the version that wrote it, and brings it to the current one"
  )
  func migrating() async throws {
    let bundle = try bundle()
    let url = try file(bundle)
    let command = try MigrateCommand.parse([url.path, "--model", bundle.path])
    try await command.run()
    let store = try PersistentStore.open(url: url, options: StoreOptions(isReadOnly: true))
    #expect(store.model.entitiesByName["Item"]?.attributesByName["color"] != nil)
    store.close()
    // The second time there is nothing to do.
    try await command.run()
    let missing = try MigrateCommand.parse([
      directory.file("no.sqlite").path, "--model", bundle.path,
    ])
    await #expect(throws: ExitCode.self) { try await missing.run() }
  }

  @Test("Where no version fits, those that cannot be read are named with what is wrong in them")
  func wrongVersion() async throws {
    let bundle = try bundle()
    let url = try file(bundle)
    try Data(
      "<model><entity name=\"Item\"><attribute name=\"name\" attributeType=\"Odd\"/></entity></model>"
        .utf8
    )
    .write(to: bundle.appendingPathComponent("One.xcdatamodel/contents"))
    let command = try MigrateCommand.parse([url.path, "--model", bundle.path])
    await #expect(throws: ExitCode.self) { try await command.run() }
    let versions = try ManagedObjectModel.versions(at: bundle)
    let wrong = WritingVersion.unreadable(among: versions)
    #expect(wrong.count == 1 && wrong[0].contains("One") && wrong[0].contains("Item.name"))
  }

  @Test("Objects of an entity that the model does not have are deleted only where they are named")
  func dropped() async throws {
    let (item, other) = (EntityDescription("Item"), EntityDescription("Other"))
    item.properties = [AttributeDescription("name", .string)]
    other.properties = [AttributeDescription("name", .string)]
    let url = directory.file("dropped.sqlite")
    let store = try PersistentStore.open(url: url, model: ManagedObjectModel(entities: [other]))
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    _ = try context.insert(entityNamed: "Other")
    try context.save()
    store.close()
    let bundle = try bundle()
    for more in [[], ["--drop", "Item"]] {
      #expect(
        await SyncControl.run(["migrate", url.path, "--model", bundle.path] + more) == 1)
    }
    let kept = try PersistentStore.open(url: url)
    #expect(kept.model.entitiesByName["Other"] != nil)
    kept.close()
    #expect(
      await SyncControl.run(["migrate", url.path, "--model", bundle.path, "--drop", "Other"]) == 0)
  }

  /// A model file with one entity `Item` of these attributes, all texts.
  private func modelFile(_ name: String, _ attributes: String...) throws -> URL {
    let file = directory.file(name)
    let text = attributes.map {
      "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>"
    }.joined()
    try Data("<model><entity name=\"Item\">\(text)</entity></model>".utf8).write(to: file)
    return file
  }

  private func migrate(_ url: URL, _ model: URL, _ drops: String...) throws {
    let options = drops.flatMap { ["--drop", $0] }
    try MigrateCommand.parse([url.path, "--model", model.path] + options).perform()
  }

  @Test("Values of a property that the model does not have go only where they are named")
  func droppedValues() throws {
    let old = try modelFile("old.xml", "name", "note", "color")
    let new = try modelFile("new.xml", "name")
    let url = directory.file("values.sqlite")
    let store = try PersistentStore.open(url: url, model: ManagedObjectModel(contentsOf: old))
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for note in ["one", "two", nil] {
      let item = try context.insert(entityNamed: "Item")
      if let note { item["note"] = note }
    }
    try context.save()
    store.close()
    let refused = #expect(throws: Failure.self) { try migrate(url, new) }
    #expect(refused?.code == "would-drop-values")
    #expect(refused?.message.contains("(Item.note: 2 values)") == true, "\(refused?.message ?? "")")
    #expect(refused?.suggestion.hasSuffix("add --drop Item.note") == true)
    for name in ["Nope", "Item", "Item.nope", "Item.name"] {
      let wrong = #expect(throws: Failure.self) { try migrate(url, new, "Item.note", name) }
      #expect(wrong?.code == "nothing-to-drop", "\(name)")
      #expect(wrong?.suggestion.contains("Item.color, Item.note") == true)
    }
    let kept = try PersistentStore.open(url: url)
    #expect(kept.model.entitiesByName["Item"]?.attributesByName["note"] != nil)
    kept.close()
    // No object has a color: nobody is asked.
    try migrate(url, new, "Item.note")
    // The second time there is nothing to do, and the same words do no harm.
    try migrate(url, new, "Item.note")
  }

  @Test(
    "To the model that a store had before, a migration is refused without advice that leads on to nothing"
  )
  func olderModel() throws {
    let old = try modelFile("old.xml", "name")
    let new = try modelFile("new.xml", "name", "note")
    let url = directory.file("older.sqlite")
    try PersistentStore.open(url: url, model: ManagedObjectModel(contentsOf: old)).close()
    try migrate(url, new)
    let store = try PersistentStore.open(url: url)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    try context.insert(entityNamed: "Item")["note"] = "x"
    try context.save()
    store.close()
    for drops in [[], ["Item.note"]] {
      let options = drops.flatMap { ["--drop", $0] }
      let error = #expect(throws: StoreError.self) {
        try MigrateCommand.parse([url.path, "--model", old.path] + options).perform()
      }
      #expect(error?.code == .newerModel)
      #expect(error?.suggestion.contains("--drop") == false)
    }
  }

  @Test(
    "compare ends with 0 for files of one schema, with 1 for others, with 65 for what is no store")
  func comparing() async throws {
    let bundle = try bundle()
    let first = try file(bundle)
    let second = directory.file("second.sqlite")
    try FileManager.default.copyItem(at: first, to: second)
    #expect(await SyncControl.run(["store", "compare", first.path, second.path]) == 0)
    #expect(await SyncControl.run(["migrate", second.path, "--model", bundle.path]) == 0)
    #expect(await SyncControl.run(["store", "compare", first.path, second.path, "--json"]) == 1)
    let other = directory.file("other.txt")
    try Data("no store".utf8).write(to: other)
    #expect(await SyncControl.run(["store", "compare", first.path, other.path]) == 65)
  }

  @Test("An export ends with 65 when the file has rows of entities that the model does not have")
  func unknownRows() async throws {
    let url = directory.file("items.sqlite")
    let model = try ManagedObjectModel(contentsOf: bundle())
    try PersistentStore.open(url: url, model: model).close()
    #expect(await SyncControl.run(["store", "export", url.path]) == 0)
    try StrippedFile.execute("INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT) VALUES (1, 9, 1)", at: url)
    #expect(await SyncControl.run(["store", "export", url.path]) == 65)
    #expect(await SyncControl.run(["export", "--store", url.path]) == 65)
  }

  @Test("enroll and sync with --model give a file its model, also where the zone is not reached")
  func enrolling() async throws {
    let bundle = try bundle()
    let token = directory.file("token")
    try Data("secret".utf8).write(to: token)
    chmod(token.path, 0o600)
    let server = ["--server", "http://127.0.0.1:1", "--zone", "z", "--token-file", token.path]
    for (command, code) in [
      (["enroll"] + server, ExitStatus.unreachable), (["sync"], .failed),
    ] {
      let url = try file(bundle)
      let arguments = [command[0], "--store", url.path] + command.dropFirst()
      #expect(await SyncControl.run(arguments) == ExitStatus.badData.rawValue, "it has no model")
      #expect(await SyncControl.run(arguments + ["--model", bundle.path]) == code.rawValue)
      let store = try PersistentStore.open(url: url)
      #expect(store.model.entitiesByName["Item"]?.attributesByName.keys.sorted() == ["name"])
      store.close()
      for suffix in ["", "-wal", "-shm", "-driftless-lock", "-driftless-sync"] {
        unlink(url.path + suffix)
      }
    }
  }

  @Test("A migration that needs a mapping is refused, and the store stays as it was")
  func refused() async throws {
    let bundle = try bundle()
    let url = directory.file("items.sqlite")
    let made = try ManagedObjectModel(contentsOf: bundle)
    let store = try PersistentStore.open(url: url, model: made)
    store.close()
    let before = try Data(contentsOf: url)
    try Data(
      """
      <model><entity name="Item"><attribute name="name" attributeType="Integer 64"/>\
      <attribute name="must" attributeType="String"/></entity></model>
      """.utf8
    ).write(to: bundle.appendingPathComponent("Two.xcdatamodel/contents"))
    #expect(await SyncControl.run(["migrate", url.path, "--model", bundle.path]) != 0)
    #expect(try Data(contentsOf: url) == before)
    #expect(try objects(url) == 0)
  }

  @Test(
    "Sources that are damaged, or no stores, are refused by every command that reads two",
    arguments: ["cut", "scrambled", "empty", "folder", "missing"])
  func damagedSources(kind: String) async throws {
    let bundle = try bundle()
    let whole = try file(bundle)
    let url = directory.file("damaged.sqlite")
    let bytes = try Data(contentsOf: whole)
    switch kind {
    case "cut": try bytes.prefix(bytes.count / 2 - 100).write(to: url)
    case "scrambled":
      try (bytes.prefix(100) + Data(repeating: 0xA5, count: bytes.count - 100)).write(to: url)
    case "empty": try Data().write(to: url)
    case "folder":
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    default: break
    }
    func contents() -> Data? { kind == "folder" ? nil : try? Data(contentsOf: url) }
    let before = contents()
    for arguments in [
      ["store", "compare", whole.path, url.path], ["store", "compare", url.path, whole.path],
      ["migrate", url.path, "--model", bundle.path],
      ["store", "export", url.path, "--model", bundle.path],
      ["store", "check", url.path, "--model", bundle.path],
    ] {
      #expect(await SyncControl.run(arguments) != 0, "\(arguments)")
    }
    #expect(contents() == before, "nothing was written")
    #expect(await SyncControl.run(["store", "compare", whole.path, whole.path]) == 0)
  }

  @Test("compare --all tells what Driftless adds, and looks into the log beside a file")
  func comparingAll() async throws {
    let bundle = try bundle()
    let stripped = try file(bundle)
    let url = directory.file("second.sqlite")
    let model = try ManagedObjectModel(contentsOf: bundle.appendingPathComponent("One.xcdatamodel"))
    // It is open: its tables lie in its log.
    let store = try PersistentStore.open(url: url, model: model)
    defer { store.close() }
    let raw = try SchemaComparison(stripped, url, includesOwn: false).differences
    #expect(raw.allSatisfy { $0.kind == .hash })
    let all = try SchemaComparison(stripped, url, includesOwn: true).differences
    #expect(all.contains { $0.kind == .table && $0.name == "ZDL_STORE" && $0.first == nil })
    #expect(await SyncControl.run(["store", "compare", "--all", stripped.path, url.path]) == 1)
    #expect(await SyncControl.run(["store", "compare", "--all", url.path, url.path]) == 0)
  }
}

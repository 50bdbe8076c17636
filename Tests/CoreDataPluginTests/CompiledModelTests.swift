public import CoreData
import TestSupport
import Testing

/// An entity with *Category/Extension* in the model: its properties are generated.
public class Box: NSManagedObject {
  /// Of a class that is generated whole.
  @NSManaged fileprivate var primitiveShelf: Shelf?
}

/// `Shelves.xcdatamodeld` beside this file, which nobody declares as a resource.
struct CompiledModelTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private static let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Shelves.xcdatamodeld")

  @Test("The bundle has each version, with the hashes of the model as it is edited")
  func bundle() throws {
    let url = try #require(Bundle.module.url(forResource: "Shelves", withExtension: "momd"))
    let compiled = try #require(NSManagedObjectModel(contentsOf: url))
    let edited = try #require(NSManagedObjectModel(contentsOf: Self.source))
    #expect(compiled.entityVersionHashesByName == edited.entityVersionHashesByName)
    #expect(compiled.entityVersionHashesByName.count == 3)
    let first = try #require(
      NSManagedObjectModel(contentsOf: url.appendingPathComponent("Shelves.mom")))
    #expect(first.entities.map(\.name) == ["Shelf"])
    #expect(NSManagedObjectModel.mergedModel(from: [.module])?.entities.count == 3)
  }

  /// Makes a store of the first version, which is closed at the end.
  private func writeOlder(_ store: URL) throws {
    let url = try #require(Bundle.module.url(forResource: "Shelves", withExtension: "momd"))
    let first = try #require(
      NSManagedObjectModel(contentsOf: url.appendingPathComponent("Shelves.mom")))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: first)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store, options: nil)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
        .setValue("left", forKey: "label")
      try context.save()
    }
  }

  @Test(
    "A container finds the model by its name, migrates an older store, and the generated classes work"
  )
  func container() throws {
    let store = folder.file("Shelves.sqlite")
    try writeOlder(store)
    let container = NSPersistentContainer(name: "Shelves")
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: store)]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let shelf = try #require(
        try context.fetch(Shelf.fetchRequest() as NSFetchRequest<Shelf>).first)
      #expect(shelf.label == "left" && shelf.made == nil && Shelf(context: context).height == 1.5)
      let (box, crate) = (Box(context: context), Crate(context: context))
      (box.number, crate.number, box.default, shelf.facts) = (1, 2, "d", ["a": 1])
      shelf.addToBoxes(box)
      shelf.insertIntoBoxes(crate, at: 0)
      try context.save()
      context.refreshAllObjects()
      #expect(shelf.boxes?.array.map { ($0 as? Box)?.number } == [2, 1])
      #expect(box.shelf === shelf && box.primitiveShelf === shelf && box.default == "d")
      #expect((shelf.facts as? [String: Any])?["a"] as? Int == 1)
      shelf.removeFromBoxes(at: 0)
      shelf.removeFromBoxes(NSOrderedSet(object: box))
      #expect(shelf.boxes?.count == 0 && crate.id == ObjectIdentifier(crate))
    }
  }

  @Test(
    "What is wrong with a model is an error of the build with its file",
    arguments: [
      (
        "<model><entity name=\"A\"/></modle>",
        "contents:1:1: error: it is cut off or not well-formed XML at line 1"
      ),
      ("<plist/>", "contents:1:1: error: its root element is plist, and not model"),
      (nil, "it has no file contents that can be read"),
    ])
  func mistakes(contents: String?, message: String) throws {
    let model = folder.file("A.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try contents.map { try Data($0.utf8).write(to: model.appendingPathComponent("contents")) }
    let said = try compile([model])
    #expect(said.hasPrefix(model.path) && said.contains(message), "\(said)")
    #expect(!FileManager.default.fileExists(atPath: folder.file("A.momd").path))
  }

  private static let entity = "<entity name=\"A\"><attribute name=\"a\"/>"
  private static let hostile: [String: (bytes: @Sendable () -> Data, message: String)] = [
    "100 MB": (
      { Data("<model>".utf8) + Data(count: 100 << 20) },
      "contents:1:1: error: it has more than 16777216 bytes"
    ),
    "cut in an attribute": (
      { Data("<model>\n\(entity)".utf8) },
      "contents:2:1: error: it is cut off or not well-formed XML at line 2, within <entity> “A”"
    ),
    "no UTF-8": (
      { Data("<model>\(entity)</entity>".utf8) + [0xFF, 0xFE] }, "bytes that are no UTF-8"
    ),
    "UTF-16": ({ "<model/>".data(using: .utf16) ?? Data() }, "bytes that are no UTF-8"),
    "null": ({ Data("<model>\n\0</model>".utf8) }, "contents:2:1: error: it has a null character"),
    "deep": (
      { Data((String(repeating: "<entity name=\"A\">", count: 100_000)).utf8) },
      "nested more than 64 deep at line 1"
    ),
    "entities": (
      {
        Data(
          ("<!DOCTYPE m [<!ENTITY a \"aaaa\">"
            + (0..<20).map { "<!ENTITY a\($0) \"&a;&a;&a;\">" }.joined()
            + "]><model>&a19;</model>").utf8)
      }, "error: it has a declaration on line 1"
    ),
    "a file outside": (
      { Data("\n<!DOCTYPE m SYSTEM \"file:///etc/passwd\"><model/>".utf8) },
      "contents:2:1: error: it has a declaration on line 2"
    ),
    "an instruction": (
      { Data("<?php?><model/>".utf8) }, "error: it has an instruction for programs on line 1"
    ),
    "another encoding": (
      { Data("<?xml version=\"1.0\" encoding=\"utf-16\"?><model/>".utf8) },
      "error: it has the encoding utf-16"
    ),
    "two roots": (
      { Data("<model/>\n<model/>".utf8) },
      "contents:2:1: error: it goes on after the end of its root element"
    ),
    "nothing": ({ Data() }, "contents:1:1: error: it"),
  ]

  @Test("A hostile model is an error of the build with file and place", arguments: hostile.keys)
  func hostileModels(name: String) throws {
    let (bytes, message) = try #require(Self.hostile[name])
    let model = try model("")
    try bytes().write(to: model.appendingPathComponent("contents"))
    let said = try compile([model])
    #expect(said.hasPrefix(model.path) && said.contains(message), "\(said)")
    #expect(!FileManager.default.fileExists(atPath: folder.file("A.momd").path))
  }

  /// Runs the compiler as the plugin does; what it says.
  private func compile(_ models: [URL]) throws -> String {
    let log = folder.file("log")
    try Data().write(to: log)
    let process = Process()
    process.executableURL = AccessorProblemTests.folder.appendingPathComponent("model-compiler")
    process.arguments =
      [folder.file("A.momd").path, folder.file("A.swift").path] + models.map(\.path)
    process.standardError = try FileHandle(forWritingTo: log)
    try process.run()
    process.waitUntilExit()
    let said = try String(contentsOf: log, encoding: .utf8)
    #expect((process.terminationStatus == 0) == said.isEmpty)
    return said
  }

  /// Writes a model of entities.
  private func model(_ entities: String, at path: String = "A.xcdatamodel") throws -> URL {
    let model = folder.file(path)
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try Data("<model>\(entities)</model>".utf8).write(to: model.appendingPathComponent("contents"))
    return model
  }

  @Test("Two models that become bundles of one name are an error of the build, which names both")
  func namesakes() throws {
    let models = try ["One/A.xcdatamodel", "Two/A.xcdatamodel"].map { try model("", at: $0) }
    let said = try compile(models)
    #expect(
      said == "\(models[1].path):1:1: error: it becomes A.momd, as \(models[0].path) does: "
        + "give one of them another name\n")
    #expect(!FileManager.default.fileExists(atPath: folder.file("A.momd").path))
  }

  @Test(
    "An entity of no class, and one whose class is written by hand, get no class",
    arguments: [
      #"representedClassName="NSManagedObject" codeGenerationType="class""#,
      #"representedClassName="" codeGenerationType="class""#, #"codeGenerationType="category""#,
      #"representedClassName="Item""#,
    ])
  func classless(words: String) throws {
    let model = try model(
      "<entity name=\"Item\" \(words)><attribute name=\"a\" attributeType=\"String\"/></entity>")
    #expect(try compile([model]).isEmpty)
    let classes = try String(contentsOf: folder.file("A.swift"), encoding: .utf8)
    #expect(!classes.contains("Item") && !classes.contains("import"), "\(classes)")
  }
}

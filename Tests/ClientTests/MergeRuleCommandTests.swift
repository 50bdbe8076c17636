import Driftless
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// A model that merges otherwise than the one that a store carries, from the command line.
@Suite struct MergeRuleCommandTests {
  private let directory: TemporaryDirectory
  private let url: URL
  private let other: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
    let file = try Self.write("Shop", stock: "counter", deletes: "deleteWins", directory)
    try PersistentStore.open(url: url, model: ManagedObjectModel(contentsOf: file)).close()
    other = try Self.write("Other", stock: "max", deletes: "editWins", directory)
  }

  private static func write(
    _ name: String, stock: String, deletes: String, _ directory: TemporaryDirectory
  ) throws -> URL {
    let folder = directory.file("\(name).xcdatamodel")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Item">
          <attribute name="stock" attributeType="Integer 64" optional="YES">
            <userInfo><entry key="driftless.conflictPolicy" value="\(stock)"/></userInfo>
          </attribute>
          <userInfo><entry key="driftless.deletePolicy" value="\(deletes)"/></userInfo>
        </entity>
      </model>
      """
    try text.write(to: folder.appending(path: "contents"), atomically: true, encoding: .utf8)
    return folder
  }

  private var policy: ConflictPolicy? {
    get throws {
      let store = try PersistentStore.open(url: url)
      defer { store.close() }
      return store.model.entitiesByName["Item"]?.attributesByName["stock"]?.conflictPolicy
    }
  }

  @Test("Commands with --model refuse other rules than the store carries, and change nothing")
  func refused() async throws {
    let file = directory.file("none.jsonl")
    try Data().write(to: file)
    for arguments in [
      ["import", file.path, "--store", url.path, "--model", other.path],
      ["store", "vacuum", url.path, "--model", other.path],
    ] {
      #expect(await SyncControl.run(arguments) == ExitStatus.badData.rawValue, "\(arguments)")
    }
    #expect(try policy == .counter)
  }

  @Test("migrate gives the store the rules, and lists what is merged otherwise")
  func migrated() async throws {
    let changes = try GivenModelArguments.ruleChanges(
      to: ManagedObjectModel(contentsOf: other), in: url)
    #expect(changes == ["Item.stock: max, was counter", "Item: editWins, was deleteWins"])
    #expect(
      await SyncControl.run(["migrate", url.path, "--model", other.path]) == 0)
    #expect(try policy == .max)
    #expect(
      try GivenModelArguments.ruleChanges(to: ManagedObjectModel(contentsOf: other), in: url)
        .isEmpty)
  }
}

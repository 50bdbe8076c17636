import Foundation
import TestSupport
import Testing

/// Models that a store of a zone is migrated to have to say what their things were called, and give no name to two.
@Suite(.serialized) struct FormerNameTests {
  private let world: FaultWorld
  private let replica: Replica

  init() throws {
    world = try FaultWorld()
    let model = try Self.model("", "name", in: world)
    replica = try Replica(bare: "named", in: world.directory, model: model)
    let token = world.directory.file("token of the named")
    try Data(world.token.utf8).write(to: token)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token.path)
    let outcome = try replica.attempt(
      "enroll",
      ["--server", world.server.address, "--zone", world.zone, "--token-file", token.path])
    try #require(outcome.status == 0, "\(outcome)")
  }

  /// - Parameters:
  ///   - identifier: the renaming identifier of the attribute; empty for none.
  ///   - former: what its `userInfo` lists.
  ///   - more: further attributes.
  private static func model(
    _ identifier: String, _ name: String, former: String = "", more: [String] = [],
    in world: FaultWorld
  ) throws -> URL {
    let renaming = identifier.isEmpty ? "" : " renamingIdentifier=\"\(identifier)\""
    let list = "<userInfo><entry key=\"driftless.formerNames\" value=\"\(former)\"/></userInfo>"
    let others = more.map {
      "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>"
    }
    let xml = """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="Item"><attribute name="\(name)" optional="YES" attributeType="String"\(renaming)>
      \(former.isEmpty ? "" : list)</attribute>\(others.joined())</entity></model>
      """
    return try writeModel(xml, named: "\(name)\(former)\(more.joined())", in: world.directory)
  }

  /// The code of the refusal; empty where it goes.
  private func migrate(to model: URL) throws -> String {
    let outcome = try Programs.run(
      "syncctl", ["migrate", replica.store.path, "--model", model.path, "--json"])
    guard outcome.status != 0 else { return "" }
    #expect(outcome.status == 65, "\(outcome)")
    let object = try JSONSerialization.jsonObject(with: Data(outcome.errors.utf8))
    let error = (object as? [String: Any])?["error"] as? [String: Any]
    return error?["code"] as? String ?? "\(outcome)"
  }

  @Test("A model that forgets a former name, or gives it to another thing, is refused")
  func names() throws {
    #expect(try migrate(to: Self.model("name", "title", in: world)) == "")
    #expect(try migrate(to: Self.model("", "title", in: world)) == "forgotten-name")
    #expect(try migrate(to: Self.model("title", "heading", in: world)) == "forgotten-name")
    #expect(try migrate(to: Self.model("name", "heading", in: world)) == "forgotten-name")
    #expect(
      try migrate(to: Self.model("title", "heading", former: "name", more: ["name"], in: world))
        == "reused-name")
    #expect(
      try migrate(to: Self.model("", "title", more: ["name"], in: world)) == "reused-name")
    let shared = "second\" renamingIdentifier=\"title"
    #expect(
      try migrate(to: Self.model("title", "heading", former: "name", more: [shared], in: world))
        == "shared-name")
    #expect(
      try migrate(to: Self.model("title", "heading", former: "name", more: ["size"], in: world))
        == "")
  }
}

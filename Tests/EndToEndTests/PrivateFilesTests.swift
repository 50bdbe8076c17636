import Foundation
import TestSupport
import Testing

/// What lies on the disk is for its owner.
@Suite(.serialized) struct PrivateFilesTests {
  private static let model = ModelText(entities: [
    .init(name: "Item", attributes: [("name", "String", nil)])
  ])

  @Test("A store, its token and all that lies beside them may be read by their owner alone")
  func storeFiles() throws {
    let directory = try TemporaryDirectory()
    let model = try writeModel(Self.model.xml, named: "Items", in: directory)
    let server = try ServerProcess(data: directory.file("server"), zone: "items")
    let replica = try Replica(
      "till", in: directory, model: model, server: server, zone: "items",
      token: try server.token(zone: "items"))
    let lines = #"{"op":"insert","entity":"Item","id":"1","set":{"name":"a"}}"#
    let outcome = try Programs.run(
      "syncctl", ["import", "--store", replica.store.path, try file(lines, in: directory).path])
    #expect(outcome.status == 0, "\(outcome.errors)")
    try replica.sync()
    for folder in [replica.folder, server.data] {
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(!names.isEmpty)
      for name in names {
        let attributes = try FileManager.default.attributesOfItem(
          atPath: folder.appendingPathComponent(name).path)
        // A link has the rights of what it leads to, which is beside it.
        if attributes[.type] as? FileAttributeType == .typeSymbolicLink { continue }
        let permissions = try #require(attributes[.posixPermissions] as? Int)
        #expect(permissions & 0o077 == 0, "\(name) has \(String(permissions, radix: 8))")
      }
    }
  }

  private func file(_ text: String, in directory: TemporaryDirectory) throws -> URL {
    let file = directory.file("lines.jsonl")
    try Data(text.utf8).write(to: file)
    return file
  }
}

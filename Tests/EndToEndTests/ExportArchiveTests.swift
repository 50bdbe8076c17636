import Foundation
import TestSupport
import Testing

/// What an export says of values that only an application can read.
struct ExportArchiveTests {
  @Test("A value that is to be an archive and is none is exported byte for byte, and told")
  func broken() throws {
    let directory = try TemporaryDirectory()
    let model = try writeModel(
      ModelText(entities: [
        .init(
          name: "Item", attributes: [("name", "String", nil), ("colour", "Transformable", nil)])
      ]).xml, named: "Colours", in: directory)
    let replica = try Replica(bare: "a", in: directory, model: model)
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: ["red", "green"], requiringSecureCoding: true)
    let values = [
      "whole": archive, "cut": archive.prefix(archive.count / 2), "own": Data("own".utf8),
    ]
    try replica.importLines(
      values.sorted { $0.key < $1.key }.map { name, bytes in
        #"{"op":"insert","entity":"Item","id":"\#(name)","set":{"name":"\#(name)","colour":"\#(bytes.base64EncodedString())"}}"#
      })
    let outcome = try replica.attempt("export")
    #expect(outcome.status == 0, "\(outcome)")
    for bytes in values.values {
      let text = bytes.base64EncodedString()
      #expect(outcome.output.replacing("\\/", with: "/").contains(text), "\(outcome)")
    }
    #expect(
      outcome.errors.contains(
        "1 value of Item.colour is no archive that can be read: exported byte for byte"),
      "\(outcome)")
  }
}

import Driftless
import DriftlessSync
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

/// An export can be imported, whatever state the store is in.
struct ExportedAgainTests {
  private func imported(_ text: String) throws -> (Shop, ImportReport) {
    let shop = try Shop()
    let report = try Importer(store: shop.store, author: nil, source: "f").run(Data(text.utf8))
    return (shop, report)
  }

  private func expectRoundTrip(
    _ lines: String..., unfit: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let (first, report) = try imported(lines.joined(separator: "\n"))
    #expect(report.unfit == unfit, sourceLocation: sourceLocation)
    let text = try ReplicaExport.text(of: first.store)
    let (second, again) = try imported(text)
    #expect(again.unfit == unfit, sourceLocation: sourceLocation)
    #expect(again.text.contains("that the model refuses") == (unfit > 0))
    #expect(try ReplicaExport.text(of: second.store) == text, sourceLocation: sourceLocation)
    #expect(try second.store.check().isSound, sourceLocation: sourceLocation)
    return text
  }

  @Test(
    "Without a value that is required, and with one that the model refuses, it says so and is taken"
  )
  func unfit() throws {
    let empty = #"{"op":"insert","entity":"Item","id":"1","set":{"name":null},"unfit":["name"]}"#
    let text = try expectRoundTrip(empty, unfit: 1)
    #expect(text.contains(#""name":null"#) && text.contains(#","unfit":["name"]}"#), "\(text)")
    let below = #"{"op":"insert","entity":"Item","id":"1","set":{"size":-1},"unfit":["size"]}"#
    #expect(try expectRoundTrip(below, unfit: 1).contains(#""unfit":["size"]"#))
    // Without the word both are refused, and so is another property.
    for line in [empty, below] {
      for other in ["", #","unfit":["stock"]"#] {
        let wrong = line.replacing(/,"unfit":\[.*\]/, with: other)
        let failure = #expect(throws: Failure.self) { _ = try imported(wrong) }
        #expect(failure?.message.hasPrefix("f:1: Item.") == true, "\(failure as Any)")
      }
    }
    for wrong in [#""name""#, "[1]", #"["nothing"]"#] {
      let line = #"{"op":"insert","entity":"Item","id":"1","set":{},"unfit":\#(wrong)}"#
      #expect(throws: Failure.self) { _ = try imported(line) }
    }
  }

  @Test("A null where a new object has another value is said")
  func nulls() throws {
    let text = try expectRoundTrip(
      #"{"op":"insert","entity":"Item","id":"1","set":{"stock":null,"size":null}}"#)
    #expect(!text.contains("null") && !text.contains("unfit"), "\(text)")
  }
}

import Driftless
import DriftlessProtocol
import Foundation
import Testing

@testable import DriftlessSync

/// The page of the protocol says of which kind an attribute's column is.
struct ColumnKindTests {
  /// The second cell of the row whose first one is a type.
  private static func kinds() throws -> [String: String] {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/Driftless/Driftless.docc/Protocol.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    let table =
      text.components(separatedBy: "| attribute type | kind |\n|---|---|\n").dropFirst()
      .first?.components(separatedBy: "\n\n").first ?? ""
    return table.split(separator: "\n").reduce(into: [:]) { kinds, row in
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: [" ", "`"]) }
      if cells.count == 2 { kinds[cells[0]] = cells[1] }
    }
  }

  private static func kind(of values: Column.Values) -> String {
    switch values {
    case .integers: "integers"
    case .doubles: "doubles"
    case .dates: "dates"
    case .booleans: "booleans"
    case .strings: "strings"
    case .bytes: "bytes"
    case .decimals: "decimals"
    case .uris: "uris"
    case .uuids: "uuids"
    case .references: "references"
    case .elements: "elements"
    case .sealed: "sealed"
    case .unknown: "unknown"
    }
  }

  @Test(
    "Every type of attribute has its row in the page of the protocol, with the kind it is sent as")
  func everyType() throws {
    let told = try Self.kinds()
    #expect(told.count == AttributeType.allCases.count)
    for type in AttributeType.allCases {
      let property = SyncSchema.Property(
        slot: 0, name: "a", kind: .attribute(type), policy: .lastWriterWins)
      let column = ColumnDraft(property).column(place: { _ in nil }, seal: { _, _ in [] })
      #expect(told["\(type)"] == Self.kind(of: column.values), "\(type)")
    }
  }
}

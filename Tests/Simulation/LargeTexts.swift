import DriftlessProtocol
import Foundation

/// The large values that hosts set, and what an export tells of each.
enum LargeTexts {
  static func value(_ number: Int) -> Data {
    Data("d\(number)\(String(repeating: "large", count: 12))".utf8)
  }

  /// As an export tells them, by their names; of more numbers than a run has.
  static let byName: [String: String] = {
    var texts: [String: String] = [:]
    for number in 0..<20_000 {
      let value = value(number)
      if let name = LargeValue(of: value)?.name {
        texts[name] = "\"\(value.base64EncodedString())\""
      }
    }
    return texts
  }()
}

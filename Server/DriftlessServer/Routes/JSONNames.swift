import DriftlessProtocol
import Foundation

/// Looks for a name that stands twice in one object: one program counts the first, another the last, and a body that says two
/// things to two of them is none. And for what lies within too much else: readers go into it as deep as it is.
enum JSONNames {
  /// Objects and lists within each other. What clients send has three.
  private static let nestingMax = 64

  /// - Throws: `ProtocolError` (`.malformed`) with the name.
  static func check(_ body: Data) throws {
    guard let name = try firstTwice([UInt8](body)) else { return }
    throw ProtocolError.malformed("The name \"\(name.prefix(50))\" stands twice in one object")
  }

  /// Of a text that is no JSON nothing is found: its reader refuses it.
  ///
  /// - Throws: `ProtocolError` (`.malformed`) where it lies too deep.
  private static func firstTwice(_ bytes: [UInt8]) throws -> String? {
    /// The names of each object that is open; nil stands for a list.
    var open: [Set<String>?] = []
    var last = 0..<0
    var place = 0
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      guard open.count <= nestingMax else {
        throw ProtocolError.malformed(
          "The body has more than \(nestingMax) lists and objects within each other")
      }
      switch byte {
      case UInt8(ascii: "{"): open.append([])
      case UInt8(ascii: "["): open.append(nil)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
      case UInt8(ascii: "\""):
        let start = place - 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
          place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        place += 1
        guard place <= bytes.count else { return nil }
        last = start..<place
      case UInt8(ascii: ":"):
        guard let end = open.indices.last, open[end] != nil, let name = name(bytes[last])
        else { return nil }
        if open[end]?.insert(name).inserted == false { return name }
      default: break
      }
    }
    return nil
  }

  /// A name may be written in several ways.
  private static func name(_ text: ArraySlice<UInt8>) -> String? {
    guard text.contains(UInt8(ascii: "\\")) else {
      return String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
    }
    let list = Data("[".utf8) + text + Data("]".utf8)
    return (try? JSONDecoder().decode([String].self, from: list))?.first
  }
}

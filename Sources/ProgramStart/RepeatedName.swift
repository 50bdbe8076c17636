package import Foundation

/// Names that one object of a JSON text has twice: parsers take one of the two without a word.
package enum RepeatedName {
  /// The first such name; nil where there is none. What is no JSON is for the parser to refuse.
  package static func first(in json: Data) -> String? {
    var names: [Set<String>?] = []
    var index = json.startIndex
    while index < json.endIndex {
      let byte = json[index]
      switch byte {
      case UInt8(ascii: "{"): names.append([])
      case UInt8(ascii: "["): names.append(nil)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = names.popLast()
      case UInt8(ascii: "\""):
        let end = endOfText(json, from: index)
        if isName(json, after: end), let name = text(json[index..<end]),
          let last = names.indices.last, names[last]?.insert(name).inserted == false
        {
          return name
        }
        index = end
        continue
      default: break
      }
      index += 1
    }
    return nil
  }

  /// The place after the closing quote.
  private static func endOfText(_ json: Data, from start: Int) -> Int {
    var index = start + 1
    while index < json.endIndex {
      switch json[index] {
      case UInt8(ascii: "\\"): index += 2
      case UInt8(ascii: "\""): return index + 1
      default: index += 1
      }
    }
    return json.endIndex
  }

  private static func isName(_ json: Data, after end: Int) -> Bool {
    json[end...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: ":")
  }

  /// The text with its escapes resolved: one name may be written in several ways.
  private static func text(_ quoted: Data) -> String? {
    try? JSONDecoder().decode(String.self, from: Data(quoted))
  }
}

import Driftless
import Foundation

/// The elements of a set that is one value.
///
/// Elements of JSON stay as they are written: a number keeps each of its digits.
struct ElementList {
  enum Form: Hashable { case jsonText, jsonBytes, propertyList }

  private enum Element {
    case json(Data)
    case object(Any)
  }

  let form: Form
  /// Each element in a form in which equal ones are equal bytes; no element twice.
  private(set) var identities: [Data] = []
  private var elements: [Element] = []

  /// Nil when the value is no array.
  init?(_ value: PropertyValue) {
    let all: [(identity: Data?, element: Element)]
    switch value {
    case .string(let text):
      guard let array = Self.json(Data(text.utf8)) else { return nil }
      form = .jsonText
      all = array
    case .data(let bytes):
      if let array = Self.json(bytes) {
        form = .jsonBytes
        all = array
      } else if let list = BoundedPropertyList.values(bytes),
        let array = list as? [Any]
      {
        form = .propertyList
        all = array.map { element in
          let identity = try? PropertyListSerialization.data(
            fromPropertyList: [element], format: .xml, options: 0)
          return (identity, .object(element))
        }
      } else {
        return nil
      }
    default: return nil
    }
    var seen: Set<Data> = []
    for (identity, element) in all {
      guard let identity else { return nil }
      guard seen.insert(identity).inserted else { continue }
      identities.append(identity)
      elements.append(element)
    }
  }

  private static func json(_ bytes: Data) -> [(identity: Data?, element: Element)]? {
    guard let array = (try? JSONSerialization.jsonObject(with: bytes)) as? [Any],
      let written = written([UInt8](bytes)), written.count == array.count
    else { return nil }
    return zip(array, written).map { element, text in
      // A whole number may have more digits than the reader's numbers.
      let isWhole = text.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
      let identity =
        isWhole
        ? text : try? JSONSerialization.data(withJSONObject: [element], options: .sortedKeys)
      return (identity, .json(text))
    }
  }

  /// The elements of a JSON array as they are written, without the space around them. The text is
  /// known to be JSON; nil when it is not in UTF-8.
  private static func written(_ bytes: [UInt8]) -> [Data]? {
    func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
    guard let start = bytes.firstIndex(where: { !isSpace($0) }), bytes[start] == UInt8(ascii: "["),
      !bytes.contains(0)
    else { return nil }
    var elements: [Data] = []
    var element: [UInt8] = []
    var (depth, isInText, isEscaped) = (0, false, false)
    for byte in bytes[start...] {
      if isInText {
        isInText = isEscaped || byte != UInt8(ascii: "\"")
        isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
      } else {
        switch byte {
        case UInt8(ascii: "\""): isInText = true
        case UInt8(ascii: "["), UInt8(ascii: "{"):
          depth += 1
          if depth == 1 { continue }
        case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        default: if isSpace(byte) { continue }
        }
        if depth == 0 || (depth == 1 && byte == UInt8(ascii: ",")) {
          if !element.isEmpty { elements.append(Data(element)) }
          element.removeAll()
          if depth == 0 { return elements }
          continue
        }
      }
      element.append(byte)
    }
    return nil
  }

  func keeping(_ kept: Set<Data>) -> ElementList {
    var list = self
    let places = identities.indices.filter { kept.contains(identities[$0]) }
    list.identities = places.map { identities[$0] }
    list.elements = places.map { elements[$0] }
    return list
  }

  func appending(_ other: ElementList) -> ElementList {
    var list = self
    let known = Set(identities)
    for (identity, element) in zip(other.identities, other.elements) where !known.contains(identity)
    {
      list.identities.append(identity)
      list.elements.append(element)
    }
    return list
  }

  /// The list as a value of its form.
  var value: PropertyValue? {
    var texts: [Data] = []
    var objects: [Any] = []
    for element in elements {
      switch element {
      case .json(let text): texts.append(text)
      case .object(let object): objects.append(object)
      }
    }
    let json = Data("[".utf8) + Data(texts.joined(separator: Data(",".utf8))) + Data("]".utf8)
    switch form {
    case .jsonText: return .string(String(decoding: json, as: UTF8.self))
    case .jsonBytes: return .data(json)
    case .propertyList:
      let bytes = try? PropertyListSerialization.data(
        fromPropertyList: objects, format: .binary, options: 0)
      return bytes.map { .data($0) }
    }
  }
}

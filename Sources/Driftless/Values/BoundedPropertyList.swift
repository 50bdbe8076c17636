package import Foundation

/// Property lists that may be anybody's: of a file, of the wire.
///
/// Foundation reads one by recursion, and a binary one as often as its objects contain each other: a few kilobytes exhaust
/// the stack, or the memory. So its shape is looked at first.
package enum BoundedPropertyList {
  /// Containers in containers.
  static let depthMax = 64
  /// Objects, each counted as often as it is contained.
  static let objectsMax = 1_000_000
  static let bytesMax = 64 << 20

  /// The values; nil for what is no property list, or one beyond the bounds.
  package static func values(_ data: Data) -> Any? {
    guard data.count <= bytesMax, isBounded(data) else { return nil }
    return try? PropertyListSerialization.propertyList(from: data, format: nil)
  }

  /// Whether its shape is within the bounds, if it is a property list.
  static func isBounded(_ data: Data) -> Bool {
    if data.starts(with: Array("bplist".utf8)) { return isBoundedBinary(data) }
    return data.prefix(16).contains(UInt8(ascii: "<")) ? isBoundedXML(data) : isBoundedText(data)
  }

  /// The old form, in which files of texts are still written: containers are brackets, but for those within quotes and comments.
  private static func isBoundedText(_ data: Data) -> Bool {
    let bytes = [UInt8](data)
    var depth = 0
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        index += 1
        while index < bytes.count, bytes[index] != byte {
          index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
      case UInt8(ascii: "/") where bytes[index...].starts(with: "/*".utf8):
        index = end(of: "*/", in: bytes, from: index + 2) - 1
      case UInt8(ascii: "/") where bytes[index...].starts(with: "//".utf8):
        index = end(of: "\n", in: bytes, from: index) - 1
      case UInt8(ascii: "("), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
      guard 0...depthMax ~= depth else { return false }
      index += 1
    }
    return true
  }

  /// The place behind a text; the end where it does not come.
  private static func end(of text: String, in bytes: [UInt8], from start: Int) -> Int {
    let text = Array(text.utf8)
    var index = start
    while index + text.count <= bytes.count {
      if bytes[index] == text[0], bytes[index..<index + text.count].elementsEqual(text) {
        return index + text.count
      }
      index += 1
    }
    return bytes.count
  }

  /// Each object once, its contents before it; one that contains itself has no end.
  private static func isBoundedBinary(_ data: Data) -> Bool {
    guard let list = try? BinaryPropertyList(data) else { return false }
    struct Size {
      var depth: Int
      var objects: Int
    }
    var sizes: [Int: Size] = [:]
    var open: Set<Int> = []
    var stack = [(index: list.root, isLeaving: false)]
    while let (index, isLeaving) = stack.popLast() {
      guard sizes[index] == nil else { continue }
      guard let object = try? list.object(at: index) else { return false }
      let contents: [Int] =
        switch object {
        case .array(let members): members
        case .dictionary(let pairs): pairs.flatMap { [$0.key, $0.value] }
        default: []
        }
      guard isLeaving || contents.isEmpty else {
        guard open.insert(index).inserted, open.count <= depthMax else { return false }
        stack.append((index, true))
        for member in Set(contents) where sizes[member] == nil {
          guard !open.contains(member) else { return false }
          stack.append((member, false))
        }
        continue
      }
      open.remove(index)
      var size = Size(depth: 0, objects: 1)
      for member in contents {
        guard let inner = sizes[member] else { return false }
        size.depth = max(size.depth, inner.depth + 1)
        size.objects += inner.objects
        guard size.objects <= objectsMax else { return false }
      }
      guard size.depth <= depthMax else { return false }
      sizes[index] = size
    }
    return true
  }

  /// Containers are the elements that elements lie in.
  private static func isBoundedXML(_ data: Data) -> Bool {
    let bytes = [UInt8](data)
    var depth = 0
    var index = 0
    while let tag = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
      let rest = bytes[tag...]
      if rest.starts(with: "<!--".utf8) {
        index = end(of: "-->", in: bytes, from: tag + 4)
      } else if rest.starts(with: "<![CDATA[".utf8) {
        index = end(of: "]]>", in: bytes, from: tag + 9)
      } else {
        guard let end = endOfTag(bytes, from: tag + 1) else { return false }
        index = end + 1
        switch bytes[tag + 1] {
        case UInt8(ascii: "/"): depth -= 1
        case UInt8(ascii: "?"), UInt8(ascii: "!"): break
        default: if bytes[end - 1] != UInt8(ascii: "/") { depth += 1 }
        }
      }
      guard 0...depthMax + 2 ~= depth else { return false }
    }
    return true
  }

  /// The place of the bracket that ends a tag; one within quotes does not.
  private static func endOfTag(_ bytes: [UInt8], from start: Int) -> Int? {
    var quote: UInt8?
    for index in start..<bytes.count {
      switch (bytes[index], quote) {
      case (UInt8(ascii: ">"), nil): return index
      case (UInt8(ascii: "\""), nil), (UInt8(ascii: "'"), nil): quote = bytes[index]
      case (let byte, let open?) where byte == open: quote = nil
      default: break
      }
    }
    return nil
  }
}

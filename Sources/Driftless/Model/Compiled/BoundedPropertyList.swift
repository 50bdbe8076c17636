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

  private static func isBounded(_ data: Data) -> Bool {
    if data.starts(with: Array("bplist".utf8)) { return isBoundedBinary(data) }
    return data.prefix(16).contains(UInt8(ascii: "<")) ? isBoundedXML(data) : isBoundedText(data)
  }

  /// The old form, in which files of texts are still written: containers are brackets, but for those within quotes.
  private static func isBoundedText(_ data: Data) -> Bool {
    var depth = 0
    var isQuoted = false
    var isEscaped = false
    for byte in data {
      defer { isEscaped = byte == UInt8(ascii: "\\") && !isEscaped }
      if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
      guard !isQuoted else { continue }
      if byte == UInt8(ascii: "(") || byte == UInt8(ascii: "{") { depth += 1 }
      if byte == UInt8(ascii: ")") || byte == UInt8(ascii: "}") { depth -= 1 }
      guard depth <= depthMax else { return false }
    }
    return true
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
    var depth = 0
    var index = data.startIndex
    while let tag = data[index...].firstIndex(of: UInt8(ascii: "<")) {
      index = data.index(after: tag)
      guard index < data.endIndex else { break }
      switch data[index] {
      case UInt8(ascii: "/"): depth -= 1
      case UInt8(ascii: "?"), UInt8(ascii: "!"): continue
      default:
        guard let end = data[index...].firstIndex(of: UInt8(ascii: ">")) else { return false }
        if data[data.index(before: end)] != UInt8(ascii: "/") { depth += 1 }
      }
      guard depth <= depthMax + 2 else { return false }
    }
    return true
  }
}

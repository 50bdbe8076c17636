import Foundation

/// How the objects of a keyed archive lie in each other. The unarchiver follows the references between them by recursion: one
/// within itself has no end, and a few kilobytes of others in others exhaust the stack, or the memory.
struct ArchiveShape {
  /// Objects in objects.
  private static let depthMax = BoundedPropertyList.depthMax
  /// Each counted as often as it is contained.
  private static let objectsMax = BoundedPropertyList.objectsMax

  private let list: BinaryPropertyList
  /// By their number in the archive the places of objects in the list.
  private let objects: [Int]

  /// Whether an archive, whose property list is bounded itself, is so with all that its objects refer to.
  static func isBounded(_ data: Data) -> Bool {
    guard let shape = try? ArchiveShape(data) else { return false }
    return shape.isBounded()
  }

  /// Only binary lists show what refers to what.
  private init(_ data: Data) throws {
    var binary = data
    if !data.starts(with: Array("bplist".utf8)) {
      binary = try PropertyListSerialization.data(
        fromPropertyList: PropertyListSerialization.propertyList(from: data, format: nil),
        format: .binary, options: 0)
    }
    list = try BinaryPropertyList(binary)
    guard case .dictionary(let parts) = try list.object(at: list.root) else {
      throw BinaryPropertyList.Damage("it is no archive")
    }
    for part in parts {
      guard case .string("$objects") = try list.object(at: part.key),
        case .array(let places) = try list.object(at: part.value)
      else { continue }
      objects = places
      return
    }
    throw BinaryPropertyList.Damage("it has no objects")
  }

  private struct Size {
    var depth = 0
    var objects = 1
  }

  /// Each object once, those that it refers to before it.
  private func isBounded() -> Bool {
    var sizes: [Int: Size] = [:]
    var open: Set<Int> = []
    for start in objects.indices where sizes[start] == nil {
      var stack = [(object: start, isLeaving: false)]
      while let (object, isLeaving) = stack.popLast() {
        guard sizes[object] == nil else { continue }
        guard objects.indices.contains(object),
          let others = try? references(of: objects[object])
        else { return false }
        guard isLeaving || others.isEmpty else {
          guard open.insert(object).inserted, open.count <= Self.depthMax else { return false }
          stack.append((object, true))
          for other in Set(others) where sizes[other] == nil {
            guard !open.contains(other) else { return false }
            stack.append((other, false))
          }
          continue
        }
        open.remove(object)
        guard let size = size(of: others, sizes) else { return false }
        sizes[object] = size
      }
    }
    return true
  }

  /// Nil for one beyond the bounds.
  private func size(of others: [Int], _ sizes: [Int: Size]) -> Size? {
    var size = Size()
    for other in others {
      guard let inner = sizes[other] else { return nil }
      size.depth = max(size.depth, inner.depth + 1)
      size.objects += inner.objects
      guard size.objects <= Self.objectsMax else { return nil }
    }
    return size.depth <= Self.depthMax ? size : nil
  }

  /// The numbers of the objects that one refers to, wherever within it.
  private func references(of place: Int) throws -> [Int] {
    var references: [Int] = []
    var places = [place]
    while let place = places.popLast() {
      switch try list.object(at: place) {
      case .uid(let number): references.append(number)
      case .array(let members): places += members
      case .dictionary(let pairs): places += pairs.map(\.value)
      default: break
      }
    }
    return references
  }
}

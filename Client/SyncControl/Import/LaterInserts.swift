import Driftless
import Foundation

/// What the lines insert that an import has not come to yet: a reference that is open must name one of them. Lines that were
/// looked through for one reference are not looked through again for the next.
struct LaterInserts {
  /// Lines that are kept; a reference behind more of them has all lines behind its own looked through.
  private let linesMax: Int
  private let shapes: ImportShapes
  /// The last line that inserts each object, of those that were looked through.
  private var lines: [UUID: Int] = [:]
  private var reader: LineReader?
  /// How many lines were looked through.
  private(set) var readCount = 0

  init(_ shapes: ImportShapes, linesMax: Int = 1 << 20) {
    self.shapes = shapes
    self.linesMax = linesMax
  }

  /// The first of these references whose object no line behind a place inserts.
  mutating func missing(
    of references: [AwaitedReference], behind place: LineReader
  ) -> AwaitedReference? {
    references.sorted { $0.line < $1.line }.first { !has($0.target, behind: place) }
  }

  private mutating func has(_ target: UUID, behind place: LineReader) -> Bool {
    if let line = lines[target], line > place.number { return true }
    if reader.map({ $0.number < place.number }) ?? true || lines.count > linesMax {
      lines = [:]
      reader = place
    }
    // What is wrong with a line is said when its turn comes.
    while let line = try? reader?.next() {
      readCount += 1
      guard let made = line.operation.insertion,
        let entity = try? shapes.shape(made.entity, line.number).entity
      else { continue }
      let identity = NamedIdentity.identity(made.id, of: entity)
      lines[identity] = line.number
      if identity == target { return true }
    }
    return false
  }
}

import Foundation

/// What the records of a fold are sorted by: objects by number, then what is known of replicas, of the names of
/// transactions, and of identities that were deleted before the zone heard of them.
struct FoldKey: Comparable, Hashable {
  enum Part: UInt8, Codable { case object = 0, replica, name, tombstone }

  let part: Part
  let high: UInt64
  let low: UInt64

  static func object(_ number: UInt64) -> FoldKey { FoldKey(part: .object, high: 0, low: number) }
  static func name(_ name: UInt64) -> FoldKey { FoldKey(part: .name, high: 0, low: name) }
  static func replica(_ replica: UUID) -> FoldKey { FoldKey(.replica, replica) }
  static func tombstone(_ identity: UUID) -> FoldKey { FoldKey(.tombstone, identity) }

  init(part: Part, high: UInt64, low: UInt64) {
    self.part = part
    self.high = high
    self.low = low
  }

  private init(_ part: Part, _ identity: UUID) {
    self.part = part
    high = withUnsafeBytes(of: identity.uuid) {
      UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self))
    }
    low = identity.lowBytes
  }

  /// Of a replica or a tombstone.
  var identity: UUID {
    var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &uuid) { bytes in
      bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
      bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return UUID(uuid: uuid)
  }

  static func < (left: FoldKey, right: FoldKey) -> Bool {
    (left.part.rawValue, left.high, left.low) < (right.part.rawValue, right.high, right.low)
  }
}

/// How an object came into the zone.
struct FoldBirth: Hashable {
  var entity: UInt32
  var identity: UUID
  var isGiven: Bool
  /// The name of the save that made it, whoever brought it back since; 0 where the log does not tell.
  var maker: UInt64
}

/// A value that an object has, in the bytes of its kind.
struct FoldValue: Hashable {
  var entity: UInt32
  var transaction: FoldTransaction
  /// The kind of its column on the wire.
  var kind: UInt32
  var isNull: Bool
  /// Whether the bytes name a large value.
  var isLarge = false
  var bytes: [UInt8]

  /// Bytes that it takes where it is read, with those that go by themselves.
  var wholeCount: Int {
    guard isLarge, let value = LargeValue(bytes: bytes) else { return bytes.count }
    return Int(clamping: value.length)
  }
}

/// What a set gained and lost, by object numbers: those that came stand behind those that were there.
struct FoldElements: Hashable {
  var entity: UInt32
  var transaction: FoldTransaction
  var added: [UInt64]
  /// Ascending.
  var removed: [UInt64]
}

/// A unique key's constraint.
struct FoldConstraint: Hashable {
  var entity: UInt32
  var properties: [UInt32]
}

/// A key that an object holds.
struct FoldClaim: Hashable {
  var keyID: UInt32
  var hash: KeyHash
}

/// The smallest piece of a log: one thing that one entry says of one object, replica, name or identity. What a fold keeps of
/// a thing is again a few of these, so that a fold of folds is a fold.
enum FoldAtom: Hashable {
  case born(FoldBirth, FoldTransaction)
  /// Came, and was deleted with this transaction.
  case grave(FoldBirth, FoldTransaction)
  case deleted(entity: UInt32, FoldTransaction)
  case revived(entity: UInt32, FoldTransaction)
  case value(property: UInt32, FoldValue)
  case elements(property: UInt32, FoldElements)
  case claim(FoldConstraint, FoldClaim)
  /// The last push of a replica, and its place.
  case pushed(number: UInt64, LogMark)
  /// A transaction's name is in the log; partial: something of it was left out.
  case told(hybridTime: UInt64, isPartial: Bool)
  case buried(entity: UInt32, hybridTime: UInt64)
}

extension FoldAtom {
  private enum Tag: UInt8 {
    case born = 1, grave, deleted, revived, value, elements, claim, pushed, told, buried
  }

  private static let largeFlag: UInt8 = 32
  private static let nullFlag: UInt8 = 64
  private static let sameFlag: UInt8 = 128

  var transaction: FoldTransaction? {
    switch self {
    case .born(_, let transaction), .grave(_, let transaction), .deleted(_, let transaction),
      .revived(_, let transaction):
      transaction
    case .value(_, let value): value.transaction
    case .elements(_, let elements): elements.transaction
    case .claim, .pushed, .told, .buried: nil
    }
  }

  private var tag: Tag {
    switch self {
    case .born: .born
    case .grave: .grave
    case .deleted: .deleted
    case .revived: .revived
    case .value: .value
    case .elements: .elements
    case .claim: .claim
    case .pushed: .pushed
    case .told: .told
    case .buried: .buried
    }
  }

  /// - Parameter last: The transaction of the piece before, which is not said twice.
  func write(to out: inout FoldBytes, last: inout FoldTransaction?) {
    var first = tag.rawValue
    if case .value(_, let value) = self {
      if value.isNull { first |= Self.nullFlag }
      if value.isLarge { first |= Self.largeFlag }
    }
    let isSame = transaction != nil && transaction == last
    out.bytes.append(isSame ? first | Self.sameFlag : first)
    if let transaction, !isSame {
      out.append(varint: transaction.sequence)
      out.append(transaction.name)
      out.append(transaction.hybridTime)
      out.append(varint: UInt64(transaction.source))
      last = transaction
    }
    switch self {
    case .born(let birth, _), .grave(let birth, _):
      out.append(varint: UInt64(birth.entity))
      out.append(birth.identity)
      out.bytes.append(birth.isGiven ? 1 : 0)
      out.append(varint: birth.maker)
    case .deleted(let entity, _), .revived(let entity, _): out.append(varint: UInt64(entity))
    case .value(let property, let value):
      out.append(varint: UInt64(property))
      out.append(varint: UInt64(value.entity))
      out.append(varint: UInt64(value.kind))
      out.append(block: value.bytes)
    case .elements(let property, let elements):
      out.append(varint: UInt64(property))
      out.append(varint: UInt64(elements.entity))
      for list in [elements.added, elements.removed] {
        out.append(varint: UInt64(list.count))
        for number in list { out.append(varint: number) }
      }
    case .claim(let constraint, let claim):
      out.append(varint: UInt64(constraint.entity))
      out.append(varint: UInt64(constraint.properties.count))
      for property in constraint.properties { out.append(varint: UInt64(property)) }
      out.append(varint: UInt64(claim.keyID))
      out.bytes.append(contentsOf: claim.hash.bytes)
    case .pushed(let number, let mark):
      out.append(varint: number)
      out.append(varint: mark.sequence)
      out.bytes.append(contentsOf: mark.chain.bytes)
    case .told(let time, let isPartial):
      out.append(time)
      out.bytes.append(isPartial ? 1 : 0)
    case .buried(let entity, let time):
      out.append(varint: UInt64(entity))
      out.append(time)
    }
  }

  init(_ scan: inout FoldScanner, last: inout FoldTransaction?) throws(ProtocolError) {
    let first = try scan.nextByte()
    let flags = Self.largeFlag | Self.nullFlag | Self.sameFlag
    guard let tag = Tag(rawValue: first & ~flags) else {
      throw .damagedFold
    }
    let isNull = first & Self.nullFlag != 0
    let isSame = first & Self.sameFlag != 0
    switch tag {
    case .born, .grave:
      let transaction = try Self.transaction(&scan, isSame, &last)
      let entity = try scan.nextPlace()
      let identity = try scan.nextUUID()
      let isGiven = try scan.nextByte() != 0
      let birth = FoldBirth(
        entity: entity, identity: identity, isGiven: isGiven, maker: try scan.nextVarint())
      self = tag == .born ? .born(birth, transaction) : .grave(birth, transaction)
    case .deleted:
      let transaction = try Self.transaction(&scan, isSame, &last)
      self = .deleted(entity: try scan.nextPlace(), transaction)
    case .revived:
      let transaction = try Self.transaction(&scan, isSame, &last)
      self = .revived(entity: try scan.nextPlace(), transaction)
    case .value:
      let transaction = try Self.transaction(&scan, isSame, &last)
      let property = try scan.nextPlace()
      let entity = try scan.nextPlace()
      let kind = try scan.nextPlace()
      self = .value(
        property: property,
        FoldValue(
          entity: entity, transaction: transaction, kind: kind, isNull: isNull,
          isLarge: first & Self.largeFlag != 0,
          bytes: try scan.nextBlock()))
    case .elements:
      let transaction = try Self.transaction(&scan, isSame, &last)
      let property = try scan.nextPlace()
      let entity = try scan.nextPlace()
      let added = try Self.numbers(&scan)
      self = .elements(
        property: property,
        FoldElements(
          entity: entity, transaction: transaction, added: added, removed: try Self.numbers(&scan)))
    case .claim:
      let entity = try scan.nextPlace()
      var properties: [UInt32] = []
      for _ in 0..<(try scan.nextCount()) { properties.append(try scan.nextPlace()) }
      let keyID = try scan.nextPlace()
      guard let hash = KeyHash(bytes: try scan.next(KeyHash.size)) else { throw .damagedFold }
      self = .claim(
        FoldConstraint(entity: entity, properties: properties), FoldClaim(keyID: keyID, hash: hash))
    case .pushed:
      let number = try scan.nextVarint()
      let sequence = try scan.nextVarint()
      guard let chain = LogChain(bytes: try scan.next(LogChain.size)) else { throw .damagedFold }
      self = .pushed(number: number, LogMark(sequence: sequence, chain: chain))
    case .told:
      let time = try scan.nextNumber()
      self = .told(hybridTime: time, isPartial: try scan.nextByte() != 0)
    case .buried:
      let entity = try scan.nextPlace()
      self = .buried(entity: entity, hybridTime: try scan.nextNumber())
    }
  }

  private static func transaction(
    _ scan: inout FoldScanner, _ isSame: Bool, _ last: inout FoldTransaction?
  ) throws(ProtocolError) -> FoldTransaction {
    if isSame {
      guard let last else { throw .damagedFold }
      return last
    }
    let sequence = try scan.nextVarint()
    let name = try scan.nextNumber()
    let time = try scan.nextNumber()
    let transaction = FoldTransaction(
      sequence: sequence, name: name, hybridTime: time, source: try scan.nextPlace())
    last = transaction
    return transaction
  }

  private static func numbers(_ scan: inout FoldScanner) throws(ProtocolError) -> [UInt64] {
    let count = try scan.nextCount()
    var numbers: [UInt64] = []
    numbers.reserveCapacity(count)
    for _ in 0..<count { numbers.append(try scan.nextVarint()) }
    return numbers
  }
}

import Foundation

/// What a segment says beside its change sets: which numbers its objects have, which numbers are dead, and which replica
/// pushed what in which entry.
///
/// Varints, and plain bytes where it says so:
///
/// | what | |
/// |---|---|
/// | new objects of the first change set | how many runs; of each how many numbers lie before it, and how many it has |
/// | replicas | how many; 16 bytes each |
/// | transactions of each change set, in their order | how many; of each the replica's place, and the entry |
/// | entities of dead objects | how many; each as its length and UTF-8 |
/// | dead objects | how many runs; of each how many numbers lie before it, how many it has, the entity's place, 1 for given identities, the identity of the first (16 bytes; each next adds 1 to the last eight), the maker's name, the place of the delete among the transactions of the first change set |
struct SegmentPlaces: Equatable {
  /// In a segment's change set, in place of the maker of a new object that nobody knows: 0 is the transaction of its row.
  static let noMaker = UInt64.max

  struct Run: Equatable {
    var first: UInt64
    var count: UInt64
  }

  struct Pushed: Equatable {
    var replica: Int
    var sequence: UInt64
  }

  struct Dead: Equatable {
    var run: Run
    var entity: Int
    var isGiven: Bool
    var identity: UUID
    var maker: UInt64
    var transaction: Int
  }

  var numbers: [Run] = []
  var replicas: [UUID] = []
  /// For each change set.
  var pushed: [[Pushed]] = []
  var entities: [String] = []
  var dead: [Dead] = []

  func encoded(first: UInt64) -> [UInt8] {
    var out = FoldBytes()
    out.append(varint: UInt64(numbers.count))
    var next = first
    func append(_ run: Run) {
      out.append(varint: run.first &- next)
      out.append(varint: run.count)
      next = run.first &+ run.count
    }
    for run in numbers { append(run) }
    out.append(varint: UInt64(replicas.count))
    for replica in replicas { out.append(replica) }
    for transactions in pushed {
      out.append(varint: UInt64(transactions.count))
      for transaction in transactions {
        out.append(varint: UInt64(transaction.replica))
        out.append(varint: transaction.sequence)
      }
    }
    out.append(varint: UInt64(entities.count))
    for entity in entities { out.append(block: Array(entity.utf8)) }
    out.append(varint: UInt64(dead.count))
    next = first
    for dead in dead {
      append(dead.run)
      out.append(varint: UInt64(dead.entity))
      out.append(varint: dead.isGiven ? 1 : 0)
      out.append(dead.identity)
      out.append(varint: dead.maker)
      out.append(varint: UInt64(dead.transaction))
    }
    return out.bytes
  }

  init() {}

  /// - Throws: `ProtocolError` when the bytes are something else.
  init(_ bytes: [UInt8], first: UInt64, frames: Int) throws(ProtocolError) {
    var scan = FoldScanner(bytes)
    var next = first
    func run() throws(ProtocolError) -> Run {
      let gap = try scan.nextVarint()
      let count = try scan.nextVarint()
      let (start, overflow) = next.addingReportingOverflow(gap)
      let (end, isTooFar) = start.addingReportingOverflow(count)
      guard !overflow, !isTooFar, count > 0 else { throw Self.malformed }
      next = end
      return Run(first: start, count: count)
    }
    for _ in 0..<(try scan.nextCount()) { numbers.append(try run()) }
    for _ in 0..<(try scan.nextCount()) { replicas.append(try scan.nextUUID()) }
    for _ in 0..<frames {
      var transactions: [Pushed] = []
      for _ in 0..<(try scan.nextCount()) {
        let replica = Int(try scan.nextPlace())
        guard replicas.indices.contains(replica) else { throw Self.malformed }
        transactions.append(Pushed(replica: replica, sequence: try scan.nextVarint()))
      }
      pushed.append(transactions)
    }
    for _ in 0..<(try scan.nextCount()) {
      guard let name = String(validating: try scan.nextBlock(), as: UTF8.self) else {
        throw Self.malformed
      }
      entities.append(name)
    }
    next = first
    for _ in 0..<(try scan.nextCount()) {
      let run = try run()
      let entity = Int(try scan.nextPlace())
      let isGiven = try scan.nextVarint() == 1
      let identity = try scan.nextUUID()
      let maker = try scan.nextVarint()
      let transaction = Int(try scan.nextPlace())
      guard entities.indices.contains(entity), let pushed = pushed.first,
        pushed.indices.contains(transaction)
      else { throw Self.malformed }
      dead.append(
        Dead(
          run: run, entity: entity, isGiven: isGiven, identity: identity, maker: maker,
          transaction: transaction))
    }
    guard scan.isAtEnd else { throw Self.malformed }
  }

  private static let malformed = ProtocolError.malformed(
    "The places of a segment are not in their format")

  /// How many new objects the first change set has.
  var newCount: UInt64 { numbers.reduce(0) { $0 &+ $1.count } }
}

extension [SegmentPlaces.Run] {
  /// Adds a number that is greater than all before.
  mutating func append(number: UInt64) {
    if let last, last.first + last.count == number {
      self[count - 1].count += 1
    } else {
      append(SegmentPlaces.Run(first: number, count: 1))
    }
  }
}

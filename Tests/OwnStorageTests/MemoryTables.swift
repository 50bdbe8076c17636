import DriftlessProtocol
import DriftlessServer
import Foundation

/// What the rules read and write in one transaction: a copy, which becomes the storage's where all went well.
final class MemoryTables: ZoneTables {
  private(set) var memory: Memory

  init(_ memory: Memory) { self.memory = memory }

  func zone(named name: String) -> ZoneRecord? { try? memory.zone(named: name).record }

  func place(at sequence: UInt64, of zone: ZoneRecord) -> LogMark? {
    memory.zones[zone.id]?.place(at: sequence)
  }

  // MARK: - Replicas

  func replica(_ replica: UUID) -> KnownReplica? { memory.replicas[replica] }

  func replicaCount(of zone: Int64) -> Int {
    memory.replicas.values.count { $0.zone == zone && !$0.isForgotten }
  }

  func add(_ replica: UUID, to zone: Int64, isForgotten: Bool) -> KnownReplica {
    let known = KnownReplica(
      id: memory.nextNumber(), zone: zone, lastPush: 0, isForgotten: isForgotten)
    memory.replicas[replica] = known
    return known
  }

  func remember(_ replica: UUID, of zone: Int64) { memory.replicas[replica]?.isForgotten = false }

  // MARK: - The log

  private func entries(of replica: KnownReplica) -> [Memory.Entry] {
    memory.zones[replica.zone]?.entries.filter { $0.entry.replica.id == replica.id } ?? []
  }

  func entry(of replica: KnownReplica, number: UInt64) -> KnownEntry? {
    entries(of: replica).last { $0.entry.push.number == number }.map {
      KnownEntry(
        sequence: $0.entry.sequence, firstObjectNumber: $0.firstObject,
        digest: $0.entry.push.digest, chain: $0.entry.chain)
    }
  }

  func ownFrames(of replica: KnownReplica, after sequence: UInt64) -> OwnFrames {
    let own = entries(of: replica).filter { $0.entry.sequence > sequence }
    return OwnFrames(
      own.suffix(LogBounds.ownFramesMax).map {
        OwnFrames.Frame(
          sequence: $0.entry.sequence, firstObject: $0.firstObject,
          count: $0.entry.push.contents.newCount)
      })
  }

  func firstObject(of sequence: UInt64, zone: Int64) -> UInt64? {
    memory.zones[zone]?.entries.first { $0.entry.sequence == sequence }?.firstObject
  }

  func logBytes(of zone: ZoneRecord) -> Int {
    memory.zones[zone.id]?.entries.reduce(0) { $0 + $1.entry.push.frame.count } ?? 0
  }

  func append(_ entry: NewEntry, to zone: ZoneRecord) {
    memory.zones[zone.id]?.entries.append(
      Memory.Entry(entry: entry, firstObject: zone.nextObject))
    // A push that is no refill ends the mark.
    memory.zones[zone.id]?.record = zone.with(
      isPutBack: zone.isPutBack && entry.isRefill, entry: entry)
    let known = memory.replicas[entry.push.replica] ?? entry.replica
    memory.replicas[entry.push.replica] = KnownReplica(
      id: known.id, zone: known.zone, lastPush: entry.push.number, isForgotten: known.isForgotten)
  }

  // MARK: - What there is none of

  func floor(of zone: ZoneRecord) -> UInt64 { 0 }
  func ready(for part: Push) {}
  func stage(
    _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord
  ) throws { throw ServerError.takesNoParts }
  func makeRoom(
    for part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits, of zone: ZoneRecord
  ) throws { throw ServerError.takesNoParts }
  func staged(_ part: UInt16, of push: Push) -> Data? { nil }
  func dropStaged(of replica: UUID, through number: UInt64) {}
  func stagedBytes(of zone: ZoneRecord, butOf replica: UUID) -> Int { 0 }
  func stagedBytes(beside part: Push, _ header: ChangeSetHeader) -> Int { 0 }
  func missing(_ values: [LargeValue], zone: Int64) -> [LargeValue] { values }
  func use(_ values: [LargeValue], zone: Int64, sequence: UInt64) {}

  // MARK: - Objects

  func property(_ name: String, zone: Int64, most: Int) throws -> UInt64 {
    let names = memory.zones[zone]?.names ?? [:]
    if let number = names[name] { return number }
    guard names.count < most else { throw ServerError.tooManyNames(most) }
    memory.zones[zone]?.names[name] = UInt64(names.count + 1)
    return UInt64(names.count + 1)
  }

  func object(_ number: UInt64, zone: Int64) -> ObjectState {
    memory.zones[zone]?.objects[number] ?? ObjectState()
  }

  func set(_ number: UInt64, to state: ObjectState, zone: Int64) {
    memory.zones[zone]?.objects[number] = state
  }

  func name(_ number: UInt64, zone: Int64, sequence: UInt64, by replica: Int64) -> UInt64 {
    var state = object(number, zone: zone)
    state.name(sequence, by: replica)
    set(number, to: state, zone: zone)
    return state.deleted
  }

  // MARK: - Identities

  /// How many runs begin before an identity, or at it.
  private func place(of identity: UUID, zone: Int64) -> Int {
    let runs = memory.zones[zone]?.runs ?? []
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].first <= identity { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func run(atOrBefore identity: UUID, zone: Int64) -> KnownRun? {
    let place = place(of: identity, zone: zone)
    return place > 0 ? memory.zones[zone]?.runs[place - 1] : nil
  }

  func number(after identity: UUID, through last: UUID, zone: Int64) -> UInt64? {
    let (place, runs) = (place(of: identity, zone: zone), memory.zones[zone]?.runs ?? [])
    return place < runs.count && runs[place].first <= last ? runs[place].number : nil
  }

  func insert(_ run: KnownRun, zone: Int64) {
    let place = place(of: run.first, zone: zone)
    memory.zones[zone]?.runs.insert(run, at: place)
  }

  func hasTombstones(zone: Int64) -> Bool { memory.zones[zone]?.tombstones.isEmpty == false }

  func tombstones(
    from first: UUID, through last: UUID, after sequence: UInt64, zone: Int64
  ) -> [UInt64] {
    memory.zones[zone]?.tombstones.filter { first <= $0.key && $0.key <= last }.values
      .filter { $0 > sequence } ?? []
  }

  func bury(_ identity: UUID, sequence: UInt64, zone: Int64) {
    memory.zones[zone]?.tombstones[identity] = sequence
  }

  // MARK: - Unique keys

  func hasClaims(zone: Int64) -> Bool { memory.zones[zone]?.keys.isEmpty == false }

  func keys(of object: UInt64, zone: Int64) -> [(hash: Data, constraint: ZoneConstraint)] {
    memory.zones[zone]?.keys.filter { $0.value.object == object }
      .map { ($0.key, $0.value.constraint) } ?? []
  }

  func letGo(_ hash: Data, zone: Int64) { memory.zones[zone]?.keys[hash] = nil }

  func take(
    _ hash: Data, for object: UInt64, under constraint: ZoneConstraint, zone: Int64
  ) -> UInt64? {
    if let holder = memory.zones[zone]?.keys[hash] { return holder.object }
    memory.zones[zone]?.keys[hash] = (object, constraint)
    return nil
  }
}

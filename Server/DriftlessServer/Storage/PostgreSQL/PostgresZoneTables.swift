#if PostgreSQL
  import DriftlessProtocol
  import DriftlessSQLite
  import Foundation

  /// What the rules of a push read and write, in memory: read in bulk before the pushes of a transaction are looked at, and
  /// written in bulk after (`flush`). What was not foreseen is read when it is asked for.
  ///
  /// Whoever makes it holds the zone's row: nobody else changes what is of the zone until the transaction ends.
  final class PostgresZoneTables: ZoneTables {
    let connection: PostgresConnection
    /// Whether the transaction writes nothing, and nobody has taken the zone's row for it.
    let onlyReads: Bool
    /// The zone as it is with what was taken so far.
    private(set) var zone: ZoneRecord
    var numbers: PostgresZoneRow.Numbers
    /// Objects from here on are not in the database.
    private var firstNewObject: UInt64

    var replicas: [UUID: KnownReplica] = [:]
    var strangers: Set<UUID> = []
    var newReplicas: Set<UUID> = []
    var changedReplicas: Set<UUID> = []
    /// Those that were forgotten, and push again.
    var rememberedReplicas: Set<UUID> = []

    /// Places, and first object numbers, of entries that are in the database.
    var places: [UInt64: (first: UInt64, chain: LogChain)] = [:]
    var own: [Int64: (after: UInt64, entries: [OwnFrames.Frame])] = [:]
    var newEntries: [AppendedEntry] = []
    /// Large values that those name.
    var newUses: [(value: LargeValue, sequence: UInt64)] = []

    var names: [Data: UInt64] = [:]
    var newNames: Set<Data> = []

    var objects: [UInt64: ObjectState] = [:]
    var changedObjects: Set<UInt64> = []

    /// By an identity that was asked for: the run before it, in the database.
    var runsBefore: [UUID: KnownRun?] = [:]
    /// By an identity that was asked for: the run after it, in the database.
    var runsAfter: [UUID: KnownRun?] = [:]
    /// Runs that were inserted, ascending, a list a push.
    var newRuns: [[KnownRun]] = []

    /// The last entry whose change set may be gone; nil where it was not asked for.
    var knownFloor: UInt64?

    /// Whether parts of pushes to the zone wait beside the log.
    var hasStaged = false
    var stagedSums = StagedSums()

    var hasOldTombstones = false
    var newTombstones: [UUID: UInt64] = [:]

    var hasOldClaims = false
    /// By hash: who holds it; nil for nobody.
    var claims: [Data: Claim?] = [:]
    /// Hashes by the object that holds them. An object that is no key was not asked for yet.
    var claimsOfObject: [UInt64: Set<Data>] = [:]
    var changedClaims: Set<Data> = []

    /// How what the present push wrote is taken back, latest last.
    private var undo: [() -> Void] = []

    struct Claim: Equatable {
      let object: UInt64
      let rule: UInt64
      let constraint: ZoneConstraint
    }

    struct AppendedEntry {
      let entry: NewEntry
      let firstObject: UInt64
    }

    init(
      _ connection: PostgresConnection, _ row: PostgresZoneRow, onlyReads: Bool = false
    ) {
      self.onlyReads = onlyReads
      self.connection = connection
      zone = row.zone
      numbers = row.numbers
      firstNewObject = row.zone.nextObject
    }

    // MARK: - One push

    /// A push begins: what it writes can be taken back.
    func begin() {
      undo = []
      newRuns.append([])
    }

    /// Takes back all that was written since `begin`.
    func takeBack() {
      for step in undo.reversed() { step() }
      undo = []
      newRuns.removeLast()
      stagedSums.forget()
    }

    /// Writes what was taken, and holds none of it any more: parts of a push come one by one, however many there are. What is
    /// written is taken back with the transaction alone.
    func ready(for part: Push) throws {
      try flush()
      keepOwn()
      (undo, newEntries, newUses, newRuns, newNames) = ([], [], [], [], [])
      newReplicas = newReplicas.filter { replicas[$0]?.lastPush == 0 }
      (changedReplicas, rememberedReplicas) = ([], [])
      firstNewObject = zone.nextObject
      (objects, changedObjects) = ([:], [])
      (runsBefore, runsAfter, newTombstones) = ([:], [:], [:])
      (claims, claimsOfObject, changedClaims) = ([:], [:], [])
      begin()
      try load(for: [part])
    }

    /// Entries that are in the database from now on are known all the same.
    private func keepOwn() {
      for new in newEntries {
        let sequence = new.entry.sequence
        places[sequence] = (new.firstObject, new.entry.chain)
        own[new.entry.replica.id]?.entries.append(
          OwnFrames.Frame(
            sequence: sequence, firstObject: new.firstObject,
            count: new.entry.push.contents.newCount))
      }
    }

    /// Sets a value, and notes how to set it back.
    func change<Value>(
      _ path: ReferenceWritableKeyPath<PostgresZoneTables, Value>, to value: Value
    ) {
      let old = self[keyPath: path]
      undo.append { [unowned self] in self[keyPath: path] = old }
      self[keyPath: path] = value
    }

    /// Adds to a set, and notes how to take it out again.
    func add<Element: Hashable>(
      _ element: Element, to path: ReferenceWritableKeyPath<PostgresZoneTables, Set<Element>>
    ) {
      guard self[keyPath: path].insert(element).inserted else { return }
      undo.append { [unowned self] in self[keyPath: path].remove(element) }
    }

    /// Sets a value of a dictionary, and notes how to set it back.
    func set<Key: Hashable, Value>(
      _ key: Key, to value: Value,
      in path: ReferenceWritableKeyPath<PostgresZoneTables, [Key: Value]>
    ) {
      let old = self[keyPath: path].updateValue(value, forKey: key)
      undo.append { [unowned self] in self[keyPath: path][key] = old }
    }

    // MARK: - Zone

    func zone(named name: String) throws -> ZoneRecord? { zone.name == name ? zone : nil }

    func place(at sequence: UInt64, of zone: ZoneRecord) throws -> LogMark? {
      guard sequence <= zone.head else { return nil }
      if sequence == 0 { return Cursor.start(generation: zone.generation).mark }
      if sequence == zone.head { return LogMark(sequence: sequence, chain: zone.chain) }
      if let new = newEntry(sequence) {
        return LogMark(sequence: sequence, chain: new.entry.chain)
      }
      if places[sequence] == nil { try loadPlaces([sequence]) }
      return places[sequence].map { LogMark(sequence: sequence, chain: $0.chain) }
    }

    // MARK: - Log

    private func newEntry(_ sequence: UInt64) -> AppendedEntry? {
      guard let first = newEntries.first?.entry.sequence, sequence >= first,
        sequence - first < newEntries.count
      else { return nil }
      return newEntries[Int(sequence - first)]
    }

    func entry(of replica: KnownReplica, number: UInt64) throws -> KnownEntry? {
      let new = newEntries.last {
        $0.entry.replica.id == replica.id && $0.entry.push.number == number
      }
      if let new {
        return KnownEntry(
          sequence: new.entry.sequence, firstObjectNumber: new.firstObject,
          digest: new.entry.push.digest, chain: new.entry.chain)
      }
      let rows = try connection.run(
        """
        SELECT sequence, first_object, digest, chain FROM entry
        WHERE zone = $1 AND replica = $2 AND number = $3 ORDER BY sequence DESC LIMIT 1
        """, .integer(zone.id), .integer(replica.id), .integer(Int64(clamping: number)))
      guard rows.count > 0 else { return nil }
      return KnownEntry(
        sequence: rows.uint64(0, 0), firstObjectNumber: rows.uint64(0, 1),
        digest: rows.data(0, 2), chain: try PostgresZoneRow.chain(rows.data(0, 3)))
    }

    func ownFrames(of replica: KnownReplica, after sequence: UInt64) throws -> OwnFrames {
      guard sequence < zone.head else { return OwnFrames() }
      if own[replica.id].map({ $0.after > sequence }) ?? true {
        try loadOwn([(replica.id, sequence)])
      }
      let old = (own[replica.id]?.entries ?? []).filter { $0.sequence > sequence }
      let new = newEntries.filter {
        $0.entry.replica.id == replica.id && $0.entry.sequence > sequence
      }
      return OwnFrames(
        old
          + new.map {
            OwnFrames.Frame(
              sequence: $0.entry.sequence, firstObject: $0.firstObject,
              count: $0.entry.push.contents.newCount)
          })
    }

    func firstObject(of sequence: UInt64, zone: Int64) throws -> UInt64? {
      if let new = newEntry(sequence) { return new.firstObject }
      if places[sequence] == nil { try loadPlaces([sequence]) }
      return places[sequence]?.first
    }

    func floor(of zone: ZoneRecord) throws -> UInt64 {
      if let knownFloor { return knownFloor }
      let floor = try PostgresPurgedLog.floor(of: zone, on: connection)
      knownFloor = floor
      return floor
    }

    func append(_ entry: NewEntry, to zone: ZoneRecord) throws {
      newEntries.append(AppendedEntry(entry: entry, firstObject: zone.nextObject))
      undo.append { [unowned self] in newEntries.removeLast() }
      change(\.zone, to: zone.with(entry))
      let replica = entry.push.replica
      set(
        replica,
        to: KnownReplica(
          id: entry.replica.id, zone: zone.id, lastPush: entry.push.number,
          isForgotten: entry.replica.isForgotten), in: \.replicas)
      add(replica, to: \.changedReplicas)
    }

    // MARK: - Objects

    func property(_ name: String, zone: Int64, most: Int) throws -> UInt64 {
      try number(of: name, most: most)
    }

    /// The small number of a name, which is given out where there is none yet.
    private func number(of name: String, most: Int = .max) throws -> UInt64 {
      let bytes = Data(name.utf8)
      if names[bytes] == nil { try loadNames([bytes]) }
      if let number = names[bytes] { return number }
      guard numbers.nextName <= most else { throw ServerError.tooManyNames(most) }
      let number = UInt64(clamping: numbers.nextName)
      change(\.numbers.nextName, to: numbers.nextName + 1)
      set(bytes, to: number, in: \.names)
      add(bytes, to: \.newNames)
      return number
    }

    func object(_ number: UInt64, zone: Int64) throws -> ObjectState {
      if objects[number] == nil, number < firstNewObject { try loadObjects([number]) }
      return objects[number] ?? ObjectState()
    }

    func set(_ number: UInt64, to state: ObjectState, zone: Int64) throws {
      set(number, to: state, in: \.objects)
      add(number, to: \.changedObjects)
    }

    func name(_ number: UInt64, zone: Int64, sequence: UInt64, by replica: Int64) throws -> UInt64 {
      var state = try object(number, zone: zone)
      state.name(sequence, by: replica)
      try set(number, to: state, zone: zone)
      return state.deleted
    }

    // MARK: - Identities

    func run(atOrBefore identity: UUID, zone: Int64) throws -> KnownRun? {
      if runsBefore[identity] == nil { try loadRuns([identity]) }
      var best = runsBefore[identity] ?? nil
      for runs in newRuns {
        guard let run = runs.last(atOrBefore: identity) else { continue }
        if best.map({ $0.first.halves < run.first.halves }) ?? true { best = run }
      }
      return best
    }

    func number(after identity: UUID, through last: UUID, zone: Int64) throws -> UInt64? {
      if runsAfter[identity] == nil { try loadRuns([identity]) }
      if let run = runsAfter[identity] ?? nil, run.first.halves <= last.halves {
        return run.number
      }
      for runs in newRuns {
        if let run = runs.last(atOrBefore: last), run.first.halves > identity.halves {
          return run.number
        }
      }
      return nil
    }

    func insert(_ run: KnownRun, zone: Int64) throws {
      let last = newRuns.count - 1
      assert(last >= 0, "a push has begun")
      assert(
        newRuns[last].last.map { $0.first.halves < run.first.halves } ?? true,
        "runs of one push come in the order of their identities")
      newRuns[last].append(run)
    }

    func hasTombstones(zone: Int64) throws -> Bool { hasOldTombstones || !newTombstones.isEmpty }

    func tombstones(
      from first: UUID, through last: UUID, after sequence: UInt64, zone: Int64
    ) throws -> [UInt64] {
      var sequences: [UInt64] = []
      if hasOldTombstones {
        let rows = try connection.run(
          """
          SELECT identity, sequence FROM tombstone
          WHERE zone = $1 AND identity BETWEEN $2 AND $3 AND sequence > $4
          """, .integer(zone), .uuid(first), .uuid(last), .integer(Int64(clamping: sequence)))
        sequences = (0..<rows.count).filter { row in
          rows.uuid(row, 0).map { newTombstones[$0] == nil } ?? false
        }.map { rows.uint64($0, 1) }
      }
      let new = newTombstones.filter {
        $0.key.halves >= first.halves && $0.key.halves <= last.halves && $0.value > sequence
      }
      return sequences + new.values
    }

    func bury(_ identity: UUID, sequence: UInt64, zone: Int64) throws {
      set(identity, to: sequence, in: \.newTombstones)
    }

    // MARK: - Unique keys

    func hasClaims(zone: Int64) throws -> Bool { hasOldClaims || !changedClaims.isEmpty }

    func keys(of object: UInt64, zone: Int64) throws -> [(hash: Data, constraint: ZoneConstraint)] {
      try knowClaims(of: object)
      return (claimsOfObject[object] ?? []).compactMap { hash in
        guard let claim = claims[hash] ?? nil else { return nil }
        return (hash, claim.constraint)
      }
    }

    private func knowClaims(of object: UInt64) throws {
      guard claimsOfObject[object] == nil, object < firstNewObject else { return }
      try loadClaims(objects: [object], hashes: [])
    }

    func letGo(_ hash: Data, zone: Int64) throws {
      if claims[hash] == nil { try loadClaims(objects: [], hashes: [hash]) }
      guard let claim = claims[hash] ?? nil else { return }
      set(hash, to: nil, in: \.claims)
      add(hash, to: \.changedClaims)
      if var held = claimsOfObject[claim.object] {
        held.remove(hash)
        set(claim.object, to: held, in: \.claimsOfObject)
      }
    }

    func take(
      _ hash: Data, for object: UInt64, under constraint: ZoneConstraint, zone: Int64
    ) throws -> UInt64? {
      if claims[hash] == nil { try loadClaims(objects: [], hashes: [hash]) }
      if let holder = claims[hash] ?? nil { return holder.object }
      try knowClaims(of: object)
      let rule = try number(of: ConstraintText.of(constraint))
      set(
        hash, to: Claim(object: object, rule: rule, constraint: constraint), in: \.claims)
      add(hash, to: \.changedClaims)
      set(object, to: (claimsOfObject[object] ?? []).union([hash]), in: \.claimsOfObject)
      return nil
    }
  }

  extension ZoneRecord {
    /// The zone with one more entry.
    fileprivate func with(_ entry: NewEntry) -> ZoneRecord {
      let contents = entry.push.contents
      return ZoneRecord(
        id: id, name: name, zoneID: zoneID, generation: generation, parent: parent,
        intent: intent, replacements: replacements, formatLevel: formatLevel,
        head: entry.sequence, chain: entry.chain, nextObject: nextObject + contents.newCount,
        newestMilliseconds: max(newestMilliseconds, contents.newestMilliseconds), limits: limits,
        isPutBack: isPutBack)
    }
  }
#endif

import DriftlessSQLite
package import Foundation

#if canImport(Glibc)
  import Glibc
#endif

extension Backup {
  /// What becomes of zones that began anew after the backup was made: replicas know the later log.
  package enum RenewedZones: Sendable {
    /// They have the backup's log. Replicas that left it within a day wait for a person.
    case keep
    /// They begin anew once more, and replicas offer what they hold. What nobody but the backup has is gone.
    case renew
  }

  /// What becomes of zones that were deleted after the backup was made.
  package enum DeletedZones: Sendable {
    /// They stay away. The backup has them still.
    case leave
    /// They come back, with the tokens that they had.
    case restore
  }

  /// What is done about what cannot be read of the database that was there.
  package enum Unreadable: Sendable {
    /// It is as in the backup: tokens that were revoked since are valid again.
    case backup
    /// Zones and time are the backup's, and its tokens are revoked.
    case revoke
  }

  /// What an operator says of that about which nobody else can decide; nil refuses where it comes to that.
  package struct RestoreChoices: Sendable {
    package var renewedZones: RenewedZones?
    package var deletedZones: DeletedZones?
    package var unreadable: Unreadable?

    package init(
      renewedZones: RenewedZones? = nil, deletedZones: DeletedZones? = nil,
      unreadable: Unreadable? = nil
    ) {
      self.renewedZones = renewedZones
      self.deletedZones = deletedZones
      self.unreadable = unreadable
    }
  }

  /// What was put back.
  package struct Restored: Sendable {
    /// A zone that the backup knows by another name than its own of now.
    package struct Renaming: Sendable, Hashable {
      package let backup: String
      package let now: String
    }

    package let content: Content
    /// The database that was there before; nil where there was none.
    package let before: URL?
    /// Zones that began anew after the backup was made.
    package let renewedSince: [String]
    /// Zones that were made after it: their logs are empty until replicas bring them back.
    package let zonesMade: [String]
    package let zonesRenamed: [Renaming]
    /// Zones that were deleted after it, and stay away.
    package let zonesLeftOut: [String]
    /// Zones that were deleted after it, and come back.
    package let zonesBroughtBack: [String]
    /// Tokens that the backup did not have, or had otherwise.
    package let tokensKept: Int
    /// Tokens of the backup that are revoked now, since they were taken away or nobody can tell.
    package let tokensRevoked: Int
    /// What could not be read of the database that was there.
    package let unread: [String]
    /// Large values that the database which was there has and its log names, and that the backup lacks: replicas may have let go of
    /// theirs since. Nil where that cannot be told.
    package let lackedValues: NamedValues?
    /// The time that the server goes on from, and that of the backup. 0 for none.
    package let givenMilliseconds: Int64
    package let backupGivenMilliseconds: Int64
  }

  /// Puts the backup in the place of a folder's database, which is kept beside it.
  ///
  /// Zones keep their generations: replicas notice that the log is an older one, and bring back what it lacks. Which zones there
  /// are, their names, tokens and the server's time are those of the folder, as far as it can be read.
  ///
  /// - Throws: `ServerError`: `.locked` while a server has the folder, `.damagedDatabase` for a backup that is, and
  ///   `.renewedSince`, `.deletedSince` and `.unreadableDatabase` where it comes to what `choices` says nothing of.
  package func restore(
    to folder: DataFolder, _ choices: RestoreChoices = .init(), at now: Date = Date()
  ) throws -> Restored {
    try checkIsOneFile()
    let serving = try folder.lockForServing(
      suggestion: "Stop it first: it would go on from what it has in memory.")
    defer { serving.release() }
    let lock = try FileLock(folder.writeLock, .exclusive, waits: true)
    defer { lock?.release() }
    let former = try Former(folder)
    try check(former, choices, folder)
    let part = folder.databasePart
    Self.removeDatabase(part)
    defer { Self.removeDatabase(part) }
    let (content, given) = try take(into: part)
    let carried = try CarryOver.run(former, choices, of: file, into: part)
    DataFolder.giveToOwner(folder.url)
    let before = try former.moveAside(at: now)
    guard rename(part.path, folder.database.path) == 0 else { throw Self.failure(folder.database) }
    folder.noteDatabaseIsMade()
    Self.syncFolder(of: folder.database)
    let begunAnew = Set(carried.zonesLeftOut + carried.renewedSince)
    for zone in content.zones where begunAnew.contains(zone.name) {
      ZoneSnapshots(folder).forget(zone)
    }
    // Counted once all is in its place: it may take a while. One that cannot be read is why there is a backup.
    let lacked = before.flatMap { try? ValueFile.lacked(by: folder.database, of: $0) }
    return Restored(
      content: content, before: before, renewedSince: carried.renewedSince,
      zonesMade: carried.zonesMade, zonesRenamed: carried.zonesRenamed,
      zonesLeftOut: carried.zonesLeftOut, zonesBroughtBack: carried.zonesBroughtBack,
      tokensKept: carried.tokensKept, tokensRevoked: carried.tokensRevoked,
      unread: former.unread.map(\.rawValue).sorted(), lackedValues: lacked,
      givenMilliseconds: former.given > 0 ? former.given : given, backupGivenMilliseconds: given)
  }

  /// In silence a token that was revoked would be one again.
  private func check(
    _ former: Former, _ choices: RestoreChoices, _ folder: DataFolder
  ) throws {
    guard !former.unread.isEmpty, choices.unreadable == nil else { return }
    let parts = former.unread.map(\.rawValue).sorted().joined(separator: ", ")
    throw ServerError(
      .unreadableDatabase,
      "\(folder.database.path) cannot be read as to \(parts): what was revoked, deleted or renamed after the "
        + "backup is not known",
      suggestion:
        "Say what to do: --unreadable revoke revokes the backup's tokens, so that hosts need new "
        + "ones; --unreadable backup takes them as they were, those too that were revoked since.")
  }

  /// The backup as a database of this version, all of it read.
  ///
  /// - Returns: what it holds, and the last time that its server gave.
  func take(into part: URL) throws -> (content: Content, given: Int64) {
    try ServerError.opening(file.path, isBackup: true) {
      let source = try SQLiteConnection(path: file.path, mode: .immutable)
      defer { source.close() }
      try Self.copy(source, to: part)
    }
    let given = try ServerError.opening(file.path, isBackup: true) {
      let copy = try SQLiteConnection(path: part.path, mode: .readWrite)
      defer { copy.close() }
      try copy.execute("PRAGMA synchronous=FULL")
      try ServerSchema.apply(to: copy)
      return try GivenTimes.last(copy)
    }
    return (try Self.checked(part, named: file.path), given)
  }
}

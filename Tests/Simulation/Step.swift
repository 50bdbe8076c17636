/// One thing that happens in a simulation: to which replica, and which of its possibilities.
///
/// What a step does follows from its dice and from what is there when it comes, never from the
/// steps before it alone: so a trace can be made shorter, and what is left means nearly the same.
struct Step: Hashable, Sendable, CustomStringConvertible {
  enum Kind: String, Hashable, Sendable, CaseIterable {
    // What people do.
    /// One save with one to three changes.
    case save
    /// A person decides a conflict, or takes it back.
    case decide, undo
    /// What the server refused is tried again.
    case retry
    /// A person gives an object the key, the partner or the parent that one has on another replica.
    case take
    /// A person accepts what is set aside of the log.
    case accept
    /// A person gives up what the host has not sent.
    case giveUp
    /// A person sets a property with a conflict that waits.
    case hand
    /// A person deletes most of what there is.
    case deleteMany
    /// A person says that many deletes are meant, or keeps what is set aside.
    case allow, keepDeleted
    // What the engine is told to do.
    case sync, push, pull
    /// Two callers of one engine, whose replies come late.
    case twoCallers
    /// Several callers of one engine and one store, who want different things at once.
    case callers
    // What happens to a replica.
    case restart
    /// The process ends in the middle of a request.
    case crash
    case offline, online
    /// Requests arrive, answers do not.
    case deaf
    case backup, restore
    /// The database is put back, and not its log.
    case restoreMain
    /// A copy of the file goes on as a replica of its own.
    case clone
    /// The clock of the host takes a step, or is put right.
    case clock
    /// A replica of its own comes, with nothing of the zone.
    case join
    /// The program is replaced by one with the next version of the model.
    case upgrade
    /// A copy of the file sends what was unsent when it was made, while its original goes on with the same; or the file is
    /// put back to a copy after it was sent.
    case part
    /// The host's disk has no room for more, or has some again.
    case fillDisk, makeRoom
    /// A person, or the program, lets go of large values that the zone has, or fetches those that it has.
    case letGo, fetch
    /// The host's key file is gone, or is there again.
    case loseKey, findKey
    // What happens to the server.
    case backupServer, restoreServer, renewZone
    /// The server is put back to what it was before a host sent a key, which another one takes then.
    case lose
    /// The server adds up the zone's log.
    case fold
    /// The host's token is refused, or taken again.
    case revoke, admit
    /// A person lets a host come back to another log, which asked.
    case comeBack
    /// The server's disk has no room for more, or has some again.
    case fillServer, clearServer
    /// The operator shortens the zone's log.
    case purge
    /// The operator gives the zone another name.
    case renameZone
    /// A person enrolls the store: under the name that its zone has by now, or, away or out of it, with its own zone again.
    case enroll
    /// A person takes the store out of its zone, whatever was not sent.
    case unenroll
    /// A person has the store forget what it knows of its zone.
    case anew
    /// A person takes the store out of its zone and back, or has it begin anew, and it is there twice before it syncs.
    case twin
    /// A person enrolls the store with another zone of the same name, on another server.
    case visit
    /// An operator replaces the zone on purpose: what replicas hold is not wanted any more.
    case replaceZone
    /// The clock of its host is set, or is right again; half of the times it is started anew with that.
    case serverClock
    /// A program that follows the form and no rule pushes to the zone.
    case rogue
    /// The network is whole, and everybody syncs until nothing is left: then the laws are checked.
    case settle
  }

  var kind: Kind
  var replica: Int
  var dice: UInt64

  init(_ kind: Kind, _ replica: Int = 0, _ dice: UInt64 = 0) {
    self.kind = kind
    self.replica = replica
    self.dice = dice
  }

  /// As Swift.
  var description: String { "Step(.\(kind.rawValue), \(replica), \(dice))" }
}

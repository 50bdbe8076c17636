import DriftlessTesting
import Foundation

/// Which kinds of events a simulation has. Each is a switch, so that what is known to fail can be
/// looked at alone.
struct Scenario: Hashable, Sendable {
  /// The server's storage: SQLite files as the program has them, or the rules in memory.
  enum Server: Hashable, Sendable { case sqlite, memory }

  var name = "plain"
  var server = Server.memory
  var replicas = 3
  var steps = 60

  // The model.
  var hasDeleteRules = false
  var hasUniqueKeys = false
  var hasOneToOne = false
  var hasTrees = false
  var hasOrderedManyToMany = false
  /// Later hosts have the next version of the program.
  var hasModelVersions = false
  /// Whether that version has other names for a property and an entity.
  var hasRenames = false
  /// A third version, which renames the property once more and lists its first name.
  var renamesTwice = false
  /// Programs get later versions of the model at any moment, which have other defaults, lack an attribute or have it again;
  /// where all is well, all get the newest that there is.
  var hasMigrations = false
  /// Partners, parents and keys that objects must have; keys of which objects of several entities claim.
  var hasRequired = false
  /// Abstract entities, relationships without inverse, and delete rules that do nothing.
  var hasShapes = false
  /// Of those, bounds of how many.
  var hasCounts = false
  /// A one-to-one relationship that is its own inverse.
  var hasPairs = false
  /// A many-to-many relationship that is its own inverse.
  var hasOwnInverse = false
  /// Hosts of the first version have numbers of 16 bits where others have such of 64.
  var hasNarrowModels = false
  /// A rule of the app's own, which makes one value of two.
  var hasOwnRules = false
  /// Whether every entity is edited against deletes.
  var editsWin = false

  /// Whether a reference that a delete cut must be in a journal, and what is deleted stays so.
  var journalsCuts = false

  // The edits.
  /// Values of a small domain come again: "both sides have one value" (S3).
  var hasRepeatedValues = false
  /// Binary values of some bytes go by themselves.
  var hasLargeValues = false
  /// Every other host fetches them when somebody asks for them.
  var hasFirstUse = false
  /// Hosts let go of what they fetched.
  var letsValuesGo = false
  /// All hosts but the first one do, and nobody asks for them where all is quiet: the values are known by their names alone.
  var looksLate = false
  /// Whether what an edit brings back has to be where its delete had cut it. It does not hold in every seed so far.
  var looksForCuts = false
  /// How many quiet moments there are; 0 for one at the end, and in half of the runs one in the middle.
  var quiets = 0
  /// Identities from outside, which several replicas insert (S12).
  var hasGivenIdentities = false
  /// One such identity for objects of two entities (S22).
  var hasIdentityOfTwoEntities = false
  /// Counters near the bounds of their types (S8).
  var hasCounterBounds = false
  /// Every list has an order, and people move what is in it.
  var hasMoves = false
  /// Keys, partners and parents are set often, and given to others where they are taken elsewhere.
  var hasTakenKeys = false
  /// Where so many objects live, others are edited in place of new ones; 0 for any number.
  var objectsMax = 0

  // The network.
  var faults = FaultyTransport.Faults(
    lostRequests: 8, lostReplies: 8, duplicates: 6, lateRepeats: 4)
  /// Percent of requests with a bit flipped on the way.
  var flippedBits = 0
  /// Percent of requests during which something else happens: a save, another replica's sync.
  var interludes = 15
  /// Words that the server refuses for a while.
  var hasRefusals = false

  // The hosts.
  var hasTwoCallers = false
  /// Up to five callers of one engine and one store, who want different things.
  var hasManyCallers = false
  /// Processes end between any two commits of a sync.
  var crashesBetweenCommits = false
  var hasCrashes = true
  var hasStoreRestores = false
  var hasMainRestores = false
  var hasClones = false
  /// Steps of clocks up to so many milliseconds; 0 for clocks that go nearly right.
  var clockSteps: Int64 = 0
  /// How much faster or slower than time each host's clock runs at most, in millionths.
  var clockDrift: Int64 = 0
  /// Hosts give up what they have not sent, and take the zone's state.
  var hasGivenUp = false
  /// People set what waits for a person, whatever way, also while a sync is under way.
  var hasHands = false
  /// Hosts have no key for a while, until all is well.
  var hasLostKeys = false
  var hasServerRestores = false
  /// The server adds up its log, and new replicas come.
  var hasJoins = false
  /// The log of the zone is shortened; of a server with files.
  var hasPurges = false
  var hasZoneRenewals = false
  var hasZoneReplacements = false
  /// The zone's operator gives it other names, and stores are enrolled under them, also while an engine is at work.
  var hasZoneRenames = false
  /// Stores are enrolled with another zone of the same name, and with theirs again, also while an engine is at work.
  var hasVisits = false
  /// Stores leave their zone and come back to it, or forget what they knew of it.
  var hasLeaves = false
  /// Stores come back to their zone, and are copied or put back before they have read its log again.
  var hasTwins = false
  /// Steps of the server's clock up to so many milliseconds.
  var serverClockSteps: Int64 = 0
  var hasRogue = false
  /// Programs of a later version push what this one does not know.
  var hasNewerPrograms = false
  /// The operator takes hosts their tokens for a while.
  var hasRevocations = false
  /// Some hosts ask a person before they come back to another log.
  var asksWhenDiverged = false
  var hasDecisions = true
  /// People delete most of what there is, and are asked whether they mean it.
  var hasMassDeletes = false
  /// Hosts and the server have no room for more for a while.
  var hasFullDisks = false
  /// People accept what is set aside of the log.
  var hasAccepts = false
  /// Entries come to some hosts with a byte that is another one, until all is well.
  var hasDamagedEntries = false
  /// What befalls the server befalls it between two requests of one sync as well.
  var hasServerInterludes = false
  /// The zone is replaced on purpose while a host that came back to another log asks once more what the zone is.
  var isReplacedBetween = false
  /// Hosts keep no more than a few entries of the log.
  var keepsFewEntries = false

  /// Transactions of more objects go in parts.
  var partObjectsMax = Int.max

  /// The scenario as a seed lives through it: in every other pair, or in all where the environment has
  /// `DRIFTLESS_PARTS`, ordinary transactions go in parts. Where it has `DRIFTLESS_CUTS`, what an edit brings back is looked at
  /// in each.
  func lived(by seed: UInt64) -> Scenario {
    var scenario = self
    let isForAll = ProcessInfo.processInfo.environment["DRIFTLESS_PARTS"] != nil
    if isForAll || seed / 2 % 2 == 0 { scenario.partObjectsMax = 2 }
    if ProcessInfo.processInfo.environment["DRIFTLESS_CUTS"] != nil { scenario.looksForCuts = true }
    return scenario
  }

  /// The steps of a seed.
  func steps(seed: UInt64) -> [Step] {
    var generator = SeededGenerator(seed: seed &* 0x2545_F491_4F6C_DD1D &+ 7)
    let weights = self.weights
    let total = weights.reduce(0) { $0 + $1.weight }
    var steps: [Step] = []
    for index in 0..<self.steps {
      var pick = Int(generator.next() % UInt64(total))
      var kind = Step.Kind.save
      for entry in weights {
        pick -= entry.weight
        if pick < 0 {
          kind = entry.kind
          break
        }
      }
      let replica = Int(generator.next() % UInt64(replicas))
      steps.append(Step(kind, replica, generator.next() % 1_000_000))
      // Half of the runs have a quiet moment in the middle, after which nobody knows more than others.
      if quiets > 0 {
        if (index + 1) % (self.steps / quiets) == 0, index + 1 < self.steps {
          steps.append(Step(.settle))
        }
      } else if index == self.steps / 2, seed % 2 == 0 {
        steps.append(Step(.settle))
      }
    }
    steps.append(Step(.settle))
    return steps
  }

  private var weights: [(kind: Step.Kind, weight: Int)] {
    var weights: [(kind: Step.Kind, weight: Int)] = [
      (.save, 55), (.sync, 22), (.push, 4), (.pull, 4), (.restart, 2), (.offline, 3), (.deaf, 1),
      (.online, 4),
    ]
    func add(_ kind: Step.Kind, _ weight: Int, when isOn: Bool) {
      if isOn { weights.append((kind, weight)) }
    }
    add(.crash, 3, when: hasCrashes)
    add(.decide, 2, when: hasDecisions)
    add(.undo, 2, when: hasDecisions)
    add(.retry, 2, when: hasRefusals)
    add(.twoCallers, 6, when: hasTwoCallers)
    add(.callers, 8, when: hasManyCallers)
    add(.crash, 10, when: crashesBetweenCommits)
    add(.revoke, 4, when: hasRevocations)
    add(.admit, 3, when: hasRevocations)
    add(.comeBack, 4, when: asksWhenDiverged)
    add(.backup, 3, when: hasStoreRestores || hasMainRestores)
    add(.restoreMain, 3, when: hasMainRestores)
    add(.restore, 3, when: hasStoreRestores)
    add(.clone, 2, when: hasClones)
    add(.fold, 5, when: hasJoins)
    add(.join, 3, when: hasJoins)
    add(.purge, 6, when: hasPurges)
    add(.clock, 5, when: clockSteps > 0)
    add(.backupServer, 3, when: hasServerRestores)
    add(.restoreServer, 3, when: hasServerRestores)
    add(.serverClock, 4, when: serverClockSteps > 0)
    add(.renewZone, 2, when: hasZoneRenewals)
    add(.replaceZone, 2, when: hasZoneReplacements)
    add(.renameZone, 3, when: hasZoneRenames)
    add(.enroll, 6, when: hasZoneRenames || hasVisits || hasLeaves)
    add(.visit, 3, when: hasVisits)
    add(.unenroll, 3, when: hasLeaves)
    add(.anew, 2, when: hasLeaves)
    add(.twin, 8, when: hasTwins)
    add(.rogue, 4, when: hasRogue || hasNewerPrograms)
    add(.upgrade, 2, when: hasModelVersions)
    add(.upgrade, 1, when: hasNarrowModels)
    add(.upgrade, 5, when: hasMigrations)
    add(.take, 6, when: hasTakenKeys)
    add(.lose, 8, when: hasServerRestores && (hasTakenKeys || hasAccepts && hasNarrowModels))
    add(.part, 6, when: (hasMoves || hasOwnRules) && (hasClones || hasStoreRestores))
    add(.accept, 4, when: hasAccepts)
    add(.giveUp, 3, when: hasGivenUp)
    add(.hand, 6, when: hasHands)
    add(.deleteMany, 5, when: hasMassDeletes)
    add(.allow, 3, when: hasMassDeletes)
    add(.keepDeleted, 3, when: hasMassDeletes)
    add(.fillDisk, 6, when: hasFullDisks)
    add(.makeRoom, 5, when: hasFullDisks)
    add(.fillServer, 4, when: hasFullDisks)
    add(.clearServer, 4, when: hasFullDisks)
    add(.loseKey, 4, when: hasLostKeys)
    add(.findKey, 3, when: hasLostKeys)
    add(.letGo, 8, when: letsValuesGo)
    add(.fetch, 6, when: letsValuesGo)
    return weights
  }
}

import DriftlessTesting
import Foundation
import Testing

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
  /// A many-to-many relationship that is its own inverse.
  var hasOwnInverse = false

  /// Whether a reference that a delete cut must be in a journal, and what is deleted stays so.
  var journalsCuts = false

  // The edits.
  /// Values of a small domain come again: "both sides have one value" (S3).
  var hasRepeatedValues = false
  /// Identities from outside, which several replicas insert (S12).
  var hasGivenIdentities = false
  /// One such identity for objects of two entities (S22).
  var hasIdentityOfTwoEntities = false
  /// Counters near the bounds of their types (S8).
  var hasCounterBounds = false

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
  var hasCrashes = true
  var hasStoreRestores = false
  var hasMainRestores = false
  var hasClones = false
  /// Steps of clocks up to so many milliseconds; 0 for clocks that go nearly right.
  var clockSteps: Int64 = 0
  var hasServerRestores = false
  /// The server adds up its log, and new replicas come.
  var hasJoins = false
  var hasZoneRenewals = false
  var hasZoneReplacements = false
  /// The zone's operator gives it other names, and stores are enrolled under them, also while an engine is at work.
  var hasZoneRenames = false
  /// Stores are enrolled with another zone of the same name, and with theirs again, also while an engine is at work.
  var hasVisits = false
  /// Steps of the server's clock up to so many milliseconds.
  var serverClockSteps: Int64 = 0
  var hasRogue = false
  var hasDecisions = true

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
      if index == self.steps / 2, seed % 2 == 0 { steps.append(Step(.settle)) }
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
    add(.backup, 3, when: hasStoreRestores || hasMainRestores)
    add(.restoreMain, 3, when: hasMainRestores)
    add(.restore, 3, when: hasStoreRestores)
    add(.clone, 2, when: hasClones)
    add(.fold, 5, when: hasJoins)
    add(.join, 3, when: hasJoins)
    add(.clock, 5, when: clockSteps > 0)
    add(.backupServer, 3, when: hasServerRestores)
    add(.restoreServer, 3, when: hasServerRestores)
    add(.serverClock, 4, when: serverClockSteps > 0)
    add(.renewZone, 2, when: hasZoneRenewals)
    add(.replaceZone, 2, when: hasZoneReplacements)
    add(.renameZone, 3, when: hasZoneRenames)
    add(.enroll, 6, when: hasZoneRenames || hasVisits)
    add(.visit, 3, when: hasVisits)
    add(.rogue, 4, when: hasRogue)
    add(.upgrade, 2, when: hasModelVersions)
    return weights
  }
}

extension Scenario: CustomTestStringConvertible {
  var testDescription: String { name }

  /// Every scenario that must hold, or the one that the environment names.
  static var all: [Scenario] {
    let wanted = ProcessInfo.processInfo.environment["DRIFTLESS_SCENARIO"]
    guard let wanted else { return standing }
    return (standing + combined).filter { wanted == "all" || $0.name == wanted }
  }

  private static func make(_ name: String, _ change: (inout Scenario) -> Void) -> Scenario {
    var scenario = Scenario()
    scenario.name = name
    change(&scenario)
    return scenario
  }

  /// Several kinds of bad luck at once.
  static let combined: [Scenario] = [
    make("both restored") {
      $0.server = .sqlite
      $0.hasStoreRestores = true
      $0.hasServerRestores = true
    },
    make("clones of restored servers") {
      $0.server = .sqlite
      $0.hasClones = true
      $0.hasServerRestores = true
    },
    make("joining clones of restored servers") {
      $0.server = .sqlite
      $0.hasJoins = true
      $0.hasClones = true
      $0.hasServerRestores = true
    },
    make("clones in renewed zones") {
      $0.server = .sqlite
      $0.hasClones = true
      $0.hasZoneRenewals = true
    },
    make("clocks and restored servers") {
      $0.server = .sqlite
      $0.clockSteps = 1_600_000_000_000
      $0.hasServerRestores = true
    },
    make("model versions in renewed zones") {
      $0.server = .sqlite
      $0.hasModelVersions = true
      $0.hasZoneRenewals = true
    },
    make("given identities in renewed zones") {
      $0.server = .sqlite
      $0.hasGivenIdentities = true
      $0.hasZoneRenewals = true
    },
  ]

  /// What holds, and runs in the gate.
  static let standing: [Scenario] = [
    make("plain") { _ in },
    make("files") { $0.server = .sqlite },
    make("cut references") { $0.journalsCuts = true },
    make("repeated values") { $0.hasRepeatedValues = true },
    make("delete rules") { $0.hasDeleteRules = true },
    make("one-to-one") { $0.hasOneToOne = true },
    make("trees") { $0.hasTrees = true },
    make("ordered many-to-many") { $0.hasOrderedManyToMany = true },
    make("given identities") { $0.hasGivenIdentities = true },
    make("counter bounds") { $0.hasCounterBounds = true },
    make("two callers") { $0.hasTwoCallers = true },
    make("clocks") { $0.clockSteps = 1_600_000_000_000 },
    make("server clocks") {
      $0.server = .sqlite
      $0.serverClockSteps = 200_000_000_000
    },
    make("all clocks") {
      $0.server = .sqlite
      $0.serverClockSteps = 1_600_000_000_000
      $0.clockSteps = 200_000_000
    },
    make("flipped bits") { $0.flippedBits = 4 },
    make("refusals") { $0.hasRefusals = true },
    make("refused keys") {
      $0.hasRefusals = true
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
    },
    make("rogue") { $0.hasRogue = true },
    make("keys") { $0.hasUniqueKeys = true },
    make("own inverse") { $0.hasOwnInverse = true },
    make("identities of two entities") {
      $0.hasGivenIdentities = true
      $0.hasIdentityOfTwoEntities = true
    },
    make("model versions") { $0.hasModelVersions = true },
    make("renamed properties") {
      $0.hasModelVersions = true
      $0.hasRenames = true
    },
    make("joining") {
      $0.server = .sqlite
      $0.hasJoins = true
    },
    make("joining with keys and rules") {
      $0.hasJoins = true
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
      $0.hasDeleteRules = true
      $0.hasTrees = true
      $0.hasOrderedManyToMany = true
    },
    make("joining renewed zones") {
      $0.hasJoins = true
      $0.hasGivenIdentities = true
      $0.hasZoneRenewals = true
    },
    make("joining restored servers") {
      $0.server = .sqlite
      $0.hasJoins = true
      $0.hasServerRestores = true
    },
    make("catching up") {
      $0.hasJoins = true
      $0.hasClones = true
      $0.hasStoreRestores = true
      $0.hasRepeatedValues = true
    },
    make("restored server") { $0.hasServerRestores = true },
    make("restored files") {
      $0.server = .sqlite
      $0.hasServerRestores = true
    },
    make("restored stores") { $0.hasStoreRestores = true },
    make("restored databases alone") { $0.hasMainRestores = true },
    make("clones") { $0.hasClones = true },
    make("renewed zone") { $0.hasZoneRenewals = true },
    make("replaced zone") {
      $0.server = .sqlite
      $0.hasZoneRenewals = true
      $0.hasZoneReplacements = true
    },
    make("keys and restored servers") {
      $0.server = .sqlite
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
      $0.hasServerRestores = true
    },
    make("delete rules and restored servers") {
      $0.server = .sqlite
      $0.hasDeleteRules = true
      $0.hasTrees = true
      $0.hasServerRestores = true
    },
    make("cloned keys") {
      $0.server = .sqlite
      $0.hasClones = true
      $0.hasUniqueKeys = true
    },
    make("restored keys") {
      $0.server = .sqlite
      $0.hasStoreRestores = true
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
    },
    make("renamed zone") {
      $0.server = .sqlite
      $0.hasZoneRenames = true
    },
    make("visited zone") { $0.hasVisits = true },
    make("everything") {
      $0.server = .sqlite
      $0.journalsCuts = true
      $0.hasDeleteRules = true
      $0.hasOneToOne = true
      $0.hasTrees = true
      $0.hasOrderedManyToMany = true
      $0.hasRepeatedValues = true
      $0.hasTwoCallers = true
      $0.flippedBits = 2
      $0.hasRefusals = true
    },
  ]
}

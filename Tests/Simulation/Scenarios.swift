import Foundation
import Testing

extension Scenario: CustomTestStringConvertible {
  var testDescription: String { name }

  /// Every scenario that must hold, or the one that the environment names.
  static var all: [Scenario] {
    let wanted = ProcessInfo.processInfo.environment["DRIFTLESS_SCENARIO"]
    guard let wanted else { return standing + lettingGo }
    return (standing + lettingGo + combined).filter { wanted == "all" || $0.name == wanted }
  }

  static func make(_ name: String, _ change: (inout Scenario) -> Void) -> Scenario {
    var scenario = Scenario()
    scenario.name = name
    change(&scenario)
    return scenario
  }

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
    make("large values") { $0.hasLargeValues = true },
    make("large values in files") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasJoins = true
      $0.flippedBits = 2
    },
    make("large values on first use") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasFirstUse = true
      $0.hasJoins = true
      $0.hasDeleteRules = true
      $0.flippedBits = 2
    },
    make("large values on first use, of restored servers in renewed zones") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasFirstUse = true
      $0.hasRepeatedValues = true
      $0.hasJoins = true
      $0.hasServerRestores = true
      $0.hasZoneRenewals = true
    },
    make("large values in renewed zones") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasZoneRenewals = true
    },
    make("large values of restored servers") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasServerRestores = true
    },
    make("large values of restored servers and stores") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasServerRestores = true
      $0.hasStoreRestores = true
    },
    make("large values of restored servers in renewed zones") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasJoins = true
      $0.hasServerRestores = true
      $0.hasZoneRenewals = true
    },
    make("large values of purged logs") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasRepeatedValues = true
      $0.hasJoins = true
      $0.hasPurges = true
      $0.hasServerRestores = true
    },
    make("counter bounds") { $0.hasCounterBounds = true },
    make("two callers") { $0.hasTwoCallers = true },
    make("clocks") { $0.clockSteps = 1_600_000_000_000 },
    make("drifting clocks") {
      $0.server = .sqlite
      $0.clockDrift = 50_000
    },
    make("hands") {
      $0.hasHands = true
      $0.objectsMax = 8
      $0.hasRepeatedValues = true
    },
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
    make("purged") {
      $0.server = .sqlite
      $0.hasJoins = true
      $0.hasPurges = true
    },
    make("purged restored servers") {
      $0.server = .sqlite
      $0.hasJoins = true
      $0.hasPurges = true
      $0.hasServerRestores = true
    },
    make("purged with clones and restored stores") {
      $0.server = .sqlite
      $0.hasJoins = true
      $0.hasPurges = true
      $0.hasClones = true
      $0.hasStoreRestores = true
      $0.hasRepeatedValues = true
    },
    make("purged with keys and rules") {
      $0.server = .sqlite
      $0.hasJoins = true
      $0.hasPurges = true
      $0.hasUniqueKeys = true
      $0.hasDeleteRules = true
      $0.hasTrees = true
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
    make("left zone") { $0.hasLeaves = true },
    make("left for another zone") {
      $0.hasLeaves = true
      $0.hasVisits = true
    },
    make("moves") { $0.hasMoves = true },
    make("moves of clones") {
      $0.hasMoves = true
      $0.hasOrderedManyToMany = true
      $0.hasClones = true
    },
    make("moves of restored stores") {
      $0.hasMoves = true
      $0.hasOrderedManyToMany = true
      $0.hasStoreRestores = true
    },
    make("moves and restored servers") {
      $0.hasMoves = true
      $0.hasServerRestores = true
    },
    make("lost keys") {
      $0.hasTakenKeys = true
      $0.objectsMax = 12
      $0.editsWin = true
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
      $0.hasTrees = true
      $0.hasServerRestores = true
    },
    make("narrow models") {
      $0.hasNarrowModels = true
      $0.hasTakenKeys = true
      $0.objectsMax = 12
    },
    make("narrow models of restored stores") {
      $0.hasNarrowModels = true
      $0.hasTakenKeys = true
      $0.objectsMax = 12
      $0.hasUniqueKeys = true
      $0.hasClones = true
      $0.hasStoreRestores = true
    },
    make("accepted values") {
      $0.replicas = 4
      $0.hasNarrowModels = true
      $0.objectsMax = 16
      $0.hasServerRestores = true
      $0.hasAccepts = true
    },
    make("accepted values and catching up") {
      $0.hasNarrowModels = true
      $0.hasModelVersions = true
      $0.hasAccepts = true
      $0.hasJoins = true
      $0.hasStoreRestores = true
    },
    make("rules of one's own") {
      $0.hasOwnRules = true
      $0.objectsMax = 10
      $0.hasClones = true
      $0.hasStoreRestores = true
    },
    make("replaced while coming back") {
      $0.hasTakenKeys = true
      $0.objectsMax = 12
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
      $0.hasTrees = true
      $0.hasServerRestores = true
      $0.isReplacedBetween = true
      $0.keepsFewEntries = true
    },
    make("given up") {
      $0.hasGivenUp = true
      $0.hasGivenIdentities = true
    },
    make("renamed twice") {
      $0.hasModelVersions = true
      $0.hasRenames = true
      $0.renamesTwice = true
    },
    make("required") {
      $0.hasRequired = true
      $0.hasDeleteRules = true
      $0.objectsMax = 16
    },
    make("required and joining") {
      $0.server = .sqlite
      $0.hasRequired = true
      $0.hasDeleteRules = true
      $0.hasJoins = true
      $0.hasPurges = true
      $0.objectsMax = 16
    },
    make("pairs") {
      $0.hasPairs = true
      $0.objectsMax = 10
    },
    make("pairs and joining") {
      $0.server = .sqlite
      $0.hasPairs = true
      $0.hasJoins = true
      $0.hasPurges = true
      $0.objectsMax = 10
    },
    make("pairs and restored servers") {
      $0.hasPairs = true
      $0.hasServerRestores = true
      $0.objectsMax = 10
    },
    make("lost and found keys") { $0.hasLostKeys = true },
    make("clones and restored stores in renewed zones") {
      $0.server = .sqlite
      $0.hasClones = true
      $0.hasStoreRestores = true
      $0.hasZoneRenewals = true
      $0.hasRepeatedValues = true
    },
    make("mass deletes") { $0.hasMassDeletes = true },
    make("mass deletes of clones and restored stores") {
      $0.hasMassDeletes = true
      $0.hasClones = true
      $0.hasStoreRestores = true
    },
    make("full disks") {
      $0.server = .sqlite
      $0.hasFullDisks = true
      $0.hasLargeValues = true
    },
    make("many callers") {
      $0.server = .sqlite
      $0.hasManyCallers = true
      $0.hasUniqueKeys = true
    },
    make("ends between commits") {
      $0.crashesBetweenCommits = true
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
    },
    make("newer programs") { $0.hasNewerPrograms = true },
    make("operators") {
      $0.server = .sqlite
      $0.hasRevocations = true
      $0.asksWhenDiverged = true
      $0.hasServerRestores = true
      $0.hasZoneRenewals = true
    },
    make("shapes") {
      $0.hasShapes = true
      $0.hasOneToOne = true
    },
    make("counts") {
      $0.hasShapes = true
      $0.hasCounts = true
      $0.hasDeleteRules = true
      $0.objectsMax = 12
    },
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

/// Scenarios that run by name.
extension Scenario {
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
    make("large values, whatever happens") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasRepeatedValues = true
      $0.hasJoins = true
      $0.hasPurges = true
      $0.hasClones = true
      $0.hasServerRestores = true
      $0.hasStoreRestores = true
      $0.hasZoneRenewals = true
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
    make("clocks and purged restored servers") {
      $0.server = .sqlite
      $0.clockSteps = 1_600_000_000_000
      $0.hasJoins = true
      $0.hasClones = true
      $0.hasPurges = true
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
    make("migrations") { $0.hasMigrations = true },
    make("required of restored servers") {
      $0.hasRequired = true
      $0.hasDeleteRules = true
      $0.hasServerRestores = true
      $0.objectsMax = 16
    },
    make("required of clones and restored stores") {
      $0.hasRequired = true
      $0.hasDeleteRules = true
      $0.hasClones = true
      $0.hasStoreRestores = true
      $0.objectsMax = 16
    },
    make("required in renewed zones") {
      $0.hasRequired = true
      $0.hasDeleteRules = true
      $0.hasZoneRenewals = true
      $0.objectsMax = 16
    },
    make("pairs of clones and restored stores") {
      $0.hasPairs = true
      $0.hasClones = true
      $0.hasStoreRestores = true
      $0.objectsMax = 10
    },
    make("pairs in renewed zones") {
      $0.hasPairs = true
      $0.hasZoneRenewals = true
      $0.objectsMax = 10
    },
    make("migrations of restored stores") {
      $0.hasMigrations = true
      $0.hasClones = true
      $0.hasStoreRestores = true
    },
    make("migrations and restored servers") {
      $0.hasMigrations = true
      $0.hasJoins = true
      $0.hasServerRestores = true
    },
    make("ends between commits, joining and restored") {
      $0.server = .sqlite
      $0.crashesBetweenCommits = true
      $0.hasJoins = true
      $0.hasPurges = true
      $0.hasServerRestores = true
    },
    make("ordered many-to-many of purged logs") {
      $0.server = .sqlite
      $0.hasOrderedManyToMany = true
      $0.hasMoves = true
      $0.hasJoins = true
      $0.hasPurges = true
      $0.objectsMax = 16
    },
    make("shapes with rules and keys") {
      $0.server = .sqlite
      $0.hasShapes = true
      $0.hasDeleteRules = true
      $0.hasUniqueKeys = true
      $0.hasJoins = true
      $0.objectsMax = 16
    },
    make("shapes of clones and restored stores") {
      $0.hasShapes = true
      $0.hasClones = true
      $0.hasStoreRestores = true
      $0.objectsMax = 16
    },
    make("shapes and restored servers") {
      $0.server = .sqlite
      $0.hasShapes = true
      $0.hasServerRestores = true
      $0.hasPurges = true
      $0.hasJoins = true
      $0.objectsMax = 16
    },
    make("mass deletes and restored servers") {
      $0.server = .sqlite
      $0.hasMassDeletes = true
      $0.hasJoins = true
      $0.hasServerRestores = true
    },
    make("mass deletes in renewed zones") {
      $0.hasMassDeletes = true
      $0.hasZoneRenewals = true
    },
    make("full disks of clones and restored stores") {
      $0.hasFullDisks = true
      $0.hasClones = true
      $0.hasStoreRestores = true
    },
    make("full disks and restored servers") {
      $0.server = .sqlite
      $0.hasFullDisks = true
      $0.hasLargeValues = true
      $0.hasJoins = true
      $0.hasServerRestores = true
    },
    make("accepted entries") {
      $0.hasDamagedEntries = true
      $0.hasAccepts = true
      $0.hasServerRestores = true
    },
    make("servers put back between requests") {
      $0.hasTakenKeys = true
      $0.objectsMax = 12
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
      $0.hasTrees = true
      $0.hasServerRestores = true
      $0.hasServerInterludes = true
      $0.keepsFewEntries = true
      $0.interludes = 25
    },
    make("large values that hosts have by their names, in renewed zones") {
      $0.server = .sqlite
      $0.hasLargeValues = true
      $0.hasFirstUse = true
      $0.looksLate = true
      $0.hasRepeatedValues = true
      $0.hasZoneRenewals = true
    },
    make("twins of stores that came back") {
      $0.hasLeaves = true
      $0.hasTwins = true
      $0.objectsMax = 10
    },
    make("what came back") {
      $0.looksForCuts = true
      $0.editsWin = true
      $0.quiets = 5
      $0.objectsMax = 10
    },
    make("twins in renewed zones") {
      $0.hasTwins = true
      $0.hasZoneRenewals = true
      $0.hasClones = true
      $0.objectsMax = 10
    },
    make("left zone with keys and rules") {
      $0.hasLeaves = true
      $0.hasUniqueKeys = true
      $0.hasOneToOne = true
      $0.hasDeleteRules = true
      $0.hasTrees = true
      $0.hasOrderedManyToMany = true
      $0.hasGivenIdentities = true
    },
  ]
}

extension Scenario {
  /// Hosts whose disks are full let go of what the zone has.
  static let lettingGo: [Scenario] = [
    make("large values that go on full disks") {
      $0.server = .sqlite
      $0.hasFullDisks = true
      $0.hasLargeValues = true
      $0.hasFirstUse = true
      $0.letsValuesGo = true
    }
  ]
}

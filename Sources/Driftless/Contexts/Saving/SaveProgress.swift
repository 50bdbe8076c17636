/// How far a context's save is, what was asked for meanwhile, and what new objects became that gave way.
///
/// The steps of a save are `begin`, `beginWriting`, `beginWritingObjects`, `endWritingObjects`, `didWrite`, `endWriting`,
/// `end`; one into the parent has no `beginWriting` and `endWriting`, for it takes no store's lock. From `didWrite` on objects
/// are told, and may save again: those steps lie within the last ones of the first save.
struct SaveProgress {
  /// Whether a save goes on, until it has written, or objects are told that they go: nobody else may save.
  private(set) var isSaving = false
  /// Whether a save decides by the newest state of the stores, until the context has gone on to what it wrote.
  private(set) var isWriting = false
  /// Whether a save is writing its objects. What merge policies and objects' methods do meanwhile must not take them from
  /// it.
  private(set) var isWritingObjects = false
  /// How many saves observers are being told of, one within the other.
  private var tellingDepth = 0
  /// Objects are told that they go; a reset waits for that.
  private(set) var isDismissing = false
  private var isResetDue = false
  /// What was asked for meanwhile and refused: the save fails with it.
  private var refusal: ObjectError?
  /// What was asked for while a save into the parent went on, and is done after it, in its order.
  private var postponed: [(ManagedObjectContext) -> Void] = []
  /// Why work may write nothing to the stores by itself; nil where it may.
  private(set) var writeRefusal: ObjectError?
  /// What new objects became that gave way to another under a uniqueness constraint, by temporary key. A save that fails
  /// later leaves references to them.
  private var successors: [Int64: ManagedObject] = [:]

  // MARK: Steps

  mutating func begin() {
    assert(!isSaving, "a context is saved once at a time")
    isSaving = true
  }

  mutating func beginWriting() {
    assert(isSaving, "who writes has begun to save")
    isWriting = true
    refusal = nil
  }

  mutating func beginWritingObjects() {
    assert(isSaving && !isWritingObjects, "objects are written once, within a save")
    isWritingObjects = true
  }

  mutating func endWritingObjects() {
    assert(isWritingObjects, "what ends has begun")
    isWritingObjects = false
  }

  /// All is written, and the objects are what the stores have.
  mutating func didWrite() {
    assert(!isWritingObjects, "objects are told of a save when they are written")
    isSaving = false
  }

  mutating func endWriting() { isWriting = false }

  /// Whether observers are being told of a save. One that saves again without changes is told of no other: it would save again.
  var isTelling: Bool { tellingDepth > 0 }

  mutating func beginTelling() { tellingDepth += 1 }

  mutating func endTelling() {
    assert(isTelling, "what ends has begun")
    tellingDepth -= 1
  }

  mutating func end() {
    assert(!isWritingObjects, "no save ends while it writes")
    isSaving = false
  }

  // MARK: Asked for meanwhile

  mutating func refuse(_ error: ObjectError) { refusal = error }

  mutating func postpone(_ body: @escaping (ManagedObjectContext) -> Void) {
    postponed.append(body)
  }

  mutating func takePostponed() -> [(ManagedObjectContext) -> Void] {
    defer { postponed = [] }
    return postponed
  }

  /// What was refused since the save began to write.
  mutating func takeRefusal() -> ObjectError? {
    defer { refusal = nil }
    return refusal
  }

  /// Work may write nothing to the stores from now on, or may again.
  mutating func refuseWrites(_ error: ObjectError?) { writeRefusal = error }

  // MARK: Objects that go

  /// Objects are told that they go, and may not save.
  ///
  /// - Returns: What `endDismissing` gets: an object that is told may let others go.
  mutating func beginDismissing() -> (isSaving: Bool, isDismissing: Bool) {
    defer { (isSaving, isDismissing) = (true, true) }
    return (isSaving, isDismissing)
  }

  mutating func endDismissing(_ before: (isSaving: Bool, isDismissing: Bool)) {
    assert(isSaving && isDismissing, "what ends has begun")
    (isSaving, isDismissing) = before
  }

  /// Has the context reset when no object is told any more.
  mutating func postponeReset() {
    assert(isDismissing, "a reset waits for objects that are told")
    isResetDue = true
  }

  /// Whether a reset was asked for and nothing keeps it any more; once.
  mutating func takeDueReset() -> Bool {
    guard isResetDue, !isDismissing else { return false }
    isResetDue = false
    return true
  }

  // MARK: Objects that gave way

  /// The keys of those that gave way since the last save.
  var formerKeys: Dictionary<Int64, ManagedObject>.Keys { successors.keys }

  /// Takes note of what a new object became.
  mutating func note(_ successor: ManagedObject, of temporaryKey: Int64) {
    assert(temporaryKey < 0, "what gives way is new")
    successors[temporaryKey] = successor
  }

  /// The last of those that gave way one to the other.
  func successor(of temporaryKey: Int64) -> ManagedObject? {
    var last = successors[temporaryKey]
    while let next = last, next.key < 0, let further = successors[next.key] { last = further }
    return last
  }

  mutating func forgetSuccessors() { successors = [:] }
}

/// Takes changes back, and does them again: Foundation has none of this on Linux.
///
/// A change registers how to take it back; changes that belong together stand in a group. While a group is undone, what
/// its handlers register becomes the group that does it again.
///
/// ```swift
/// let undo = UndoManager()
/// context.undoManager = undo
/// book.title = "x"
/// context.undo()
/// ```
///
/// A context registers its changes by itself; an application may add its own with ``registerUndo(withTarget:handler:)``.
/// It is used where the context is.
public final class UndoManager {
  /// How many groups are kept; the oldest go first. 0 keeps all.
  public var levelsOfUndo = 0 {
    didSet { trim() }
  }
  /// Whether a change outside of a group opens one, which ``endEvent()`` closes: the context does at the end of each
  /// event (``ManagedObjectContext/processPendingChanges()``). Without it such a change is not registered.
  public var groupsByEvent = true
  /// Whether ``undo()`` runs.
  public private(set) var isUndoing = false
  /// Whether ``redo()`` runs.
  public private(set) var isRedoing = false

  private struct Group {
    var actions: [() -> Void] = []
    var name = ""
  }

  private var undoGroups: [Group] = []
  private var redoGroups: [Group] = []
  /// Groups that are open, the outermost first.
  private var open: [Group] = []
  private var isEventOpen = false
  private var disabledCount = 0

  /// A manager with nothing to take back.
  public init() {}

  // MARK: Registering

  /// Whether changes are registered.
  public var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

  /// Registers nothing until ``enableUndoRegistration()`` was called as often.
  public func disableUndoRegistration() { disabledCount += 1 }

  /// Takes one ``disableUndoRegistration()`` back.
  public func enableUndoRegistration() { disabledCount = max(0, disabledCount - 1) }

  /// Registers how to take a change back. The target is held.
  public func registerUndo<Target: AnyObject>(
    withTarget target: Target, handler: @escaping (Target) -> Void
  ) {
    register { handler(target) }
  }

  func register(_ action: @escaping () -> Void) {
    guard isUndoRegistrationEnabled else { return }
    if open.isEmpty {
      guard groupsByEvent else { return }
      isEventOpen = true
      open.append(Group())
    }
    open[open.count - 1].actions.append(action)
    if !isUndoing, !isRedoing { redoGroups = [] }
  }

  // MARK: Groups

  /// How many groups are open, an event's own included.
  public var groupingLevel: Int { open.count }

  /// Opens a group: what is registered until ``endUndoGrouping()`` is taken back at once.
  public func beginUndoGrouping() {
    // A group of the application's stands inside the event's.
    if open.isEmpty, groupsByEvent, !isUndoing, !isRedoing {
      isEventOpen = true
      open.append(Group())
    }
    open.append(Group())
  }

  /// Closes the innermost group. Without an open one it does nothing.
  public func endUndoGrouping() {
    guard open.count > (isEventOpen ? 1 : 0), let group = open.popLast() else { return }
    close(group)
  }

  /// Closes the event's group. While a group of the application's is open in it, the event's stays open too: what
  /// belongs together may be spread over several events.
  public func endEvent() {
    guard isEventOpen, open.count == 1, let group = open.popLast() else { return }
    isEventOpen = false
    close(group)
  }

  private func closeAll() {
    isEventOpen = false
    while let group = open.popLast() { close(group) }
  }

  private func close(_ group: Group) {
    guard !group.actions.isEmpty else { return }
    if let outer = open.indices.last {
      open[outer].actions += group.actions
      if !group.name.isEmpty { open[outer].name = group.name }
    } else if isUndoing {
      redoGroups.append(group)
    } else {
      undoGroups.append(group)
      trim()
    }
  }

  private func trim() {
    if levelsOfUndo > 0, undoGroups.count > levelsOfUndo {
      undoGroups.removeFirst(undoGroups.count - levelsOfUndo)
    }
  }

  // MARK: Undoing

  /// Whether there is something to take back.
  public var canUndo: Bool { !undoGroups.isEmpty || open.contains { !$0.actions.isEmpty } }
  /// Whether there is something to do again.
  public var canRedo: Bool { !redoGroups.isEmpty }

  /// Takes the last group back, the open ones included.
  public func undo() {
    guard !isUndoing, !isRedoing else { return }
    closeAll()
    guard let group = undoGroups.popLast() else { return }
    isUndoing = true
    run(group)
    isUndoing = false
  }

  /// Does again what the last ``undo()`` took back. A change in between leaves nothing to do again.
  public func redo() {
    guard !isUndoing, !isRedoing else { return }
    closeAll()
    guard let group = redoGroups.popLast() else { return }
    isRedoing = true
    run(group)
    isRedoing = false
  }

  private func run(_ group: Group) {
    open.append(Group(actions: [], name: group.name))
    for action in group.actions.reversed() { action() }
    if let opposite = open.popLast() { close(opposite) }
  }

  /// Forgets everything, and closes all groups.
  public func removeAllActions() {
    undoGroups = []
    redoGroups = []
    open = []
    isEventOpen = false
  }

  // MARK: Names

  /// What the last group does, for a menu; empty when nobody named it.
  public var undoActionName: String {
    open.first { !$0.name.isEmpty }?.name ?? undoGroups.last?.name ?? ""
  }
  /// What would be done again, for a menu; empty when nobody named it.
  public var redoActionName: String { redoGroups.last?.name ?? "" }

  /// Names the group that is open, or else the last one.
  public func setActionName(_ name: String) {
    if let inner = open.indices.last {
      open[inner].name = name
    } else if let last = undoGroups.indices.last {
      undoGroups[last].name = name
    }
  }
}

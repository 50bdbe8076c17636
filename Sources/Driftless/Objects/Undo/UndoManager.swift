public import Foundation

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
    var steps: [Step] = []
    var name = ""

    /// Without what was registered with a target.
    func without(_ target: ObjectIdentifier) -> Group {
      var rest = self
      rest.steps = steps.compactMap { step in
        switch step {
        case .action(let owner, _): return owner == target ? nil : step
        case .group(let group):
          let inner = group.without(target)
          return inner.steps.isEmpty ? nil : .group(inner)
        }
      }
      return rest
    }

    func run() {
      for step in steps.reversed() {
        switch step {
        case .action(_, let action): action()
        case .group(let group): group.run()
        }
      }
    }
  }

  private enum Step {
    /// The target is held by the action.
    case action(ObjectIdentifier?, () -> Void)
    case group(Group)
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
    register(for: ObjectIdentifier(target)) { handler(target) }
  }

  func register(for target: ObjectIdentifier? = nil, _ action: @escaping () -> Void) {
    guard isUndoRegistrationEnabled else { return }
    let beginsEvent = open.isEmpty
    if beginsEvent {
      guard groupsByEvent else { return }
      isEventOpen = true
      open.append(Group())
    }
    open[open.count - 1].steps.append(.action(target, action))
    if !isUndoing, !isRedoing { redoGroups = [] }
    // Told last: who hears of it may end the event.
    if beginsEvent { post(.didOpenGroup) }
  }

  // MARK: Groups

  /// How many groups are open, an event's own included.
  public var groupingLevel: Int { open.count }

  /// Opens a group: what is registered until ``endUndoGrouping()`` is taken back at once.
  public func beginUndoGrouping() {
    post(.checkpoint)
    // A group of the application's stands inside the event's.
    if open.isEmpty, groupsByEvent, !isUndoing, !isRedoing {
      isEventOpen = true
      openGroup()
    }
    openGroup()
  }

  private func openGroup(_ name: String = "") {
    open.append(Group(name: name))
    post(.didOpenGroup)
  }

  /// Closes the innermost group. Without an open one it does nothing.
  public func endUndoGrouping() {
    guard open.count > (isEventOpen ? 1 : 0) else { return }
    post(.checkpoint)
    closeLast()
  }

  private func closeLast() {
    post(.willCloseGroup)
    guard let group = open.popLast() else { return }
    close(group)
    post(.didCloseGroup)
  }

  /// Closes the event's group. While a group of the application's is open in it, the event's stays open too: what
  /// belongs together may be spread over several events.
  public func endEvent() {
    guard isEventOpen, open.count == 1 else { return }
    isEventOpen = false
    closeLast()
  }

  private func closeAll() {
    isEventOpen = false
    while !open.isEmpty { closeLast() }
  }

  private func close(_ group: Group) {
    guard !group.steps.isEmpty else { return }
    if let outer = open.indices.last {
      open[outer].steps.append(.group(group))
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
  public var canUndo: Bool { !undoGroups.isEmpty || open.contains { !$0.steps.isEmpty } }
  /// Whether there is something to do again.
  public var canRedo: Bool { !redoGroups.isEmpty }

  /// Takes the last group back, the open ones included.
  public func undo() {
    guard !isUndoing, !isRedoing else { return }
    post(.checkpoint)
    closeAll()
    guard let group = undoGroups.popLast() else { return }
    takeBack(group)
  }

  /// Takes the group back that was closed last: within the open one, where one is open, which stays open. Does nothing where
  /// a change was registered in the open group after that.
  public func undoNestedGroup() {
    guard !isUndoing, !isRedoing else { return }
    post(.checkpoint)
    guard let inner = open.indices.last else {
      if let group = undoGroups.popLast() { takeBack(group) }
      return
    }
    guard case .group(let group)? = open[inner].steps.last else { return }
    open[inner].steps.removeLast()
    // What handlers do ends their own event, and not the one that stays open here.
    let outer = (open, isEventOpen)
    (open, isEventOpen) = ([], false)
    takeBack(group)
    (open, isEventOpen) = outer
  }

  private func takeBack(_ group: Group) {
    post(.willUndo)
    isUndoing = true
    run(group)
    isUndoing = false
    post(.didUndo)
  }

  /// Does again what the last ``undo()`` took back. A change in between leaves nothing to do again.
  public func redo() {
    guard !isUndoing, !isRedoing else { return }
    post(.checkpoint)
    closeAll()
    guard let group = redoGroups.popLast() else { return }
    post(.willRedo)
    isRedoing = true
    run(group)
    isRedoing = false
    post(.didRedo)
  }

  private func run(_ group: Group) {
    openGroup(group.name)
    group.run()
    closeLast()
  }

  /// Forgets everything, closes all groups, and lets changes be registered again, however often that was disabled.
  public func removeAllActions() {
    disabledCount = 0
    undoGroups = []
    redoGroups = []
    open = []
    isEventOpen = false
  }

  /// Forgets what was registered with a target, in open groups too.
  public func removeAllActions(withTarget target: AnyObject) {
    let target = ObjectIdentifier(target)
    open = open.map { $0.without(target) }
    undoGroups = undoGroups.map { $0.without(target) }.filter { !$0.steps.isEmpty }
    redoGroups = redoGroups.map { $0.without(target) }.filter { !$0.steps.isEmpty }
  }

  // MARK: Notifications

  private enum Moment {
    case checkpoint, didOpenGroup, willCloseGroup, didCloseGroup, willUndo, didUndo, willRedo
    case didRedo

    var name: Notification.Name {
      switch self {
      case .checkpoint: UndoManager.checkpointNotification
      case .didOpenGroup: UndoManager.didOpenGroupNotification
      case .willCloseGroup: UndoManager.willCloseGroupNotification
      case .didCloseGroup: UndoManager.didCloseGroupNotification
      case .willUndo: UndoManager.willUndoChangeNotification
      case .didUndo: UndoManager.didUndoChangeNotification
      case .willRedo: UndoManager.willRedoChangeNotification
      case .didRedo: UndoManager.didRedoChangeNotification
      }
    }
  }

  private func post(_ moment: Moment) {
    NotificationCenter.default.post(name: moment.name, object: self)
  }

  /// A group is about to be opened or closed, or something about to be taken back or done again.
  public static let checkpointNotification = Notification.Name(
    "NSUndoManagerCheckpointNotification")
  /// A group was opened.
  public static let didOpenGroupNotification = Notification.Name(
    "NSUndoManagerDidOpenUndoGroupNotification")
  /// A group is about to be closed.
  public static let willCloseGroupNotification = Notification.Name(
    "NSUndoManagerWillCloseUndoGroupNotification")
  /// A group was closed.
  public static let didCloseGroupNotification = Notification.Name(
    "NSUndoManagerDidCloseUndoGroupNotification")
  /// A group is about to be taken back.
  public static let willUndoChangeNotification = Notification.Name(
    "NSUndoManagerWillUndoChangeNotification")
  /// A group was taken back.
  public static let didUndoChangeNotification = Notification.Name(
    "NSUndoManagerDidUndoChangeNotification")
  /// A group is about to be done again.
  public static let willRedoChangeNotification = Notification.Name(
    "NSUndoManagerWillRedoChangeNotification")
  /// A group was done again.
  public static let didRedoChangeNotification = Notification.Name(
    "NSUndoManagerDidRedoChangeNotification")

  // MARK: Names

  /// What the last group does, for a menu; empty when nobody named it.
  public var undoActionName: String {
    open.first { !$0.name.isEmpty }?.name ?? undoGroups.last?.name ?? ""
  }
  /// What would be done again, for a menu; empty when nobody named it.
  public var redoActionName: String { redoGroups.last?.name ?? "" }

  /// What a menu says for ``undo()``: `Undo`, and the name of what it takes back.
  public var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }
  /// What a menu says for ``redo()``: `Redo`, and the name of what it does again.
  public var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }

  /// `Undo`, and the name of an action where it has one.
  public func undoMenuTitle(forUndoActionName actionName: String) -> String {
    actionName.isEmpty ? "Undo" : "Undo \(actionName)"
  }

  /// `Redo`, and the name of an action where it has one.
  public func redoMenuTitle(forUndoActionName actionName: String) -> String {
    actionName.isEmpty ? "Redo" : "Redo \(actionName)"
  }

  /// Names the group that is open, or else the last one.
  public func setActionName(_ name: String) {
    if let inner = open.indices.last {
      open[inner].name = name
    } else if let last = undoGroups.indices.last {
      undoGroups[last].name = name
    }
  }
}

import Driftless

/// The merge table for objects: a delete on one side against what the other side did.
enum DeleteTable {
  /// What this replica did to the object and has not pushed.
  enum Local: Hashable, Sendable {
    case nothing, edit, delete
    /// Made again here after a delete, or kept against one: it waits to be pushed whole.
    case remade
  }
  /// What the zone's log says.
  enum Remote: Hashable, Sendable { case edit, delete, revive }

  /// What becomes of the object here.
  enum Settlement: Hashable, Sendable {
    /// The remote change applies, property by property.
    case apply
    /// The object is deleted here; the local edits go to the journal.
    case deleteHere
    /// The object stays and is pushed whole, as a revival.
    case keepAndRevive
    /// The object stays deleted, and the delete stays pending on the remote edit, which goes to the
    /// journal.
    case keepDeleted
    /// The object comes back from its grave, then the remote change applies.
    case bringBack
    /// Both sides deleted it: nothing is pending.
    case bothDeleted
  }

  static func settle(local: Local, remote: Remote, policy: DeletePolicy) -> Settlement {
    switch (local, remote, policy) {
    // CONFLICT: none: nothing is pending here.
    // RESOLUTION: the remote change applies.
    case (.nothing, .edit, _), (.nothing, .revive, _): .apply
    case (.nothing, .delete, _): .deleteHere
    // CONFLICT: both sides edited.
    // RESOLUTION: property by property.
    case (.edit, .edit, _), (.edit, .revive, _): .apply
    // CONFLICT: made again here, while another replica edits or revives what was there.
    // RESOLUTION: property by property.
    case (.remade, .edit, _), (.remade, .revive, _): .apply
    // CONFLICT: made again here, deleted by another replica.
    // RESOLUTION: the delete meant what was there before; the object stays and is pushed whole.
    case (.remade, .delete, _): .keepAndRevive
    // CONFLICT: edited here, deleted by another replica.
    // RESOLUTION: the delete stands; what was edited here goes to the journal.
    case (.edit, .delete, .deleteWins): .deleteHere
    // CONFLICT: edited here, deleted by another replica.
    // RESOLUTION: the edit stands; the whole object is pushed again, with the references to it.
    case (.edit, .delete, .editWins): .keepAndRevive
    // CONFLICT: deleted here, edited by another replica.
    // RESOLUTION: the delete stands and is pushed; the remote edit goes to the journal.
    case (.delete, .edit, .deleteWins): .keepDeleted
    // CONFLICT: deleted here, edited by another replica.
    // RESOLUTION: the object comes back as it was, with the remote edit; the delete is not pushed.
    case (.delete, .edit, .editWins): .bringBack
    // CONFLICT: deleted on both sides.
    // RESOLUTION: it is gone, and nothing is pending.
    case (.delete, .delete, _): .bothDeleted
    // CONFLICT: deleted here while another replica brought it back from an earlier delete.
    // RESOLUTION: as an edit against a delete.
    case (.delete, .revive, .deleteWins): .keepDeleted
    case (.delete, .revive, .editWins): .bringBack
    }
  }
}

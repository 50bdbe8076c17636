import Driftless

extension PushSelection {
  /// What a model between had not, and the one of now has again, was edited here without what the zone has of it. It waits until
  /// that was read (`SyncEngine.takeAnew`), and meets it: sent before, it would stand over what others edited, without a word.
  mutating func leaveOutUnmet(
    of sendable: inout PendingSet, _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws {
    let notes = try ModelMeaning.Notes(transaction)
    guard !notes.gone.isEmpty else { return }
    let returned = try ModelMeaning.of(schema, transaction.schema)
      .change(of: schema, since: ModelMeaning.load(transaction), notes).returned
    var waiting: [ObjectKey: PropertyMask] = [:]
    for (key, object) in returned.isEmpty ? PendingObjects() : sendable.objects
    where object.whole == .none {
      guard let entity = schema.entity(numbered: key.entity), let names = returned[entity.name]
      else { continue }
      let slots = entity.properties.filter {
        names.contains(PlaceName.property(ofPlace: $0.name) ?? $0.name)
      }.map(\.slot)
      var mask = PropertyMask(slots)
      mask.formIntersection(object.properties)
      if !mask.isEmpty { waiting[key] = mask }
    }
    omit(waiting)
    for (key, mask) in waiting { sendable.update(key) { $0.clear(mask) } }
  }
}

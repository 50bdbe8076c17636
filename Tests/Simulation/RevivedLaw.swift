import Foundation

/// What somebody deleted and an edit of another brings back is where everybody knew it: in the sets, and at the ends of the
/// references, from which its delete had cut it. Else a journal says so.
struct RevivedLaw {
  let image: Image
  let traits: Traits
  let ledger: Ledger
  let names: (UUID) -> String

  func check() -> [Failure] {
    guard let (known, moment) = ledger.shared else { return [] }
    let back = Set(
      ledger.lives.filter { id, life in
        life.lastDelete.map { $0.moment > moment } == true && isPlain(id) && known.things[id] != nil
      }.keys)
    guard !back.isEmpty else { return [] }
    var failures: [Failure] = []
    for (source, thing) in known.things where isPlain(source) && ledger.lives[source]?.deletes == 0
    {
      for (property, value) in thing.values {
        guard let kind = traits.kind(thing.entity, property) else { continue }
        let place = Ledger.Place(object: source, property: property)
        for target in Image.identities(in: value)
        where back.contains(target) && isUntouched(place, target, kind, since: moment)
          && !isTaken(target, property, since: moment)
        {
          let now = image.value(source, property)
          guard !Image.identities(in: now).contains(target),
            !ledger.journaledLately.contains(place)
          else { continue }
          failures.append(
            Failure(
              law: "revived",
              text: "\(names(target)) is back, and not in \(names(source)).\(property), "
                + "which nobody took it out of"))
        }
      }
    }
    return failures
  }

  /// Whether an object lives of which the laws can say what people did to it.
  private func isPlain(_ id: UUID) -> Bool {
    guard image.things[id] != nil, !ledger.fuzzy.contains(id), let life = ledger.lives[id] else {
      return false
    }
    return life.inserts == 1 && !life.isExcused && !traits.isKeyed(life.entity)
  }

  /// Whether somebody gave a partner to another object since all was quiet: it has one alone.
  private func isTaken(_ target: UUID, _ property: String, since moment: Int) -> Bool {
    traits.oneToOne.contains { $0.property == property }
      && ledger.edits.contains {
        $0.moment > moment && $0.place.property == property
          && Image.identities(in: $0.after).contains(target)
      }
  }

  /// Whether nobody said anything of it since all was quiet.
  private func isUntouched(
    _ place: Ledger.Place, _ target: UUID, _ kind: Traits.Kind, since moment: Int
  ) -> Bool {
    switch kind {
    case .attribute, .echo: false
    case .reference:
      !(ledger.editsAt[place] ?? []).contains { ledger.edits[$0].moment > moment }
    case .elements:
      !(ledger.elements[place]?[Image.text(of: target)] ?? []).contains { $0.moment > moment }
    }
  }
}

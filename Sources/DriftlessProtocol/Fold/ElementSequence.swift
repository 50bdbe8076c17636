/// The order of a set that says its whole sequence: what a row names stands behind what it does not name, as far as it is in
/// the set; what it removes goes.
///
/// Who wrote the row knew no more than what lives: what it leaves unnamed is deleted, and stands first from then on, in its order.
/// A row over two rows is again such a row, so it does not matter where a log is cut: that is why a deleted element has no place
/// among those that a later row names. `GatheredElements` follows the same rule at the cost of what each row says.
package enum ElementSequence {
  package static func after<Element: Hashable>(
    _ former: [Element], adding added: [Element], removing removed: [Element]
  ) -> [Element] {
    var named = Set(removed)
    named.formUnion(added)
    var known: Set<Element> = []
    // Of one that is named twice the last place counts.
    let last = added.reversed().filter { known.insert($0).inserted }
    return former.filter { !named.contains($0) } + last.reversed()
  }
}

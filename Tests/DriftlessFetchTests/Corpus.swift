import Driftless
import Foundation

/// Predicates on `LibraryData`'s books that mean the same in memory and in the store.
enum Corpus {
  static let scalars = [
    "title == 'ROSA'", "title ==[c] 'rosa'", "title ==[cd] 'ea'", "title ==[d] 'Ea'",
    "title != 'ROSA'", "title !=[c] 'rosa'", "title < 'a'", "title >= 'é'", "title <[c] 'J'",
    "title == nil", "title != nil", "nil == title", "title == ''", "'ROSA' == title",
    "pages == 503", "pages > 503", "pages >= 503.0", "pages < 502.5", "pages == 502.5",
    "pages > 9.3e18", "pages < -9.3e18", "pages != 1", "pages BETWEEN {1, 503}",
    "pages BETWEEN {0.5, 503}", "NOT pages BETWEEN {1, 503}", "pages > nil",
    "pages == 9223372036854775807",
    "price == 12.3", "price == CAST('12.30', 'Decimal')", "price > 12.3", "price < 0",
    "price > CAST('12345678901234567890.122', 'Decimal')",
    "price < CAST('12345678901234567890.1230001', 'Decimal')", "price <= 0.1",
    "price < CAST('-12345678901234567890.4', 'Decimal')", "price > weight", "weight < price",
    "price == pages * 100", "price * 2 > 20", "price IN {0, 12.3, 100}", "price BETWEEN {0, 100}",
    "weight > CAST('0.1', 'Decimal')", "weight == 0.1", "weight > 1e299", "weight < 0",
    "weight == 0", "weight == pages", "isRead == YES", "isRead == NO", "isRead != YES",
    "isRead == 1", "isRead == nil", "isRead > 0",
    "published < CAST(0, 'NSDate')", "published == CAST(0, 'NSDate')",
    "published >= CAST(-300000000.5, 'NSDate')", "published + 1 == CAST(0, 'NSDate')",
    "published - CAST(0, 'NSDate') == 2", "published < now()",
    "published BETWEEN {CAST(-1, 'NSDate'), CAST(2, 'NSDate')}",
    "cover == CAST('9wD/', 'Data')", "cover != nil", "cover > CAST('BwD/', 'Data')",
    "isbn == CAST('F7010203-0405-0607-0809-000000000001', 'UUID')", "isbn == 'nonsense'",
    "isbn > CAST('F0010203-0405-0607-0809-000000000001', 'UUID')",
    "isbn IN {CAST('F7010203-0405-0607-0809-000000000001', 'UUID')}",
    "link == 'https://example.com/247'", "link CONTAINS '/1'",
  ]

  static let texts = [
    "title CONTAINS 'o'", "title CONTAINS ''", "title CONTAINS[c] 'NOME'", "title CONTAINS[cd] 'E'",
    "title BEGINSWITH 'Il'", "title BEGINSWITH[c] 'iL'", "title BEGINSWITH ''",
    "title BEGINSWITH 'é'", "title BEGINSWITH[d] 'E'", "title BEGINSWITH[cd] 'é'",
    "title ENDSWITH 'rosa'", "title ENDSWITH[c] 'rosa'", "title ENDSWITH 'TABLE'",
    "title LIKE 'Il *'", "title LIKE '?OSA'", "title LIKE[c] 'r*a'", "title LIKE 'a\\*b\\?c*'",
    "title LIKE '*'", "title LIKE[cd] 'ea'", "NOT title LIKE '*o*'", "title MATCHES 'Il.*'",
    "title MATCHES[c] '(rosa|il nome).*'", "title MATCHES '.*\\\\d'", "title MATCHES[d] 'Ea.*'",
    "uppercase:(title) == 'ROSA'", "uppercase:(title) CONTAINS 'SS'", "lowercase:(title) == 'rosa'",
    "canonical:(title) == 'ea'", "length:(title) == 4", "length:(title) > 6", "'o' IN title",
    "title IN {'ROSA', 'straße', ''}", "title IN[c] {'rosa', 'STRASSE'}", "title IN {'ROSA', nil}",
    "NOT title IN {'ROSA'}", "title IN {}", "NOT title IN {}", "title == author.name",
    "author.name CONTAINS title", "title BEGINSWITH author.name", "title CONTAINS '\u{0}'",
  ]

  static let numbers = [
    "pages + 1 == 504", "pages * 2 > 1000", "pages / 2 == 251", "pages / 2.0 == 251.5",
    "pages / 0 == nil", "0 - pages == 7", "-pages > 0", "abs:(pages) == 7", "abs:(weight) < 1",
    "modulus:by:(pages, 10) == 3", "modulus:by:(pages, -1) == 0", "pages + 1 > 9.2e18",
    "pages - pages == 0", "pages * pages > 1e18", "weight * 2 + 1 >= 2.5", "price / 2 == 50",
    "weight > pages", "pages > author.born", "pages IN {503, 7, nil}", "NOT pages IN {503, 7, nil}",
    "pages IN {503, 7.0, 0.5}", "pages IN {author.born, 503}", "503 IN {pages, 1}",
    "TRUEPREDICATE", "FALSEPREDICATE", "NOT TRUEPREDICATE", "1 == 1", "1 == 2", "nil == nil",
    "pages > 1 AND title != 'x'", "pages > 1 OR title != 'x'", "NOT (pages > 1 OR weight > 0)",
    "NOT (pages > 1 AND weight > 0)", "NOT NOT pages > 1",
    "floor:(weight) == 0", "ceiling:(weight) == 1", "trunc:(weight) == 0", "sqrt:(pages) > 20",
    "ln:(pages) > 1", "log:(pages) < 2", "exp:(weight) > 1", "raise:toPower:(weight, 2) > 1",
    "bitwiseAnd:with:(pages, 1) == 1", "bitwiseOr:with:(pages, 1) == 503",
    "bitwiseXor:with:(pages, 503) == 0", "leftshift:by:(pages, 1) == 14",
    "rightshift:by:(pages, 1) == 251", "onesComplement:(pages) < 0", "floor:(price) == 12",
    "pages == 0x1F7", "pages == 0b111", "pages == 0o7", "noindex:(pages) == 503",
    "TERNARY(pages > 500, 'long', 'short') == 'long'", "TERNARY(weight > 1, pages, 0) > 1",
    "TERNARY(title == nil, nil, title) == 'ROSA'", "TERNARY(isRead == YES, price, 0) > 12",
    "TERNARY(pages > 500, author.name, editor.name) CONTAINS[c] 'e'", "{pages, 1}[FIRST] == 503",
    "{1, pages}[LAST] == 503", "{1, pages, 2}[1] == 503", "{1}[5] == nil",
  ]

  static let relationships = [
    "author == nil", "author != nil", "author.name == nil", "author.name != nil",
    "author.name == 'eco'", "author.name ==[cd] 'umberto eco'", "author.born > 1900",
    "NOT author.born > 1900", "author.born == editor.born", "author == editor", "author != editor",
    "author.books.@count > 1", "author.books.@count == 0", "tags.@count == 0", "tags.@count > 1",
    "tags[SIZE] == 3", "ANY tags.name == 'novel'", "ANY tags.name ==[c] 'novel'",
    "ANY tags.name ==[cd] 'ete'", "ALL tags.name == 'novel'", "ALL tags.name != nil",
    "NONE tags.name == 'novel'", "NONE tags.name == nil", "SOME tags.name BEGINSWITH 'n'",
    "ANY tags.name IN {'novel', 'x'}", "ANY tags.name BETWEEN {'a', 'o'}",
    "NOT ANY tags.name == 'novel'",
    "ALL tags.name CONTAINS[cd] 'e'", "ALL tags.name MATCHES '.*e.*'",
    "ANY author.books.title == 'ROSA'", "ALL author.books.pages > 500",
    "ANY author.books.tags.name == 'été'", "author.books.tags.@count > 2",
    "author.books.@sum.pages > 1000", "author.books.@avg.pages < 600",
    "author.books.@max.pages == 503",
    "author.books.@min.title == 'Il nome della rosa'", "author.books.@max.price > 1000",
    "author.books.@min.price < 12.31", "author.books.@sum.price > 50", "tags.@max.name == nil",
    "author.books.@sum.weight == 2.25", "author.books.@max.published == nil",
    "SUBQUERY(tags, $t, $t.name == 'novel').@count == 1",
    "SUBQUERY(author.books, $b, $b.pages > pages).@count == 1",
    "SUBQUERY(author.books, $b, $b == SELF).@count == 1",
    "SUBQUERY(author.books, $b, ANY $b.tags.name == 'novel').@count > 0",
    "SUBQUERY(author.books, $b, SUBQUERY($b.tags, $t, $t.name == $b.title).@count == 0).@count > 1",
    "SUBQUERY(author.books, $b, $b.author.born == 1932).@count > 0",
    "SUBQUERY(author.books.editor, $e, $e.born > 1900).@count > 0",
    "SUBQUERY(author.books, $b, $b.pages > 1).@max.pages == 680",
    "SELF IN author.books", "author.books CONTAINS SELF", "editor.books CONTAINS SELF",
    "503 IN author.books.pages", "503 IN author.books.@unionOfObjects.pages",
    "ANY author.books.@unionOfObjects.title == 'ROSA'", "author.books.title CONTAINS[c] 'rosa'",
    "title IN author.books.title",
    "pages == author.books.@max.pages", "author.books.@count == editor.books.@count",
    "author IN {editor}", "ANY author.books.editor.name == 'eco'", "ANY author.books.editor == nil",
    "objectID == SELF", "author.objectID == editor", "ANY author.books == SELF",
    "ANY author.books.author.name == 'eco'", "NOT SELF IN author.books",
  ]

  static let conversions = [
    "CAST(pages, 'NSString') == '503'", "CAST(pages, 'NSString') ENDSWITH '0'",
    "CAST(weight, 'NSString') == '3'", "CAST(price, 'NSString') CONTAINS '.3'",
    "CAST(isRead, 'NSString') == '1'", "CAST(isbn, 'NSString') BEGINSWITH 'F7'",
    "CAST(link, 'NSString') ENDSWITH '/7'", "CAST(published, 'NSNumber') > 0",
    "CAST(pages, 'NSDate') > published", "CAST(weight, 'NSDate') < CAST(1, 'NSDate')",
    "CAST(price, 'NSNumber') == 12.3", "CAST(weight, 'NSDecimalNumber') == price",
    "CAST(pages, 'NSDecimalNumber') > 502.5", "CAST(title, 'NSNumber') == nil",
    "CAST(CAST(pages, 'NSString'), 'NSNumber') == pages",
    "CAST(CAST(price, 'NSString'), 'NSDecimalNumber') == price",
    "CAST(CAST(isbn, 'NSString'), 'NSUUID') == isbn", "CAST(title, 'NSUUID') == nil",
    "CAST(CAST(link, 'NSString'), 'NSURL') == link", "CAST(title, 'NSData') == nil",
    "castObject:toType:(pages, 'NSString') == '7'", "CAST(author.born, 'NSString') == '1932'",
    "CAST('12', 'NSNumber') < pages", "CAST(author.books.@max.pages, 'NSString') == '503'",
    "CAST(author.books.@max.price, 'NSString') != '99.99'",
  ]

  static let statistics = [
    "author.books.@median.pages > 500", "author.books.@median.price < 50",
    "author.books.@mode.pages == 503", "author.books.@stddev.pages > 100",
    "author.books.@stddev.price == 0", "median:(author.books.weight) > 0.5",
    "max:({pages, 600}) == 680", "min:({pages, author.born}) == 1",
    "sum:({weight, 1, nil}) == 1.75",
    "average:({weight, 1}) > 1", "max:({price, pages}) > 600", "sum:({price, weight}) > 13",
    "median:({pages, 1, 600}) == 503", "mode:({pages, 503, 7, 7}) == 7",
    "stddev:({pages, 503}) == 0", "max:({title, 'm'}) != 'm'", "sum:({}) == 0", "max:({}) == nil",
    "max:({published, CAST(0, 'NSDate')}) > CAST(0, 'NSDate')", "count:({1, 2}) == 2",
    "author.books.@distinctUnionOfObjects.editor.@count > 1",
    "author.books.tags.@distinctUnionOfObjects.name.@count == 2",
    "author.books.@distinctUnionOfObjects.pages.@sum == 1183",
    "author.books.@distinctUnionOfObjects.price.@count > 1",
    "author.books.@distinctUnionOfObjects.title.@max == 'ROSA'",
    "author.books.@distinctUnionOfObjects.pages.@median > 500",
    "ANY author.books.@distinctUnionOfObjects.title == 'ROSA'",
    "ANY author.books.@distinctUnionOfObjects.title == nil",
    "'ROSA' IN author.books.@distinctUnionOfObjects.title",
    "author.books.tags.@distinctUnionOfSets.@count == 2",
  ]

  static let quantifiers = [
    "ANY {pages, 7} == 7", "ALL {pages, author.born} > 100", "NONE {pages, weight} > 1",
    "ANY {title, author.name} ==[c] 'eco'", "ALL {} == 1", "ANY {} == 1",
    "ANY {title, nil} == nil", "ANY {pages, 1} IN {1, 503}", "NONE {title, 'x'} CONTAINS 'o'",
    "ANY tags.name IN author.books.title", "ANY author.books.pages IN editor.books.pages",
    "ALL author.books.pages IN {503, 680}", "ALL author.books IN editor.books",
    "ANY SUBQUERY(author.books, $b, $b.pages > 100).title == 'ROSA'",
    "ALL SUBQUERY(author.books, $b, $b.pages > 100).pages > 600",
    "NONE author.books.tags.name BETWEEN {'a', 'o'}",
  ]

  static let operators = [
    "pages & 1 == 1", "pages | 1 == 503", "pages ^ 503 == 0", "pages << 1 == 14",
    "pages >> 1 == 251", "~pages < 0", "weight ** 2 > 1", "2 ** 3 * 2 == 16", "pages & 3 + 4 == 7",
    "1 << 2 + 1 == 8", "-pages ** 2 > 0", "pages & 6 | 1 == 7", "random() < 1", "random() >= 0",
    "random:(5) < 5", "random:(pages) >= 0", "title ==[n] 'ROSA'", "title BEGINSWITH[cn] 'il'",
    "title ==[l] 'ROSA'", "title ==[cdl] 'rosa'", "title <[l] 'r'", "title >=[cl] 'IL NOME'",
    "title CONTAINS[cl] 'NOME'", "title IN[cdl] {'rosa', 'EA'}", "title BETWEEN {'a', 'z'}",
    "title <=[l] nil", "author.name >[cdl] 'eco'", "title BEGINSWITH[dl] 'e'",
    "objectFrom:withIndex:({pages, 1}, 0) == 503", "objectFrom:withIndex:({1, pages}, LAST) == 7",
  ]

  static let all =
    scalars + texts + numbers + relationships + conversions + statistics + quantifiers + operators

  /// Sub-fetches of `FETCH(%@, nil, …)`.
  static let fetches: [(format: String, request: SubFetch)] = [
    ("SELF IN FETCH(%@, nil, NO)", books("pages > 500")),
    ("NOT SELF IN FETCH(%@, nil, NO)", books("title CONTAINS 'o'")),
    ("author IN FETCH(%@, nil, NO)", fetch("Author", "born > 1900")),
    ("author.name IN FETCH(%@, nil, NO).name", fetch("Author", "born == 1932")),
    ("pages == FETCH(%@, nil, NO).@max.pages", books("pages < 600")),
    ("tags.@count < FETCH(%@, nil, YES)", fetch("Tag", "name == 'novel' OR name == 'NOVEL'")),
    ("ANY FETCH(%@, nil, NO).author == editor", books("pages == 503")),
    ("SUBQUERY(FETCH(%@), $b, $b.author == author).@count > 1", books("TRUEPREDICATE")),
    ("SELF IN FETCH(%@, nil, NO)", books("pages != nil", sort: "pages", limit: 3, offset: 1)),
    ("FETCH(%@, nil, NO).@count == 3", books(nil, sort: "title", limit: 3, offset: 0)),
    ("title IN FETCH(%@, nil, NO).@distinctUnionOfObjects.title", books("author.born > 0")),
  ]

  private static func books(
    _ format: String?, sort: String? = nil, limit: Int = 0, offset: Int = 0
  ) -> SubFetch {
    fetch("Book", format, sort: sort, limit: limit, offset: offset)
  }

  private static func fetch(
    _ entity: String, _ format: String?, sort: String? = nil, limit: Int = 0, offset: Int = 0
  ) -> SubFetch {
    let request = FetchRequest<ManagedObject>(
      entityName: entity, predicate: format.flatMap { try? FetchPredicate(format: $0) },
      sort: sort.map { [FetchSort($0)] } ?? [], limit: limit, offset: offset)
    guard let fetch = try? SubFetch(request) else { preconditionFailure("a fetch of objects") }
    return fetch
  }

  /// Where the null rule makes a difference, the two answers as numbers of matching books.
  static let nullRule: [(format: String, inMemory: Int, inStore: Int)] = [
    ("title != 'ROSA'", 9, 8), ("NOT title == 'ROSA'", 9, 8), ("NOT pages > 0", 4, 3),
    ("NOT title IN {'ROSA'}", 9, 8), ("author == editor", 4, 3),
  ]
}

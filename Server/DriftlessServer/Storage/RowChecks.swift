/// What is asked of rows of either database, in words that both understand: those of access, which belong to no log.
enum RowChecks {
  static let ofAccess: [(table: String, sql: String)] = [
    (
      "token",
      """
      SELECT token.id, CASE WHEN zone.id IS NULL THEN 'its zone is not there'
        ELSE 'its row is damaged' END
      FROM token LEFT JOIN zone ON zone.id = token.zone
      WHERE zone.id IS NULL OR length(token.hash) <> 32 OR verbs NOT BETWEEN 1 AND 3
        OR length(token.id) <> 16
      """
    ),
    (
      "operator_token",
      """
      SELECT id, 'its row is damaged' FROM operator_token
      WHERE length(hash) <> 32 OR length(id) <> 16
      """
    ),
    (
      "enrolment_code",
      """
      SELECT code.id, CASE WHEN zone.id IS NULL THEN 'its zone is not there'
        ELSE 'its row is damaged' END
      FROM enrolment_code AS code
      LEFT JOIN zone ON zone.id = code.zone AND zone.uuid = code.zone_uuid
      WHERE zone.id IS NULL OR length(code.hash) <> 32 OR verbs NOT BETWEEN 1 AND 3
      """
    ),
  ]
}

import DriftlessServer
import Testing

/// A connection string of libpq is printed without what is secret in it, whatever its form.
struct ConnectionTextTests {
  @Test(
    "What is a secret is not shown, and all else is",
    arguments: [
      ("host=db dbname=driftless user=d", "host=db dbname=driftless user=d"),
      ("driftless", "driftless"), ("", ""),
      ("host=db password=hunter2 dbname=x", "host=db password=… dbname=x"),
      ("host=db password = hunter2", "host=db password = …"),
      ("password='hunter 2 \\' hunter' host=db", "password=… host=db"),
      ("password=hunter\\ 2 host=db", "password=… host=db"),
      ("password='hunter2", "password=…"), ("password=", "password=…"),
      ("sslpassword=hunter2 passfile=/etc/pass", "sslpassword=… passfile=/etc/pass"),
      ("host=db PASSWORD=hunter2", "host=db PASSWORD=…"),
      ("host=db pasword=hunter2", "host=db pasword=…"),
      ("host=db oauth_client_secret=hunter2", "host=db oauth_client_secret=…"),
      ("host=db scram_client_key=hunter2", "host=db scram_client_key=…"),
      ("host=db password=my hunter2 port=1", "host=db password=… … port=1"),
      ("options='-c search_path=a' host=db", "options='-c search_path=a' host=db"),
      ("dbname=postgres://u:hunter2@h/d", "dbname=…"),
      ("dbname='password=hunter2'", "dbname=…"),
      ("password=a://b:c@hunter2", "password=…"),
      ("postgres://user@host/db", "postgres://user@host/db"),
      ("postgres://host:5432/db?sslmode=require", "postgres://host:5432/db?sslmode=require"),
      ("postgres://user:hunter2@host/db", "postgres://user:…@host/db"),
      ("postgresql://user:hunter2@a:1,b:2/db", "postgresql://user:…@a:1,b:2/db"),
      ("postgresql://:hunter2@/db", "postgresql://:…@/db"),
      ("Postgres://user:hunter2@host/db", "Postgres://user:…@host/db"),
      (" postgres://user:hunter2@host", " postgres://user:…@host"),
      ("postgres://user:hun/ter2@host/db", "postgres://user:…@host/db"),
      ("postgres://user:hun?ter2@host/db", "postgres://user:…@host/db"),
      ("postgres://user:hun@ter2@host/db", "postgres://user:…@host/db"),
      ("postgres://host/db?user=u&password=hunter2", "postgres://host/db?user=u&password=…"),
      ("postgres://host/db?pass%77ord=hunter2", "postgres://host/db?pass%77ord=…"),
      ("postgres://host/db?password=hun=ter2&port=1", "postgres://host/db?password=…&port=1"),
      ("postgres://h/d?password=a&hunter2&ssl=true", "postgres://h/d?password=…&…&ssl=true"),
      ("postgres://u:hunter2@h?sslpassword=hunter2", "postgres://u:…@h?sslpassword=…"),
      ("user:hunter2@host/db", "…"),
    ])
  func shown(text: String, shown: String) {
    #expect(ConnectionText(text).shown == shown)
  }

  @Test(
    "What libpq says of a text repeats no secret of it",
    arguments: [
      (
        "host=db password=my hunter2", #"missing "=" after "hunter2" in connection info string"#,
        #"missing "=" after "…" in connection info string"#
      ),
      (
        "postgres://u:hun/ter2@h/db", #"database "ter2@h/db" does not exist"#,
        #"database "…" does not exist"#
      ),
      (
        "postgres://u:p%40ss/x@h", #"invalid integer value "p@ss" for connection option "port""#,
        #"invalid integer value "…" for connection option "port""#
      ),
      (
        "postgres://u:hunter2@[h/db", #"no "]" in URI: "postgres://u:hunter2@[h/db""#,
        #"no "]" in URI: "postgres://u:…@[h/db""#
      ),
      (
        "hots=db password=hunter2", #"invalid connection option "hots""#,
        #"invalid connection option "hots""#
      ),
      (
        "host=db password=hunter2", #"connection to server on socket "/run/.s.PGSQL.5432" failed"#,
        #"connection to server on socket "/run/.s.PGSQL.5432" failed"#
      ),
    ])
  func hidden(text: String, said: String, told: String) {
    #expect(ConnectionText(text).hiding(in: said) == told)
  }

  @Test(
    "What a command line says that could not be read is told without secrets",
    arguments: [
      ("Unexpected argument 'password=hunter2'", "Unexpected argument 'password=…'"),
      ("2 arguments: 'sslpassword=a', 'port=1'", "2 arguments: 'sslpassword=…', 'port=1'"),
      ("Unexpected 'postgres://u:hunter2@h/db'", "Unexpected 'postgres://u:…@h/db'"),
      ("Missing expected argument '<name>'", "Missing expected argument '<name>'"),
    ])
  func commandLine(said: String, told: String) {
    #expect(ConnectionText.hiding(inCommandLine: said) == told)
  }
}

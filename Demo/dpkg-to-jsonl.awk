# Reads a dpkg status file, writes the lines that `syncctl import` takes: sections, maintainers, packages and the
# edges between installed packages, each kind as one transaction.

function quote(text) {
  gsub(/\\/, "\\\\", text)
  gsub(/"/, "\\\"", text)
  gsub(/[\001-\037]/, " ", text)
  return "\"" text "\""
}

function insert(entity, id, set) {
  print "{\"op\":\"insert\",\"entity\":\"" entity "\",\"id\":" quote(id) ",\"set\":{" set "}}"
}

function flush_package(    name) {
  name = field["Package"]
  if (name != "" && field["Status"] ~ / installed$/ && !(name in order_of)) {
    order_of[name] = ++packages
    name_of[packages] = name
    for (key in field) value_of[packages, key] = field[key]
  }
  split("", field)
}

# "libc6 (>= 2.36), debconf | debconf-2.0" becomes one edge for each installed package that is named.
function edges(package, kind, list,    terms, alternatives, count, i, j, n, term, constraint, id) {
  count = split(list, terms, /, */)
  for (i = 1; i <= count; i++) {
    n = split(terms[i], alternatives, / *\| */)
    for (j = 1; j <= n; j++) {
      term = alternatives[j]
      constraint = ""
      if (match(term, /\(.*\)/)) constraint = substr(term, RSTART + 1, RLENGTH - 2)
      sub(/ *\(.*/, "", term)
      sub(/:.*/, "", term)
      gsub(/ /, "", term)
      if (!(term in order_of)) continue
      id = package ">" kind ">" term
      if (id in edge_seen) continue
      edge_seen[id] = 1
      insert("Dependency", id, "\"kind\":" quote(kind) \
        (constraint == "" ? "" : ",\"constraint\":" quote(constraint)) \
        ",\"package\":" quote(package) ",\"target\":" quote(term))
    }
  }
}

/^$/ { flush_package(); next }
/^[ \t]/ { next }
{
  colon = index($0, ":")
  if (colon > 1) field[substr($0, 1, colon - 1)] = substr($0, colon + 2)
}

END {
  flush_package()
  for (i = 1; i <= packages; i++) {
    section = value_of[i, "Section"]
    if (section != "" && !(section in section_seen)) {
      section_seen[section] = 1
      insert("Section", section, "\"name\":" quote(section))
    }
  }
  print "{\"op\":\"save\",\"author\":\"dpkg\"}"
  for (i = 1; i <= packages; i++) {
    maintainer = value_of[i, "Maintainer"]
    if (maintainer != "" && !(maintainer in maintainer_seen)) {
      maintainer_seen[maintainer] = 1
      name = maintainer; email = ""
      if (match(maintainer, /<[^>]*>/)) {
        email = substr(maintainer, RSTART + 1, RLENGTH - 2)
        name = substr(maintainer, 1, RSTART - 1)
        sub(/ +$/, "", name)
      }
      insert("Maintainer", maintainer, "\"name\":" quote(name) ",\"email\":" quote(email))
    }
  }
  print "{\"op\":\"save\",\"author\":\"dpkg\"}"
  for (i = 1; i <= packages; i++) {
    size = value_of[i, "Installed-Size"]
    insert("Package", name_of[i], "\"name\":" quote(name_of[i]) \
      ",\"version\":" quote(value_of[i, "Version"]) \
      ",\"architecture\":" quote(value_of[i, "Architecture"]) \
      ",\"priority\":" quote(value_of[i, "Priority"]) \
      ",\"summary\":" quote(value_of[i, "Description"]) \
      ",\"essential\":" (value_of[i, "Essential"] == "yes" ? "true" : "false") \
      (size ~ /^[0-9]+$/ ? ",\"installedSize\":" size : "") \
      (value_of[i, "Section"] == "" ? "" : ",\"section\":" quote(value_of[i, "Section"])) \
      (value_of[i, "Maintainer"] == "" ? "" : ",\"maintainer\":" quote(value_of[i, "Maintainer"])))
  }
  print "{\"op\":\"save\",\"author\":\"dpkg\"}"
  for (i = 1; i <= packages; i++) {
    edges(name_of[i], "Pre-Depends", value_of[i, "Pre-Depends"])
    edges(name_of[i], "Depends", value_of[i, "Depends"])
    edges(name_of[i], "Recommends", value_of[i, "Recommends"])
  }
  print "{\"op\":\"save\",\"author\":\"dpkg\"}"
}

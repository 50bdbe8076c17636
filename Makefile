# The commands a newcomer types. Each installs what is missing, builds, and runs.
.PHONY: demo test bench attack example openapi sanitize crash simulate soak prepare lint build rooms docs \
	release install uninstall deb deb-test

# The host's package database on three replicas, through one server, with the network cut in between.
demo: build
	@Demo/run

# Every test. What pages tell to type is run as well, and some of it is openssl and curl.
test: prepare
	@Scripts/prepare openssl curl
	@Scripts/test

# Ours against the limit in C and against peers, in one run. JSON=FILE writes the rows as JSON lines.
bench: prepare
	@Benchmarks/run $(JSON)

# What one client can do to a server, while an honest one pushes to another zone: fails above a second, or above the memory that
# a server may have; on a data folder, then on PostgreSQL where that is here. SECONDS=10 for each attack, ONLY=V3,idle for some.
attack: prepare
	@Scripts/prepare python3
	@swift build -c release $$(Scripts/traits) --product driftless-server --scratch-path .build-release
	@Scripts/attack .build-release/release --seconds $(or $(SECONDS),10) $(if $(ONLY),--only $(ONLY))
	@! Scripts/traits | grep -q PostgreSQL || Scripts/with-postgres sh -c 'Scripts/attack .build-release/release \
		--seconds $(or $(SECONDS),10) $(if $(ONLY),--only $(ONLY)) --postgres "$$DATABASE"'

# The tutorial's program, a point of sale, applications of Core Data's and a client in Python: built and tested.
example: prepare
	@Scripts/prepare curl python3
	@Scripts/example

# A running server against Server/openapi.yaml, with requests that schemathesis makes up. OPENAPI_SECONDS=60
openapi: prepare
	@Scripts/prepare curl python3 python3-venv
	@Scripts/openapi

# Every test under the thread sanitizer, or under SANITIZER=address, in a build folder of its own. TARGETS="A B" for some of
# them.
sanitize: prepare
	@SANITIZER=$(SANITIZER) Scripts/sanitize $(TARGETS)

# A process is killed, or its disk fails, at every write of each piece of work on a store. It takes some minutes.
crash: prepare
	@Scripts/crash

# What befalls replicas, by seeds, against the laws of sync: at least SEEDS=2000 of them, SCENARIO=name for one scenario.
simulate: prepare
	@Scripts/simulate $(SEEDS)

# The real server and many stores for SECONDS=600, with REPLICAS=50: edits, kills, cuts, restores; equal and sound at the end.
soak: prepare
	@Scripts/prepare python3
	@SOAK_SECONDS="$(SECONDS)" REPLICAS="$(REPLICAS)" Scripts/soak

# Compiles each room of the library with those that it may know alone, and prints the picture of them.
rooms: prepare
	@Scripts/rooms

# The documentation, with DocC, in .build/docs: a link that leads nowhere is an error.
docs: prepare
	@Scripts/docs

# The three programs for others' hosts: optimized, with Swift's runtime inside.
release:
	@Scripts/packaging/build

# Installs them with manual pages, completions, units and examples: make install PREFIX=/usr/local DESTDIR=
install:
	@DESTDIR="$(DESTDIR)" PREFIX="$(or $(PREFIX),/usr/local)" Scripts/packaging/install

uninstall:
	@DESTDIR="$(DESTDIR)" PREFIX="$(or $(PREFIX),/usr/local)" Scripts/packaging/install --uninstall

# Three packages for Debian, in .build/packages.
deb:
	@Scripts/packaging/deb

# Installs, upgrades and purges them on a clean Debian, as root: some minutes, and a mirror of Debian.
deb-test:
	@Scripts/packages-test

build: prepare
	@swift build $$(Scripts/traits)

lint:
	@swift format lint --strict --recursive --parallel Package.swift Sources Tests Server Client Plugins Benchmarks \
		Examples/CoreDataCache/Package.swift Examples/CoreDataCache/Tests \
		Examples/DownloadCache/Package.swift Examples/DownloadCache/Sources Examples/DownloadCache/Tests \
		Examples/Notebook/Package.swift Examples/Notebook/Tests \
		Examples/PointOfSale/Package.swift Examples/PointOfSale/Sources Examples/PointOfSale/Tests \
		Examples/Template/Package.swift Examples/Template/Tests

prepare:
	@Scripts/prepare
